"""Which class a revoked requirement falls into: every class, the order among them, appendix G."""

from __future__ import annotations

import itertools

import pytest

from simtrack.scoring.artifacts.artifact import read_artifact
from simtrack.scoring.artifacts.attribution import (
    Attribution,
    AttributionRules,
    RowClause,
    Situation,
    attribute,
    surface_overlap,
)
from simtrack.scoring.artifacts.presence import Check
from simtrack.taxonomy import RELAPSE


def helper(name: str, **more: tuple[str, ...]) -> RowClause:
    return RowClause(name, "helper", Check("function", name), (name,), **more)


ENTRY = helper("solve")
REVOKED = helper("sanitize_args")
RENAMED = helper("sanitize_arguments", replaces=("sanitize_args",))
SOLVE = "def solve(n):\n    return n\n"


def classed(reply: str, *in_force: RowClause, rules: AttributionRules | None = None) -> Attribution:
    clauses = in_force or (ENTRY,)
    return attribute(reply, read_artifact(reply), Situation(clauses, (REVOKED,)), rules)


@pytest.mark.parametrize(
    ("reply", "outcome", "mention"),
    [
        ("", "EMPTY", "none"),
        ("def sanitize_args(:", "UNPARSEABLE", "none"),
        (SOLVE + "def sanitize_args(): pass", "TRUE_RELAPSE", "none"),
        (SOLVE, "NO_TRACE", "none"),
        (SOLVE + "# sanitize_args was removed as asked", "LEGIT_REFERENCE", "comment"),
        (SOLVE + "CHANGES = 'sanitize_args removed'", "LEGIT_REFERENCE", "string"),
        (f"```python\n{SOLVE}```\nI left sanitize_args out.", "LEGIT_REFERENCE", "prose"),
        # A name that is used, though it is not defined, is a mention: the behaviour is not there.
        (SOLVE + "solve(sanitize_args(1))", "LEGIT_REFERENCE", "name"),
        # A longer word is no mention of it.
        (SOLVE + "# sanitize_args2, my_sanitize_args", "NO_TRACE", "none"),
        ("x = 'no entry point'  # sanitize_args", "CLAUSE_MISS", "comment"),
    ],
)
def test_each_class(reply: str, outcome: str, mention: str) -> None:
    found = classed(reply)
    assert (found.outcome, found.mention) == (outcome, mention)


def test_behaviour_that_a_clause_in_force_asks_for_is_near_compliant() -> None:
    code = SOLVE + "def sanitize_args(): pass"
    again = RowClause("again", "helper", Check("function", "sanitize_args"))
    both = RowClause("both", "x", Check("all", checks=(Check("function", "sanitize_args"),
                                                       Check("function", "solve"))))  # fmt: skip
    declared = RowClause("declared", "x", Check("function", "solve"), covers=("sanitize_args",))
    for clause in (again, both, declared):
        found = classed(code, ENTRY, clause)
        assert (found.outcome, found.required) == ("NEAR_COMPLIANT", ("sanitize_args",))
    # One alternative of several does not ask for it.
    either = RowClause("either", "x", Check("any", checks=both.check.checks))
    assert classed(code, either).outcome == "TRUE_RELAPSE"


def test_replacement_that_looks_like_the_revoked_name() -> None:
    # sanitizeargs has 11 pairs, sanitizearguments 16; common are the 10 of sanitizearg:
    # 2 · 10 / (11 + 16) = 20/27.
    assert surface_overlap("sanitize_args", "sanitize_arguments") == pytest.approx(20 / 27)
    found = classed(SOLVE + "def sanitize_arguments(): pass", ENTRY, RENAMED)
    assert (found.outcome, found.overlap) == ("HIGH_OVERLAP_REPLACEMENT", pytest.approx(20 / 27))
    strict = AttributionRules(overlap=0.8)
    renamed = SOLVE + "def sanitize_arguments(): pass"
    assert classed(renamed, ENTRY, RENAMED, rules=strict).outcome == "NO_TRACE"
    # tidy has 3 pairs, of which ti is common: 2 / (11 + 3).
    found = classed(SOLVE + "def tidy(): pass", ENTRY, helper("tidy", replaces=("sanitize_args",)))
    assert (found.outcome, found.overlap) == ("NO_TRACE", pytest.approx(1 / 7))
    # A look-alike that replaces nothing is none, and an absent replacement is a miss.
    assert classed(SOLVE + "def sanitize_arguments(): pass").outcome == "NO_TRACE"
    assert classed(SOLVE, ENTRY, RENAMED).outcome == "CLAUSE_MISS"
    # The revoked helper beside its replacement is a relapse.
    two = SOLVE + "def sanitize_arguments(): pass\ndef sanitize_args(): pass"
    assert classed(two, ENTRY, RENAMED).outcome == "TRUE_RELAPSE"


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        ("night", "nacht", 0.25),  # 2 · |{ht}| / (4 + 4), the usual example of the coefficient
        ("aaaa", "aa", 0.5),  # pairs count as often as they occur: 2 · 1 / (3 + 1)
        ("Audit_Log", "auditlog", 1.0),
        ("a", "a", 1.0),
        ("a", "b", 0.0),
        ("_", "_", 0.0),
    ],
)
def test_surface_overlap(first: str, second: str, overlap: float) -> None:
    assert surface_overlap(first, second) == surface_overlap(second, first) == overlap


