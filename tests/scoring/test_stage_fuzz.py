"""Whatever a reply holds, it gets exactly one code, and the same one again."""

from __future__ import annotations

import random

import numpy as np
import pytest

from simtrack.records import Records, Replies
from simtrack.scoring import Marker, StageProtocol, score_stageif
from simtrack.taxonomy import STAGEIF, STAGES

_SEEDS = (
    "Done.\n<stage>completed</stage>",
    '{"message": "Working.\\n<stage>ready_for_action</stage>"}',
    'Fine.\n"stage": "needs_information"',
    '"a string literal\\n<stage>completed</stage>"',
    "```\n<stage>completed</stage>\n```",
    '{"message": {"message": "<stage>completed</stage>"}}',
    "",
)
_BITS = (
    "<stage>", "</stage>", '"stage":', '"', "\\", "\n", "\r\n", "{", "}", "[", "]", "\u2028",
    "\ud800", "\x00", "<", ">", "completed", "é", "```", " ", "message", "𝔸", "<stage" * 40,
    "[" * 300, '{"message":' * 80,
)  # fmt: skip


def _mutant(rng: random.Random) -> str:
    text = rng.choice(_SEEDS)
    for _ in range(rng.randrange(6)):
        at, to = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + rng.choice(_BITS) + text[at:]
        elif kind == 1:
            text = text[:at] + text[to:]
        elif kind == 2:
            text = text[:at] + rng.choice(_SEEDS) + text[to:]
        else:
            text = text[:at] + chr(rng.randrange(1, 0x250)) + text[at + 1 :]
    return text


@pytest.mark.parametrize("encoding", ["xml", "json"])
@pytest.mark.parametrize("n", [1500, pytest.param(50_000, marks=pytest.mark.slow)])
def test_every_mutated_reply_gets_exactly_one_code(encoding: str, n: int) -> None:
    rng = random.Random(f"stage fuzz {encoding}")
    texts = [_mutant(rng) for _ in range(n)]
    rows = Records.from_columns({
        "unit": [str(k) for k in range(n)],
        "duty": [str(int(k % 5 != 0)) for k in range(n)],
        "stage": [STAGES[k % 4] for k in range(n)],
    })  # fmt: skip
    replies = Replies(rows, texts, [("call",) if k % 7 == 0 else () for k in range(n)])
    protocol = StageProtocol.from_dict({"encoding": encoding, "fences": True})
    scored = score_stageif(replies, protocol)
    again = score_stageif(replies.with_texts(list(texts)), protocol)
    outcome = scored.factors["outcome"]
    assert len(outcome) == 2 * n
    assert (outcome.codes >= 0).all()
    assert outcome.levels == STAGEIF.codes
    assert np.array_equal(outcome.codes, again.factors["outcome"].codes)
    seen = set(outcome.compact().levels)
    assert seen == set(STAGEIF.codes) - {"TRANSPORT"}


@pytest.mark.parametrize("placement", ["end", "line"])
@pytest.mark.parametrize("unique", ["anchored", "anywhere"])
@pytest.mark.parametrize("encoding", ["xml", "json"])
def test_the_usual_case_is_answered_as_the_whole_search_answers_it(
    encoding: str, placement: str, unique: str
) -> None:
    quick = Marker("stage", encoding, placement, unique)
    whole = Marker("stage", encoding, placement, unique)
    whole._opening = "\0never\0"  # so that every reply is searched for every marker
    rng = random.Random(f"two ways {encoding} {placement} {unique}")
    for _ in range(2000):
        text = _mutant(rng)
        assert quick.read(text) == whole.read(text), repr(text)
