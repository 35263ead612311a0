"""Patterns against Python's own engine, and those on which that one hangs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.scoring.constraints.checks import Constraint
from simtrack.scoring.constraints.words import Pattern

TEXTS = st.text(alphabet="abAé1_ -\n.", max_size=12)
ATOMS = st.sampled_from(
    ["a", "b", "é", ".", r"\d", r"\w", r"\S", "[ab1]", "[^a\n]", r"[\w-]", "[a-z]", "[^A-Z0-9]",
     "^", "$", r"\b", r"\B", r"\A", r"\.", "A"]
)  # fmt: skip


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}", "{0,2}?"])
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda p: f"(?:{'|'.join(p)})"),
        st.tuples(parts, repeats).map(lambda p: f"({p[0]}){p[1]}"),
    )


PYTHON = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


@settings(max_examples=400, deadline=None)
@given(
    st.recursive(ATOMS, _joined, max_leaves=6), TEXTS, st.sampled_from(["", "i", "m", "s", "im"])
)
def test_that_it_matches_where_python_does(pattern: str, text: str, flags: str) -> None:
    if not text and r"\B" in pattern:  # Python changed this one in 3.14
        return
    found = Pattern(pattern, flags)
    peer = pattern if "m" in flags else pattern.replace("$", r"\Z")
    bits = sum((PYTHON[flag] for flag in flags), re.ASCII)
    assert found.search(text) == (re.search(peer, text, bits) is not None)
    assert found.full(text) == (re.fullmatch(peer, text, bits) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("a$", "a\n\n", False),
        ("a^", "a\nb", False),
        ("(?m)a$", "a\nb", True),
        ("(?m)^b", "a\nb", True),
        ("^b", "a\nb", False),
        (r"\bb\b", "a b-c", True),
        (r"\Bb", "b ab", True),
        (r"\Bb", "b", False),
        ("(?i:A)b", "ab", True),
        ("(?i:A)b", "aB", False),
        ("(?s:.)b", "\nb", True),
        (".b", "\nb", False),
    ],
)
def test_anchors_and_flags_by_hand(pattern: str, text: str, wanted: bool) -> None:
    assert Pattern(pattern).search(text) is wanted
    assert (re.search(pattern, text) is not None) is wanted


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", r"(a|aa)+$", r"a*a*a*a*a*b", "(.*)*x"])
def test_that_nothing_runs_away(pattern: str) -> None:
    assert not Pattern(pattern).search("a" * 20_000 + "!")


def test_empty_loops_end() -> None:
    assert Pattern(r"((()*)*)*").full("")
    assert Pattern(r"(?:a*)*b").search("aab")
    assert not Pattern(r"(?:^)*a").full("ba")


def test_dollar_is_the_very_end_and_classes_are_ascii() -> None:
    assert not Pattern("a$").search("a\n")
    assert Pattern("(?m)a$").search("a\n")
    assert not Pattern(r"\w").search("é")
    assert Pattern(r"\pL").search("é")


def test_half_a_surrogate_pair_is_no_letter() -> None:
    assert Pattern("a.b").full("a\ud83db")
    assert not Pattern(r"\pL").search("\ud83d")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", "without backreferences .*invalid escape sequence"),
        (r"(?=a)b", "invalid perl operator"),
        (r"(?<!a)b", "invalid perl operator"),
        (r"(?>a)b", "invalid perl operator"),
        (r"a*+b", "bad repetition operator"),
        (r"(a)?(?(1)b|c)", "invalid perl operator"),
        (r"a{1001}", "invalid repetition size"),
        (r"((((a{9}){9}){9}){9}){9}", "too large|repetition size"),
        ("a" * 2001, "at most 2000 characters"),
        ("a\ud83d", "a regular expression"),
    ],
)
def test_what_cannot_be_bounded_is_refused(
    pattern: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=message):
        Pattern(pattern)
    assert capfd.readouterr().err == ""


def test_the_checker_of_it() -> None:
    def check(text: str, **more: object) -> bool:
        return Constraint.from_dict({"kind": "regex", **more}).check(text).passed

    dated = r"\d{4}-\d\d-\d\d"
    assert check("on 2026-01-31.", pattern=dated)
    assert not check("on 2026-01-31.", pattern=dated, mode="full")
    assert check(" 2026-01-31\r\n", pattern=dated, mode="full")
    assert not check("on 2026-01-31.", pattern=dated, mode="absent")
    assert check("none", pattern=dated, mode="absent")
    assert check("a\r\nB", pattern="^b$", case="ignore", multiline=True)
    assert not check("a\r\nB", pattern="^b$", case="ignore")
    assert check("a\nb", pattern="a.b", dotall=True)
