"""The repair ladder by hand: what each rung changes, what is kept, what is rolled back."""

from __future__ import annotations

import ast

import pytest

from simtrack.errors import InputError
from simtrack.ledger import (
    RUNGS,
    Retest,
    Violation,
    compile_ledger,
    diagnose,
    example_ledger,
    exemplify,
    judge,
    keep,
    prefill,
    promote,
    report_back,
    rewrite,
    roll_back,
    rung_for,
    settle,
)


def defines(name):
    """A presence checker, for the tests: does the text define a function of this name?"""

    def check(text: str) -> bool:
        tree = ast.walk(ast.parse(text))
        return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree)

    return check


def kinds(ledger, clause):
    return [(event.kind, event.rung) for event in ledger.clause(clause).history]


def test_the_five_rungs_are_those_of_the_paper():
    assert list(RUNGS) == ["L1", "L2", "L3", "L5", "L7"]


def test_l1_fills_the_final_check_block_up_to_three():
    ledger = example_ledger().add(6, "short", "Use at most ten lines.", "lines:10")
    for clause in ("tests", "stdlib", "short"):
        ledger = keep(promote(ledger, clause))
    text = compile_ledger(ledger).text
    assert text.endswith(
        "Before you answer, check once more:\n- (1) Pass all unit tests.\n"
        "- (2) Use the standard library only.\n- (5) Use at most ten lines."
    )
    with pytest.raises(InputError, match=r"final_check must be left with room \(it holds 3\)"):
        promote(ledger, "audit_log")
    assert kinds(ledger, "short") == [("applied", "L1"), ("kept", "L1")]


def test_l2_changes_the_surface_text_and_never_the_text():
    ledger = rewrite(example_ledger(), "stdlib")
    clause = ledger.clause("stdlib")
    assert clause.text == "Use the standard library only."
    assert clause.surface_text == "You must meet this requirement: Use the standard library only."
    own = rewrite(keep(ledger), "stdlib", "Import nothing from outside.")
    assert "2. Import nothing from outside." in compile_ledger(own).text
    assert [e.surface_text for e in own.clause("stdlib").history] == [
        "You must meet this requirement: Use the standard library only.",
        "You must meet this requirement: Use the standard library only.",
        "Import nothing from outside.",
    ]


def test_l3_attaches_an_example_that_the_checker_verifies():
    good, bad = "def audit_log():\n    pass", "def audit():\n    pass"
    ledger = exemplify(example_ledger(), "audit_log", good, bad, defines("audit_log"))
    assert compile_ledger(ledger).text.split("\n")[5:9] == [
        "   Like this: def audit_log():",
        "                  pass",
        "   Not like this: def audit():",
        "                      pass",
    ]
    assert kinds(ledger, "audit_log") == [("applied", "L3")]


def test_l3_holds_one_example_a_clause():
    ledger = example_ledger()
    for clause, accepted in (("tests", "a"), ("stdlib", "b"), ("tests", "c")):
        ledger = keep(exemplify(ledger, clause, accepted, "no", lambda text: text != "no"))
    told = [(example.clause, example.accepted) for example in ledger.compilation.examples]
    assert told == [("stdlib", "b"), ("tests", "c")]


@pytest.mark.parametrize(
    ("good", "bad", "reason"),
    [
        ("x = 1", "y = 1", "its checker rejects the example to follow"),
        ("def audit_log(): 0", "def audit_log(): 1", "its checker accepts the example to avoid"),
    ],
)
def test_l3_is_withheld_where_the_checker_disagrees(good, bad, reason):
    before = example_ledger()
    ledger = exemplify(before, "audit_log", good, bad, defines("audit_log"), "tried")
    assert ledger.compilation == before.compilation
    assert ledger.pending is None
    event = ledger.clause("audit_log").history[-1]
    assert (event.kind, event.rung, event.note) == ("withheld", "L3", f"{reason}; tried")


def test_l5_opens_the_reply_and_leaves_the_text_alone():
    ledger = prefill(example_ledger(), "tests")
    assert compile_ledger(ledger).prefill == "```python\n"
    assert compile_ledger(ledger).text == compile_ledger(example_ledger()).text


def test_l7_shows_the_report_and_no_earlier_answer():
    violations = [Violation("missed", "tests"), Violation("relapsed", "sanitize_args")]
    ledger = keep(report_back(example_ledger(), "tests", violations))
    assert compile_ledger(ledger).report == (
        "The last answer broke these points. Mend them and give the whole answer again:\n"
        "- point 1 is not met: Pass all unit tests.\n"
        "- this was withdrawn, but is still done: Also define a helper sanitize_args."
    )
    again = report_back(ledger, "stdlib", [Violation("unparsed")])
    assert again.compilation.report == (Violation("unparsed"),)


def test_routes_are_the_two_that_appendix_g_names_and_one_of_ours():
    assert rung_for(Violation("missed", "a")) == "L1"
    assert rung_for(Violation("unparsed")) == "L5"
    assert rung_for(Violation("relapsed", "a")) == "L7"


