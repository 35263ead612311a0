"""Any text gets a verdict from any checker, soon, and alike with any line ends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.scoring.constraints.checks import CONSTRAINT_KINDS, Constraint
from simtrack.scoring.constraints.text import Verdict

CONTENTS = [
    {"kind": "words", "exactly": 3},
    {"kind": "words", "at_most": 3, "split": "run", "code": "skip"},
    {"kind": "characters", "at_least": 3, "blanks": "skip"},
    {"kind": "sentences", "exactly": 1},
    {"kind": "lines", "exactly": 2},
    {"kind": "paragraphs", "exactly": 2},
    {"kind": "items", "exactly": 2, "only": True},
    {"kind": "stated_words"},
    {"kind": "required", "words": ["a b", "é"]},
    {"kind": "forbidden", "words": ["a", "```"], "code": "skip"},
    {"kind": "starts_with", "text": ["a", "("]},
    {"kind": "ends_with", "text": "b", "ignoring": ".!"},
    {"kind": "case", "style": "capitalised"},
    {"kind": "json", "fences": "any"},
    {"kind": "number", "equals": 3, "label": "a"},
    {"kind": "number", "equals": 3, "decimal": "comma"},
    {"kind": "amounts", "marks": ["$"], "at_most": 3},
    {"kind": "regex", "pattern": r"(a|a)*\n- \w+$", "multiline": True},
]
CHECKS = [Constraint.from_dict(content) for content in CONTENTS]
PIECES = st.sampled_from(
    ["a", "b", "é", "e\u0301", "ß", "漢", "3", "1,234.5", "$", "−", ".", "!", "。", "…", " ", "\t",
     "\n", "\n\n", "- ", "1. ", "* * *", "```", "~~~", "{", "}", "[", "]", '"', ":", "null", "\\",
     "\u2028", "\u00a0", "\x00", "\ud800", "(3)", "[2]", "Dr.", "<", "👍🏽"]
)  # fmt: skip


def test_that_every_kind_is_here() -> None:
    assert {content["kind"] for content in CONTENTS} == set(CONSTRAINT_KINDS)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_gets_one_verdict_whatever_its_line_ends(text: str) -> None:
    for made in CHECKS:
        found = made.check(text)
        assert isinstance(found, Verdict)
        assert isinstance(found.passed, bool)
        assert found.reason
        assert "\n" not in found.reason
        assert made.check(text.replace("\n", "\r\n")).passed == found.passed
        opposite = Constraint.from_dict({"kind": "not", "of": made.to_dict()})
        assert opposite.check(text).passed != found.passed


@pytest.mark.parametrize(
    "piece", [".", "1", "1,", ",111", " ", "\n", "```\n", "- ", "-\n", '"', "[", "$", "1e", "*_",
              '."!? ', "。", "a'", "a b ", "(", "~"],
)  # fmt: skip
def test_that_long_monotony_does_not_run_away(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    for made in CHECKS:
        assert made.check(text).reason