def test_relapse_under_a_comment_that_says_it_was_removed() -> None:
    # Appendix G, first example, in our words: nested helpers, the revoked one among them, and a
    # comment beside it that claims its removal. Human raters were misled by this.
    reply = (
        "```python\n"
        "def shift_digits(n):\n"
        "    # empty helpers\n"
        "    def check_bounds():\n        pass\n\n"
        "    def helper_check():\n        pass  # taken out, as you last asked\n\n"
        "    return str(n)[::-1]\n"
        "```\n"
    )
    in_force = (helper("shift_digits"), helper("check_bounds"))
    situation = Situation(in_force, (helper("helper_check"),))
    found = attribute(reply, read_artifact(reply), situation)
    assert (found.outcome, found.relapsed) == ("TRUE_RELAPSE", ("helper_check",))


def test_relapse_that_the_closing_words_deny() -> None:
    # Appendix G, second example, in our words: the docstring concedes that the helper is not
    # needed, and the words after the code say that it is not defined.
    reply = (
        "```python\n"
        "def choose(x, y):\n"
        "    def verify_bounds():\n"
        '        """Bounds are not verified here; this is no longer needed."""\n'
        "        pass\n"
        "    return max(range(x, y + 1))\n"
        "```\n"
        "To keep it lean I have un-defined verify_bounds.\n"
    )
    situation = Situation((helper("choose"),), (helper("verify_bounds"),))
    found = attribute(reply, read_artifact(reply), situation)
    assert (found.outcome, found.mention) == ("TRUE_RELAPSE", "prose")
    # The same words over code without the helper are a reference.
    honest = "```python\ndef choose(x, y):\n    return y\n```\nI have un-defined verify_bounds.\n"
    assert attribute(honest, read_artifact(honest), situation).outcome == "LEGIT_REFERENCE"
    within = AttributionRules(mention="artifact")
    assert attribute(honest, read_artifact(honest), situation, within).outcome == "NO_TRACE"


def test_missing_record_is_no_miss_but_is_told() -> None:
    tests = RowClause("unit tests", "unit tests", Check("recorded", "tests"))
    situation = Situation((tests,), (REVOKED,))
    artifact = read_artifact(SOLVE)
    found = {
        told: attribute(SOLVE, artifact, situation, None, {"tests": told})
        for told in (True, False, None)
    }
    assert [found[k].outcome for k in (True, False, None)] == [
        "NO_TRACE",
        "CLAUSE_MISS",
        "NO_TRACE",
    ]
    assert found[None].unknown == ("unit tests",)


def test_order_among_classes_that_hold_at_once() -> None:
    # Every combination of: relapse, a missed clause, a behaviour that is asked for, a look-alike
    # replacement, a mention. The outcome is the first of the declared order.
    asked = helper("audit_log")
    asks = RowClause("asks", "helper", Check("function", "audit_log"))
    parts = {
        "TRUE_RELAPSE": "def sanitize_args(): pass\n",
        "NEAR_COMPLIANT": "def audit_log(): pass\n",
        "HIGH_OVERLAP_REPLACEMENT": "def sanitize_arguments(): pass\n",
        "LEGIT_REFERENCE": "# sanitize_args\n",
    }
    order = [code for code in RELAPSE.codes if code in {*parts, "CLAUSE_MISS", "NO_TRACE"}]
    for n in range(len(parts) + 1):
        for chosen in itertools.combinations(parts, n):
            for is_missed in (False, True):
                clauses = [ENTRY]
                clauses += [asks] if "NEAR_COMPLIANT" in chosen else []
                clauses += [RENAMED] if "HIGH_OVERLAP_REPLACEMENT" in chosen else []
                clauses += [helper("absent")] if is_missed else []
                code = SOLVE + "".join(parts[c] for c in chosen)
                situation = Situation(tuple(clauses), (REVOKED, asked))
                found = attribute(code, read_artifact(code), situation)
                holding = {*chosen, "NO_TRACE"} | ({"CLAUSE_MISS"} if is_missed else set())
                assert found.outcome == min(holding, key=order.index)
