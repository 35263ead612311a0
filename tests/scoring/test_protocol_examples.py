"""The commented protocols load, show every key there is, and score the log that they describe."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from simtrack.analysis.scheme_score import score_replies
from simtrack.errors import InputError
from simtrack.logs import read_replies
from simtrack.scoring.protocol_file import EXAMPLES, protocol_example
from simtrack.scoring.rebind import protocol as rebind_protocol
from simtrack.scoring.replay import protocol as replay_protocol
from simtrack.scoring.replay.protocol import ReplayProtocol
from simtrack.scoring.schemes import SCHEMES
from simtrack.scoring.stageif import protocol
from simtrack.scoring.stageif.obligations import _KEYS as OF_OBLIGATIONS
from simtrack.scoring.stageif.obligations import ObligationProtocol
from simtrack.scoring.stageif.protocol import StageProtocol
from simtrack.scoring.statetrack import protocol as statetrack_protocol

KEYS = {
    "stageif": protocol._KEYS,
    "obligations": OF_OBLIGATIONS,
    "statetrack": (*statetrack_protocol._KEYS, *statetrack_protocol._BRANCHES,
                   *statetrack_protocol.FLAGS, *statetrack_protocol._CODED),
    "rebind": (*rebind_protocol._KEYS, *rebind_protocol.ClauseRule.__slots__),
    "replay": (*replay_protocol._KEYS, *replay_protocol._MARKER, *replay_protocol._RECORD),
}  # fmt: skip


def _rows(text):
    """Give the JSON lines that stand in the comments at the head."""
    head = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        head.append(line[1:].strip())
    return [json.loads(found) for found in re.findall(r"\{.*?\}(?=\s|$)", " ".join(head))]


def test_every_scheme_and_the_replay_have_one() -> None:
    assert (*SCHEMES, "replay") == EXAMPLES
    with pytest.raises(InputError, match="scheme must be one of stageif"):
        protocol_example("plain")


@pytest.mark.parametrize("scheme", EXAMPLES)
def test_it_shows_every_key(scheme) -> None:
    text = protocol_example(scheme)
    assert [key for key in KEYS[scheme] if key != "schema" and not re.search(rf"\b{key}\b", text)] \
        == []  # fmt: skip


def test_what_is_called_the_default_is_the_default() -> None:
    plain = tomllib.loads(protocol_example("stageif"))
    assert StageProtocol.from_dict(plain) == StageProtocol()
    assert ObligationProtocol.from_dict(tomllib.loads(protocol_example("obligations"))) \
        == ObligationProtocol()  # fmt: skip
    plain = tomllib.loads(protocol_example("replay"))
    shown = ReplayProtocol.from_dict(plain).to_dict()
    wanted = ReplayProtocol().to_dict()
    assert shown["record"] == wanted["record"]
    assert shown["marker"] == wanted["marker"]


def test_the_lines_that_are_commented_out_load_too() -> None:
    text = protocol_example("stageif")
    head, rules = text.split("[truth]", 1)
    on = "\n".join(line[2:] if re.match(r"# (\[\[|when|duty|gold)", line) else line
                   for line in rules.split("# counts; a row", 1)[1].splitlines()[1:])  # fmt: skip
    found = StageProtocol.from_dict(tomllib.loads(head + on))
    assert [rule.gold for rule in found.oracle.rules] == [("COMPLETED",), ("NEEDS_INFO", "READY")]


#: Of the lines that the heads show, by hand: what they score to.
WANTED = {
    "stageif": ("adherence", 1, 1),
    "obligations": ("adherence", 1, 1),
    "statetrack": ("strict_retention", 1, 1),
    "rebind": ("relapse", 0, 1),
}


@pytest.mark.parametrize("scheme", WANTED)
def test_the_log_in_the_comment_is_scored(scheme, tmp_path) -> None:
    text = protocol_example(scheme)
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, _rows(text))), encoding="utf-8")
    score, _ = score_replies(
        read_replies(path), scheme, protocol=tomllib.loads(text), cluster="unit"
    )
    name, numerator, denominator = WANTED[scheme]
    row = next(r for r in score.rows if r.estimand == name)
    assert (row.numerator, row.denominator) == (numerator, denominator)
