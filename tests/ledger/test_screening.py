"""The leakage screen: each rule finds its leak, in the turns where it must not stand."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrack.errors import InputError
from simtrack.ledger import (
    VERDICT_HINTS,
    Clause,
    Ledger,
    Passage,
    Pool,
    Slices,
    Task,
    Violation,
    contract_words,
    example_ledger,
    example_tasks,
    keep,
    make_slices,
    report_back,
    rewrite,
    screen,
    screen_ledger,
    screen_slices,
)

SOLUTION = "def flip(text):\n    return text[::-1]\n"
TASK = Task("t1", "Reverse a text.", "flip", SOLUTION)


def with_filler(text, role="auxiliary", condition="delayed"):
    """Slices of one task in which every turn of a role says something else."""
    data = make_slices([TASK], seed=7, load=2, conditions=[condition]).to_dict()
    for turn in data["slices"][0]["turns"]:
        if turn["role"] == role:
            turn["text"] = text
    return Slices.from_dict(data)


def found(slices, **more):
    return [(leak.rule, leak.term) for leak in screen_slices(slices, **more).leaks]


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        ("State the time complexity.", []),
        ("State the complexity of flip.", [("entry-point", "flip")]),
        ("Do not flip-flop.", [("entry-point", "flip")]),
        ("Explain flipping.", []),  # a longer word is another word
        ("Explain flip_all.", []),
        ("Use FLIP.", [("entry-point", "flip")]),
        # 20 characters of the solution, over a line break and another indentation:
        ("Write\n\t\treturn  text[::-1] somewhere.", []),  # "return text[::-1]" has 17
        ("Write ):\nreturn text[::-1] there.", [("solution-fragment", "): return text[::-1]")]),
        ("Mind audit_log.", [("marker", "audit_log")]),
        (
            "Mind restore_defaults.",
            [("marker", "restore_defaults")],
        ),  # not drawn
        ("Mind the library.", [("contract-word", "library")]),
        ("Beware of relapse.", [("verdict-hint", "relapse")]),
        ("A  gold\nsolution is there.", [("verdict-hint", "gold solution")]),
    ],
    ids=range(13),
)
def test_an_auxiliary_turn_must_not_give_anything_away(text, leaks):
    assert found(with_filler(text)) == leaks


@pytest.mark.parametrize(
    ("role", "text", "leaks"),
    [
        ("task", "Write flip in def flip(text): return text[::-1].", []),  # the task may
        ("task", "Write flip and audit_log.", [("marker", "audit_log")]),
        ("task", "The verdict is yours.", [("verdict-hint", "verdict")]),
        ("marker", "Define helper_check for flip.",
         [("entry-point", "flip"), ("entry-point", "flip"), ("marker", "helper_check")]),
        ("marker", "Define validate_input.", [("marker", "validate_input")]),
        ("revocation", "Drop validate_input, keep audit_log and flip.",
         [("entry-point", "flip"), ("marker", "audit_log")]),
    ],
    ids=range(6),
)  # fmt: skip
def test_every_other_turn_has_its_own_rules(role, text, leaks):
    # Seed 7 draws helper_check and validate_input for t1, and withdraws the second.
    assert make_slices([TASK], seed=7, load=2).slices[0].markers == (
        "helper_check",
        "validate_input",
    )
    assert found(with_filler(text, role)) == leaks


def test_the_place_is_said():
    (leak,) = screen_slices(with_filler("Please mention what flip costs.")).leaks
    assert (leak.where, leak.offset) == ("t1:delayed:m2 turn 3 (auxiliary)", 20)
    assert leak.excerpt == "Please mention what flip costs."


def test_the_incident_of_the_paper_is_caught():
    # An early generator put entry points into auxiliary turns: 10 of 60 scripts solved the task.
    pool = Pool(["Say how long flip takes.", "Write plain English.", "Indent by four."])
    tasks = [Task(f"t{k}", "Reverse a text.", "flip", SOLUTION) for k in range(30)]
    slices = make_slices(tasks, seed=7, fillers=pool, conditions=["immediate", "delayed"])
    leaky = sum(any("flip" in t.text for t in one.turns[1:]) for one in slices.slices)
    assert 0 < leaky < 60
    assert screen_slices(slices).units_with_leaks == leaky


def test_further_words_and_hints():
    slices = with_filler("Write tidy prose, please.")
    assert found(slices, words=["tidy"], hints=["prose"]) == [
        ("verdict-hint", "prose"),
        ("contract-word", "tidy"),
    ]
    with pytest.raises(InputError, match="word must be a text that is not empty"):
        screen_slices(slices, words=[" "])
    with pytest.raises(InputError, match="fragment must be an integer >= 1, got 0"):
        screen_slices(slices, fragment=0)


def test_without_a_solution_it_says_what_was_not_looked_for():
    result = screen_slices(make_slices([Task("t1", "Reverse a text.", "flip")], seed=7))
    assert result.notes == ("not screened: solution fragments of 1 task without a solution: t1",)
    assert screen_slices(make_slices(example_tasks(), seed=7)).notes == ()


@given(st.text("ab c\n", max_size=40), st.text("ab c\n", max_size=40), st.integers(1, 12))
def test_a_common_part_is_found_where_difflib_finds_one(solution, text, least):
    one, two = " ".join(solution.split()), " ".join(text.split())
    longest = SequenceMatcher(None, one, two, autojunk=False).find_longest_match().size
    leaks = screen([Passage("here", text, (), solution)], fragment=least)
    assert bool(leaks) == (longest >= least)
    for leak in leaks:
        assert leak.term in one
        assert two[leak.offset : leak.offset + len(leak.term)] == leak.term
        assert len(leak.term) >= least


@given(st.text("ab_ .A", max_size=20), st.sampled_from(["a", "ab", "a_b", "b a"]))
def test_a_term_is_found_where_its_words_are(text, term):
    leaks = screen([Passage("here", text, (("marker", (term,)),))])
    pieces = re.split(r"[^a-z_]+", text.casefold())
    if " " not in term:
        assert bool(leaks) == (term in pieces)
    else:
        assert bool(leaks) == (re.search(r"(?<![a-z_])b +a(?![a-z_])", text.casefold()) is not None)


def test_contract_words_are_what_tells_a_clause_apart():
    first = Clause("a", "Answer every question in French.", "language:fr")
    second = Clause("b", "Answer in at most ten words.", "words:10")
    assert contract_words(first, [first, second]) == ("french", "question")
    assert contract_words(second, [first, second], "Count words.") == ()
    marker = Clause("c", "Define foo_bar2.", "presence:foo_bar2")
    assert contract_words(marker, [marker]) == ("define", "foo_bar2")
    assert contract_words(marker, [marker], "Never touch foo_bar2.") == ("define",)


def test_a_sound_ledger_is_clean():
    result = screen_ledger(example_ledger())
    assert result.clean
    assert (result.units, result.passages) == (5, 9)  # itself and four ablations, two texts each


def test_a_surface_text_that_names_what_was_revoked_is_found():
    told = rewrite(example_ledger(), "stdlib", "Standard library only, and no sanitize_args.")
    leaks = screen_ledger(told).leaks
    assert {(leak.rule, leak.term) for leak in leaks} == {("contract-word", "sanitize_args")}
    assert leaks[0].where == "specification at turn 5"
    assert screen_ledger(told, 4).units_with_leaks == 1  # in force then, and left by its ablation
    assert "specification without sanitize_args" in {x.where for x in screen_ledger(told, 4).leaks}


def test_checkers_and_hints_are_found_unless_the_contract_uses_them():
    told = rewrite(example_ledger(), "stdlib", "The grader runs presence:audit_log.")
    rules = {(leak.rule, leak.term) for leak in screen_ledger(told).leaks}
    assert ("checker-id", "presence:audit_log") in rules
    assert ("verdict-hint", "grader") in rules
    plain = Ledger("Write a grader.").add(0, "a", "Print the verdict.", "verdict")
    assert screen_ledger(plain).clean
    assert not screen_ledger(plain, hints=["grader"]).clean
    assert [x.term for x in screen_ledger(plain, words=["verdict"]).leaks] == ["verdict"]


def test_a_report_may_name_what_was_violated():
    ledger = keep(report_back(example_ledger(), "tests", [Violation("relapsed", "sanitize_args")]))
    assert screen_ledger(ledger).clean


def test_a_clause_that_another_surface_repeats_is_found_in_its_ablation():
    told = rewrite(example_ledger(), "tests", "Pass all unit tests with the standard library.")
    assert [(x.term, x.where) for x in screen_ledger(told).leaks] == [
        ("library", "specification without stdlib"),
        ("standard", "specification without stdlib"),
    ]


def test_our_own_texts_hold_no_hint():
    assert all(hint == hint.casefold() for hint in VERDICT_HINTS)
    assert screen_slices(make_slices(example_tasks(), seed=3, load=8, depth=11)).clean


def test_a_slice_with_two_leaks_counts_once():
    result = screen_slices(with_filler("Mind audit_log and the relapse."))
    assert (len(result.leaks), result.units_with_leaks) == (2, 1)


def test_plain_data():
    told = screen_slices(with_filler("Mind audit_log.")).to_dict()
    assert (told["schema"], told["clean"]) == ("simtrack.screening/1", False)
    assert (told["units"], told["units_with_leaks"], told["unit"]) == (1, 1, "slice")
    assert told["leaks"][0]["excerpt"] == "Mind audit_log."
