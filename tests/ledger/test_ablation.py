"""Ablation: exactly as long, the same lines, neutral words, and nothing else touched."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.ledger import (
    Compilation,
    Example,
    Ledger,
    Violation,
    ablate,
    compile_ledger,
    example_ledger,
    neutral_placeholder,
)
from simtrack.ledger.placeholder import words_of

TEXTS = st.text(min_size=1, max_size=200).filter(
    lambda t: t.strip() and not any("\ud800" <= c <= "\udfff" for c in t)
)
PROSE = st.text("abcdefg ABC.,;\n\t_", min_size=1, max_size=300)


@given(TEXTS | PROSE)
@example("x")
@example("  two\n\n    lines, one empty.  ")
@example("写一个函数。")
def test_every_line_keeps_its_length_and_its_blanks(text):
    found = neutral_placeholder(text)
    assert len(found) == len(text)
    assert [len(line) for line in found.split("\n")] == [len(line) for line in text.split("\n")]
    for old, new in zip(text.split("\n"), found.split("\n"), strict=True):
        core = old.strip()
        assert old.index(core) == new.index(new.strip()) or not core
        assert len(new.strip()) == len(core)
        # Words of plain letters with single blanks between; one mark may end the line.
        assert re.fullmatch(r"([A-Za-z][a-z]*( [a-z]+)*)?[.!?;:,]?", new.strip())


@given(st.integers(1, 400))
def test_every_length_can_be_filled_with_words_of_usual_size(n):
    found = neutral_placeholder("x" * n)
    assert len(found) == n
    assert max(map(len, found.split())) <= 9


@given(st.integers(4, 200), st.data())
def test_words_to_avoid_do_not_occur(n, data):
    everything = sorted(words_of(neutral_placeholder("x" * 400)))
    avoid = data.draw(st.lists(st.sampled_from(everything)))
    found = words_of(neutral_placeholder("x" * n, [word.upper() for word in avoid]))
    assert not found & {word for word in avoid if len(word) >= 4}


def test_even_if_everything_is_to_be_avoided_small_words_are_left():
    everything = words_of(neutral_placeholder("x" * 400)) | {
        "fern", "hall", "desk", "shelf", "lobby", "stair", "folder", "window", "garden", "archive",
        "morning", "visitor", "corridor", "stairway", "calendar", "cloakroom", "courtyard",
        "reception",
    }  # fmt: skip
    for n in range(1, 60):
        found = neutral_placeholder("x" * n, everything)
        assert len(found) == n
        assert max(map(len, found.split())) <= 3


def test_a_capital_and_a_mark_stay():
    assert neutral_placeholder("Use tabs.")[0].isupper()
    assert neutral_placeholder("use tabs!")[-1] == "!"
    assert neutral_placeholder("use tabs")[0].islower()
    assert neutral_placeholder(".") == "a"  # one character is a word, not a mark


def test_the_specification_changes_at_the_clause_alone():
    found = ablate(example_ledger(), "stdlib")
    full, ablated = found.full.text.split("\n"), found.ablated.text.split("\n")
    assert [k for k, pair in enumerate(zip(full, ablated, strict=True)) if len(set(pair)) > 1] == [
        3
    ]
    assert full[3] == "2. Use the standard library only."
    assert ablated[3] == f"2. {found.placeholder}"
    assert len(found.full.text) == len(found.ablated.text)
    assert found.full == compile_ledger(example_ledger())
    assert found.ablated.clauses == found.full.clauses  # no record is touched


def test_final_check_report_and_example_are_made_neutral_too():
    made = example_ledger()
    compilation = Compilation(
        final_check=("stdlib", "tests"),
        examples=(Example("stdlib", "import re", "import numpy"), Example("tests", "ok", "no")),
        report=(Violation("missed", "stdlib"), Violation("missed", "tests")),
    )
    ledger = Ledger(made.task, made.clauses, made.tombstones, compilation)
    found = ablate(ledger, "stdlib")
    assert len(found.full.text) == len(found.ablated.text)
    assert "numpy" in found.full.text
    assert not words_of(found.ablated.text) & {"standard", "library", "import", "numpy"}
    assert found.ablated.text.count(found.placeholder) == 3
    assert found.ablated.text.count("Pass all unit tests.") == 3
    assert "Like this: ok" in found.ablated.text


def test_the_placeholder_avoids_the_words_of_the_contract():
    ledger = Ledger("Keep the archive.").add(0, "a", "Name each folder after the room.", "rooms")
    assert not words_of(ablate(ledger, "a").placeholder) & {"archive", "folder", "room", "each"}


def test_only_clauses_in_force_can_be_ablated():
    with pytest.raises(InputError, match="clause must be in force: tests, stdlib, audit_log"):
        ablate(example_ledger(), "sanitize_args")
    assert ablate(example_ledger(), "sanitize_args", 4).full.turn == 4
    with pytest.raises(InputError, match="in force at turn 0: tests, stdlib, got 'audit_log'"):
        ablate(example_ledger(), "audit_log", 0)


def test_plain_data_says_what_was_measured():
    told = ablate(example_ledger(), "tests").to_dict()
    assert (told["length"], told["measure"]) == (len("Pass all unit tests."), "characters")
    assert told["schema"] == "simtrack.ablation/1"
    assert len(told["full"]) == len(told["ablated"])
