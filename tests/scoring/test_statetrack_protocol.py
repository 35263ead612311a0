"""The protocol as data: what it reads, what it writes, and what it refuses."""

from __future__ import annotations

import json

import pytest

from simtrack.errors import DataError, InputError
from simtrack.scoring import StateTrackProtocol

WORDS = {"kind": "words", "at_most": 20}
FULL = {
    "schema": "simtrack.statetrack-protocol/1",
    "scheme": "statetrack",
    "recall_asked": "failures",
    "kept": "joint",
    "both_rules": "OTHER",
    "join": ["unit", "seed"],
    "branches": {"column": "fork", "compliance": ["next", "task"], "recall": "ask",
                 "restated": ["again"]},
    "columns": {"task": "judge", "recovery": "mended"},
    "words": {"pass": ["ok"], "fail": ["bad", "partial"]},
    "rule": [
        {"when": {"category": "numerical", "depth": [3, 5]},
         "constraint": {"kind": "all", "of": [WORDS, {"kind": "not", "of": WORDS}]},
         "recall": {"kind": "regex", "pattern": "twenty"}},
        {"old": {"kind": "ends_with", "text": "END"}, "new": {"kind": "ends_with", "text": "DONE"}},
    ],
}  # fmt: skip


def test_that_what_is_written_is_read_back() -> None:
    made = StateTrackProtocol.from_dict(FULL)
    again = StateTrackProtocol.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert again.to_dict() == made.to_dict()
    assert again.digest == made.digest
    assert made.column == "fork"
    assert made.compliance == ("next", "task")
    assert made.recall == ("ask",)
    assert made.rules[0].when == {"category": ("numerical",), "depth": ("3", "5")}
    assert made.measures == ("recall", "recovery", "change")
    other = StateTrackProtocol.from_dict({**FULL, "both_rules": "STALE"})
    assert other.digest != made.digest


def test_files(tmp_path) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(
        'recall_asked = "all"\n[columns]\nrecall = "r"\n'
        '[[rule]]\nwhen = {unit = "a"}\nconstraint = {kind = "words", exactly = 3}\n',
        encoding="utf-8",
    )
    made = StateTrackProtocol.load(path)
    assert made.gives("constraint")
    assert made.gives("recall")
    assert not made.gives("task")
    assert not made.has_joint
    path.write_text("recall_asked = ", encoding="utf-8")
    with pytest.raises(DataError, match="not valid TOML"):
        StateTrackProtocol.load(path)


GIVEN = {"columns": {"recall": "r", "constraint": "b"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "about verdicts by rules or columns"),
        ({"columns": {"recall": "r"}}, "about verdicts by rules or columns"),
        ({**GIVEN, "recall_ask": "all"}, "Did you mean recall_asked?"),
        ({**GIVEN, "recall_asked": "some"}, "one of all, failures"),
        ({**GIVEN, "scheme": "stageif"}, "'statetrack'"),
        ({**GIVEN, "schema": "x"}, "simtrack.statetrack-protocol/1"),
        ({**GIVEN, "branches": {"recall": "compliance"}}, "of different labels"),
        ({**GIVEN, "branches": {"recal": "x"}}, "Did you mean recall?"),
        ({**GIVEN, "words": {"pass": ["A"], "fail": ["a"]}}, "either pass or fail"),
        ({**GIVEN, "words": {"passes": ["A"]}}, "Did you mean pass?"),
        ({"columns": {"recall": "r", "c1": "b"}}, "c1, c2 must be given together"),
        ({"columns": {"recal": "r"}}, "Did you mean recall?"),
        ({"columns": {**GIVEN["columns"], "c1": "x", "c2": "y"}}, "left out where c1 is given"),
        ({"columns": {**GIVEN["columns"], "task": "x", "joint": "y"}}, "left out where task"),
        ({**GIVEN, "kept": "joint"}, "neither task nor joint"),
        ({"columns": {"recall": "r", "joint": "j"}}, 'Set kept = "joint"'),
        ({**GIVEN, "rule": [{"when": {"unit": "a"}}]}, "[[rule]] 1"),
        ({**GIVEN, "rule": [{"constraint": {"kind": "wrods"}}]}, "[[rule]] 1, constraint"),
        ({**GIVEN, "rule": {"constraint": WORDS}}, "a list of tables"),
    ],
)
def test_refusals(content: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=r".") as caught:
        StateTrackProtocol.from_dict(content, "my.toml")
    assert message in str(caught.value)
