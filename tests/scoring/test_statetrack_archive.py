"""An archive with known cells, drawn by an agent and put into words, is read back whole."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from simtrack.agents.recall.agent import RecallAgent
from simtrack.design import Design
from simtrack.estimands.catalogue import estimand
from simtrack.records import Records, Replies
from simtrack.scoring import StateTrackProtocol, score_statetrack

CATEGORIES = ("format", "json", "numerical", "ending")
PROTOCOL = StateTrackProtocol.from_dict(
    {
        "rule": [
            {"when": {"category": "format"},
             "constraint": {"kind": "items", "exactly": 3, "only": True},
             "recall": {"kind": "required", "words": ["three", "points"]}},
            {"when": {"category": "json"},
             "constraint": {"kind": "json", "type": "object", "keys": ["answer"]},
             "recall": {"kind": "required", "words": ["JSON"], "case": "match"}},
            {"when": {"category": "numerical"},
             "constraint": {"kind": "stated_words"},
             "recall": {"kind": "regex", "pattern": "word (count|number)"}},
            {"when": {"category": "ending"},
             "constraint": {"kind": "all", "of": [
                 {"kind": "ends_with", "text": "END", "ignoring": ".*"},
                 {"kind": "forbidden", "words": ["can't", "don't"]}]},
             "recall": {"kind": "all", "of": [{"kind": "required", "words": "END"},
                                              {"kind": "required", "words": "contractions"}]}},
            {"task": {"kind": "required", "words": "Lisbon"}},
        ]
    }
)  # fmt: skip
#: By category and whether the rule is kept: ways to say `{}`, one word.
ANSWERS = {
    ("format", 1): ["- {}\n- two\n- three", "1. {}\r\n2) b\r\n3. c\r\n",
                    "* {}\n  more\n\n* b\n* c"],
    ("format", 0): ["- {}\n- two", "Sure:\n- {}\n- b\n- c", "1. {}\n2. b\n3. c\nAnd so on.", "{}"],
    ("json", 1): ['{{"answer": "{}"}}', '```json\n{{"answer": ["{}", 1]}}\n```',
                  ' {{"answer": "{}\\n```py\\nx\\n```"}}\n'],
    ("json", 0): ['{{"Answer": "{}"}}', 'Here: {{"answer": "{}"}}', '["{}"]', "{{'answer': '{}'}}"],
    ("numerical", 1): ["I say {}. [3]", "— {}! (1 word)", "One, two-fold, {} … [3]\n"],
    ("numerical", 0): ["I say {}.", "I say {}. [4]", "[1] {}", "{} [one]"],
    ("ending", 1): ["{}. END", "I cannot say {}. **END**.\n", "{}\nEND"],
    ("ending", 0): ["{}. End", "{}. WEEKEND", "I can’t say {}. END", "END: {}"],
}  # fmt: skip
RECALLS = {
    ("format", 1): ["Always three bullet points.", "Use THREE\nshort points!"],
    ("format", 0): ["Bullet points.", "Be brief.", "Threefold points"],
    ("json", 1): ["Reply in JSON only.", "(JSON)"],
    ("json", 0): ["As an object.", "json?", "JSONL"],
    ("numerical", 1): ["Give the word count at the end."],
    ("numerical", 0): ["Be exact.", "Give the word\u2028count."],
    ("ending", 1): ["Write END last, and no contractions."],
    ("ending", 0): ["Write END last.", "No contractions, and a weekend."],
}


def archive(probes: int, seed: int) -> tuple[Replies, Records]:
    """Put the cells of a simulated study into words, two replies a probe, in no order."""
    agent = RecallAgent((0.55, 0.2, 0.15, 0.1), task=0.8)
    cells = agent.records(Design(probes, 1, {"depth": ("3", "12")}), seed)
    pick = np.random.default_rng(seed).integers(0, 1 << 30, (len(cells), 3)).tolist()
    labels = [cells.factors[n].values() for n in ("outcome", "task", "depth")]
    rows: dict[str, list[str]] = {n: [] for n in ("unit", "category", "depth", "branch")}
    texts: list[str] = []
    for k, (outcome, task, depth) in enumerate(zip(*labels, strict=True)):
        r, b = int(outcome[1]), int(outcome[3])
        category = CATEGORIES[pick[k][0] % len(CATEGORIES)]
        answers, recalls = ANSWERS[category, b], RECALLS[category, r]
        answer = answers[pick[k][1] % len(answers)].format("Lisbon" if task == "1" else "Porto")
        for branch, text in (
            ("compliance", answer),
            ("recall", recalls[pick[k][2] % len(recalls)]),
        ):
            for name, value in zip(rows, (f"p{k}", category, depth, branch), strict=True):
                rows[name].append(value)
            texts.append(text)
    order = np.random.default_rng(seed + 1).permutation(len(texts))
    replies = Replies(Records.from_columns(rows), texts, [None] * len(texts))
    return replies.take(order), cells


def read_back(probes: int, seed: int) -> None:
    replies, cells = archive(probes, seed)
    found = score_statetrack(replies, PROTOCOL)
    assert len(found) == len(cells) == 2 * probes
    assert not found.losses
    units = [int(unit[1:]) for unit in found.factors["unit"].values()]
    for name in ("outcome", "task", "joint", "depth"):
        drawn = cells.factors[name].values()
        missed = [(u, drawn[u], said) for u, said in zip(units, found.factors[name].values(),
                  strict=True) if drawn[u] != said]  # fmt: skip
        assert missed == [], name
    for name in ("dissociation", "joint_drift", "integrity_failure_share", "strict_retention"):
        mine, theirs = (
            estimand(name).totals(table.counts(cluster=c, by=["joint", "depth"]), "depth")
            for table, c in ((found, "unit"), (cells, "scenario"))
        )
        assert mine.numerator.sum(axis=0).tolist() == theirs.numerator.sum(axis=0).tolist()
        assert mine.denominator.sum(axis=0).tolist() == theirs.denominator.sum(axis=0).tolist()
    assert set(Counter(found.factors["outcome"].values())) == {"R1B1", "R1B0", "R0B1", "R0B0"}


def test_every_cell_of_an_archive_is_recovered() -> None:
    read_back(400, 5)


@pytest.mark.slow
def test_every_cell_of_a_hundred_thousand_replies_is_recovered() -> None:
    read_back(25_000, 6)
