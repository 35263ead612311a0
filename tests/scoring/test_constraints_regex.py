"""The automaton against Python's own engine, and against patterns on which that one hangs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.scoring.constraints.checks import Constraint
from simtrack.scoring.constraints.patterns import STATES_MAX, Automaton

TEXTS = st.text(alphabet="abAé1_ -\n.", max_size=12)
ATOMS = st.sampled_from(
    ["a", "b", "é", ".", r"\d", r"\w", r"\S", "[ab1]", "[^a\n]", r"[\w-]", "[a-z]", "[^A-Z0-9]",
     "^", "$", r"\b", r"\B", r"\A", r"\Z", r"\.", "A"]
)  # fmt: skip


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}", "{0,2}?"])
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda p: f"(?:{'|'.join(p)})"),
        st.tuples(parts, repeats).map(lambda p: f"({p[0]}){p[1]}"),
    )


@settings(max_examples=400, deadline=None)
@given(
    st.recursive(ATOMS, _joined, max_leaves=6),
    TEXTS,
    st.sampled_from([0, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.MULTILINE | re.IGNORECASE]),
)
def test_that_it_matches_where_python_does(pattern: str, text: str, flags: int) -> None:
    if not text and r"\B" in pattern:  # Python changed this one in 3.14
        return
    found = Automaton(pattern, flags)
    assert found.search(text) == (re.search(pattern, text, flags) is not None)
    assert found.full(text) == (re.fullmatch(pattern, text, flags) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("a$", "a\n", True),  # before the last line end
        ("a$", "a\n\n", False),
        (r"a\Z", "a\n", False),
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
    assert Automaton(pattern).search(text) is wanted
    assert (re.search(pattern, text) is not None) is wanted


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", r"(a|aa)+$", r"a*a*a*a*a*b", "(.*)*x"])
def test_that_nothing_runs_away(pattern: str) -> None:
    assert not Automaton(pattern).search("a" * 20_000 + "!")


def test_empty_loops_end() -> None:
    assert Automaton(r"(((){1000}){1000}){1000}").full("")
    assert Automaton(r"(?:a*)*b").search("aab")
    assert not Automaton(r"(?:^)*a").full("ba")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", "GROUPREF"),
        (r"(?=a)b", "ASSERT"),
        (r"(?<!a)b", "ASSERT NOT"),
        (r"(?>a)b", "ATOMIC GROUP"),
        (r"a*+b", "POSSESSIVE REPEAT"),
        (r"(a)?(?(1)b|c)", "GROUPREF EXISTS"),
        (r"(?a)\w", "without the flags"),
        (r"a{1000}", f"at most {STATES_MAX} states"),
        ("(" * 900 + ")" * 900, "nested"),
        ("a" * 2001, "at most 2000 characters"),
    ],
)
def test_what_needs_backtracking_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Automaton(pattern)


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