@pytest.mark.parametrize(
    ("repair", "message"),
    [
        (lambda x: promote(x, "sanitize_args"), "clause must be in force, got 'sanitize_args'"),
        (lambda x: promote(x, "nothing"), "clause must be one of tests, stdlib"),
        (lambda x: promote(keep(promote(x, "tests")), "tests"), "rung must be one that changes"),
        (lambda x: rewrite(keep(rewrite(x, "tests")), "tests"), "got L2"),
        (lambda x: rewrite(x, "tests", "Pass all unit tests."), "got L2"),
        (lambda x: prefill(keep(prefill(x, "tests")), "stdlib"), "got L5"),
        (lambda x: prefill(x, "tests", " "), "opening must be a text that is not empty"),
        (lambda x: report_back(x, "tests", []), "violations must be at least one"),
        (lambda x: report_back(x, "tests", [Violation("missed", "gone")]), "report must be made"),
        (lambda x: report_back(x, "tests", [Violation("missed", "sanitize_args")]), "in force"),
        (lambda x: promote(promote(x, "tests"), "stdlib"), "got L1 of tests. Settle it first"),
        (lambda x: promote(x, "tests").revoke(9, "tests"), "Settle it first"),
        (lambda x: promote(x, "tests").add(9, "b", "Use tabs.", "tabs"), "Settle it first"),
        (keep, "ledger must be one with an intervention that waits"),
        (roll_back, "ledger must be one with an intervention that waits"),
        (lambda x: diagnose(x, "tests", "fine"), "state must be one of adopted, redundant"),
        (lambda x: diagnose(x, "tests", "dead", 3), "adherence must be a share from 0 to 1, got 3"),
        (lambda x: settle(promote(x, "tests"), Retest(0, 1, elsewhere={"sanitize_args": (1, 1)})),
         "elsewhere must be made of other clauses in force"),
        (lambda x: settle(promote(x, "tests"), Retest(0, 1, elsewhere={"tests": (1, 1)})),
         "elsewhere must be made of other clauses in force"),
        (lambda _: Retest(0, "1.5"), "after must be a share from 0 to 1, got 1.5"),
        (lambda _: Retest(0, 1, "fine"), "state must be one of"),
        (lambda _: judge(Retest(0, 1), gain=0), "gain and loss must be above 0"),
    ],
    ids=range(22),
)  # fmt: skip
def test_what_cannot_be_repaired_is_refused(repair, message):
    with pytest.raises(InputError) as caught:
        repair(example_ledger())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("retest", "kept"),
    [
        # A gain of exactly 0.2 is enough; in floats 0.9 - 0.7 and 0.7 - 0.5 fall on both sides.
        (Retest(0.7, 0.9), True),
        (Retest(0.5, 0.7), True),
        (Retest("0.1", "0.3"), True),
        (Retest("1/3", "8/15"), True),  # 5/15 + 3/15
        (Retest("0.7", "0.8999999"), False),
        (Retest("0.9", "0.7"), False),
        # Confidently adopted or redundant is enough by itself; other states are not.
        (Retest("0.9", "0.9", "adopted"), True),
        (Retest("0.9", "0.8", "redundant"), True),
        (Retest("0.9", "0.95", "weak"), False),
        (Retest("0.9", "0.95", "not_confident"), False),
        # Regression elsewhere outweighs both.
        (Retest("0.1", "0.9", "adopted", {"b": ("0.9", "0.7")}), False),
        (Retest("0.1", "0.9", "adopted", {"b": ("0.9", "0.71")}), True),
        (Retest("0.1", "0.9", None, {"a": (1, 1), "b": (1, 0)}), False),
    ],
    ids=range(13),
)
def test_the_rule_of_the_retest(retest, kept):
    assert judge(retest).kept is kept


def test_reasons_are_said():
    assert judge(Retest("0.5", "1", None, {"a": (1, "0.5"), "b": (1, 0)})).reason == (
        "a fell from 1 to 0.5, and 1 more"
    )
    assert judge(Retest("1/3", "0.5")).reason == (
        "adherence went from 1/3 to 0.5, less than +0.2, and no state binds"
    )


def test_a_kept_and_a_rolled_back_repair_and_their_history():
    start = diagnose(example_ledger(), "stdlib", "dead", "0.1", "30 rounds")
    tried = settle(rewrite(start, "stdlib", note="imperative"), Retest("0.1", "0.2", "dead"))
    assert tried.clause("stdlib").surface_text == "Use the standard library only."
    done = settle(promote(tried, "stdlib"), Retest("0.1", "0.9", "adopted"))
    assert done.compilation.final_check == ("stdlib",)
    told = [(e.kind, e.rung, e.state, e.adherence, e.note) for e in done.clause("stdlib").history]
    assert told == [
        ("diagnosed", None, "dead", "0.1", "30 rounds"),
        ("applied", "L2", None, None, "imperative"),
        ("rolled back", "L2", "dead", "0.2",
         "adherence went from 0.1 to 0.2, less than +0.2, and no state binds"),
        ("applied", "L1", None, None, ""),
        ("kept", "L1", "adopted", "0.9", "adherence rose from 0.1 to 0.9"),
    ]  # fmt: skip
