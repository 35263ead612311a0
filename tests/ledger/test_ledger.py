"""The ledger by hand: net state, tombstones, compilation, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

from simtrack.errors import DataError, InputError
from simtrack.ledger import (
    Clause,
    ClauseState,
    Compilation,
    Event,
    Example,
    Ledger,
    Tombstone,
    Violation,
    compile_ledger,
)

MARKERS = ("audit_log", "sanitize_args", "verify_bounds", "helper_check", "validate_input")


def palindrome() -> Ledger:
    """The script of the paper's Appendix G in our own words: load 5, the second marker revoked."""
    ledger = Ledger("Implement the function below.")
    ledger = ledger.add(0, "tests", "Implement make_palindrome; pass all unit tests.", "unit-tests")
    ledger = ledger.add(0, "stdlib", "Use the standard library only.", "standard-library")
    for turn, name in enumerate(MARKERS, 1):
        ledger = ledger.add(turn, name, f"Also define {name}.", f"presence:{name}")
    return ledger.revoke(7, "sanitize_args")


def ids(clauses) -> list[str]:
    return [clause.id for clause in clauses]


def test_the_net_state_of_every_turn_of_the_papers_example():
    ledger = palindrome()
    assert ids(ledger.in_force(0)) == ["tests", "stdlib"]
    assert ids(ledger.in_force(3)) == ["tests", "stdlib", *MARKERS[:3]]
    assert ids(ledger.in_force(6)) == ["tests", "stdlib", *MARKERS]  # the auxiliary turn is 6
    assert ids(ledger.in_force(7)) == ["tests", "stdlib", "audit_log", *MARKERS[2:]]
    assert ledger.in_force() == ledger.in_force(7) == ledger.in_force(99)
    assert ids(ledger.revoked()) == ["sanitize_args"]
    assert ledger.revoked(6) == ()


def test_the_papers_example_compiles_to_six_numbers_without_the_revoked_clause():
    # Appendix G: 1 the tests, 2 the library, 3 to 6 the four helpers that are left.
    assert compile_ledger(palindrome()).text == (
        "Task: Implement the function below.\n"
        "\n"
        "1. Implement make_palindrome; pass all unit tests.\n"
        "2. Use the standard library only.\n"
        "3. Also define audit_log.\n"
        "4. Also define verify_bounds.\n"
        "5. Also define helper_check.\n"
        "6. Also define validate_input."
    )


def test_final_check_example_report_and_prefill_have_their_places():
    compilation = Compilation(
        final_check=("verify_bounds", "tests"),
        examples=(Example("stdlib", "import re", "import numpy\nimport re"),),
        prefill="```python\n",
        report=(
            Violation("missed", "verify_bounds"),
            Violation("relapsed", "sanitize_args"),
            Violation("unparsed"),
        ),
    )
    made = palindrome()
    ledger = Ledger(made.task, made.clauses, made.tombstones, compilation)
    found = compile_ledger(ledger)
    assert found.prefill == "```python\n"
    assert found.final_check == ("verify_bounds", "tests")
    body, final, report = found.text.split("\n\n")[1:]
    assert body.split("\n")[1:5] == [
        "2. Use the standard library only.",
        "   Like this: import re",
        "   Not like this: import numpy",
        "                  import re",
    ]
    assert final.split("\n") == [
        "Before you answer, check once more:",
        "- (4) Also define verify_bounds.",
        "- (1) Implement make_palindrome; pass all unit tests.",
    ]
    assert report.split("\n")[1:] == [
        "- point 4 is not met: Also define verify_bounds.",
        "- this was withdrawn, but is still done: Also define sanitize_args.",
        "- it could not be parsed as code; answer with complete code and nothing else",
    ]
    assert found.text == f"{found.body}\n\n{found.report}"


def test_parameters_that_do_not_bind_at_an_earlier_turn_are_left_out():
    made = palindrome()
    report = (Violation("relapsed", "sanitize_args"), Violation("missed", "validate_input"))
    compilation = Compilation(final_check=("validate_input", "stdlib"), report=report)
    ledger = Ledger(made.task, made.clauses, made.tombstones, compilation)
    early = compile_ledger(ledger, 2)
    assert early.final_check == ("stdlib",)
    assert early.report == ""
    assert "sanitize_args" in early.body
    assert early.turn == 2


def test_lines_of_a_task_and_of_a_clause_stay_together():
    ledger = Ledger("def f(x):\n    ...\n").add(0, "a", "Use:\n- tabs\n- spaces", "blanks")
    assert compile_ledger(ledger).text == (
        "Task:\ndef f(x):\n    ...\n\n1. Use:\n   - tabs\n   - spaces"
    )


def test_no_clause_in_force_leaves_the_task_alone():
    empty = Ledger("Reverse a text.")
    assert compile_ledger(empty).text == "Task: Reverse a text."
    assert empty.add(3, "a", "Use tabs.", "tabs").revoke(3, "a").in_force() == ()


def test_revoking_frees_the_final_check_block_and_everything_else_that_asks_for_the_clause():
    made = palindrome()
    compilation = Compilation(
        final_check=("audit_log", "stdlib"),
        examples=(Example("audit_log", "a", "b"),),
        report=(Violation("missed", "audit_log"), Violation("missed", "stdlib")),
    )
    ledger = Ledger(made.task, made.clauses, made.tombstones, compilation).revoke(8, "audit_log")
    assert ledger.compilation.final_check == ("stdlib",)
    assert ledger.compilation.examples == ()
    assert ledger.compilation.report == (Violation("missed", "stdlib"),)
    assert "audit_log" not in compile_ledger(ledger).text
    assert ledger.clause("audit_log").text == "Also define audit_log."  # the record survives


def test_a_positive_replacement_stands_at_the_end_and_in_the_tombstone():
    ledger = palindrome().replace(9, "stdlib", "numpy", "NumPy is allowed.", "imports:numpy")
    assert ids(ledger.in_force())[-1] == "numpy"
    assert ledger.tombstones[-1] == Tombstone("stdlib", 9, "numpy")


def test_surface_text_is_shown_and_text_is_kept():
    ledger = Ledger("T").add(0, "a", "Use tabs.", "tabs", "Indent with tabs, please.")
    assert compile_ledger(ledger).text.endswith("1. Indent with tabs, please.")
    assert ledger.clause("a").text == "Use tabs."


def test_the_states_are_those_of_the_probe():
    from typing import get_args

    from simtrack.probe.states import STATES

    assert get_args(ClauseState) == STATES


def test_json_holds_everything_and_defaults_may_be_left_out():
    ledger = palindrome()
    assert Ledger.from_json(ledger.to_json()) == ledger
    short = Ledger.from_json(
        '{"task": "T", "clauses": [{"id": "a", "text": "Use tabs.", "checker_id": "tabs"}]}'
    )
    assert short == Ledger("T", (Clause("a", "Use tabs.", "tabs", 0, "Use tabs."),))


CLAUSE = {"id": "a", "text": "Use tabs.", "checker_id": "tabs", "turn": 2}
STONE = {"clause": "a", "turn": 3}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "task is missing. Fields: task, clauses, tombstones, compilation, pending."),
        ({"task": " "}, "task must be a text that is not empty, got ' '."),
        ({"task": "T", "\n": []}, "'\\n' is not a field here. Did you mean task?"),
        ({"task": "T", "clause": []}, "clause is not a field here. Did you mean clauses?"),
        ({"task": "T", "clauses": {}}, "clauses must be a list, got {}."),
        ({"task": "T", "clauses": [3]}, "clauses[0] must be a JSON object, got 3."),
        ({"task": "T", "clauses": [{"id": "a"}]}, "clauses[0].text is missing."),
        ({"task": "T", "clauses": [{**CLAUSE, "text": 3}]},
         "clauses[0].text must be a text that is not empty, got 3."),
        ({"task": "T", "clauses": [{**CLAUSE, "turn": 1.5}]},
         "clauses[0].turn must be an integer >= 0, got 1.5."),
        ({"task": "T", "clauses": [{**CLAUSE, "turn": True}]},
         "clauses[0].turn must be an integer >= 0, got True."),
        ({"task": "T", "clauses": [{**CLAUSE, "id": "a\nb"}]},
         "clauses[0].id must be one line without blanks around it"),
        ({"task": "T", "clauses": [{**CLAUSE, "surfacetext": "x"}]},
         "clauses[0].surfacetext is not a field here. Did you mean surface_text?"),
        ({"task": "T", "clauses": [CLAUSE, CLAUSE]},
         "clauses[1].id must be unique, also among revoked clauses, got 'a'."),
        ({"task": "T", "clauses": [CLAUSE, {**CLAUSE, "id": "b", "turn": 1}]},
         "clauses[1].turn must be 2 or later, in order, got 1."),
        ({"task": "T", "clauses": [CLAUSE], "tombstones": [{**STONE, "clause": "b"}]},
         "tombstones[0].clause must be one of a, got 'b'."),
        ({"task": "T", "clauses": [CLAUSE], "tombstones": [STONE, STONE]},
         "tombstones[1].clause must be one of (none), got 'a'."),
        ({"task": "T", "clauses": [CLAUSE], "tombstones": [{**STONE, "turn": 1}]},
         "tombstones[0].turn must be 2 or later, got 1."),
        ({"task": "T", "clauses": [CLAUSE], "tombstones": [{**STONE, "replacement": "a"}]},
         "tombstones[0].replacement must be another clause, got 'a'."),
        ({"task": "T", "clauses": [CLAUSE], "tombstones": [{**STONE, "replacement": "b"}]},
         "tombstones[0].replacement must be a clause added in turn 3, got 'b'."),
        ({"task": "T", "clauses": [CLAUSE], "compilation": {"final_check": ["b"]}},
         "final_check must be made of clauses of the ledger (a), got 'b'."),
        ({"task": "T", "clauses": [CLAUSE], "compilation": {"final_check": ["a", "a"]}},
         "compilation.final_check must be without repetition, got 'a'."),
        ({"task": "T", "clauses": [CLAUSE], "compilation": {"final_check": list("abcd")}},
         "compilation.final_check must be at most 3 clauses, got a, b, c, d."),
        ({"task": "T", "clauses": [CLAUSE], "tombstones": [STONE],
          "compilation": {"final_check": ["a"]}},
         "final_check must be made of clauses that are in force, got 'a'."),
        ({"task": "T", "clauses": [CLAUSE],
          "compilation": {"report": [{"kind": "relapsed", "clause": "a"}]}},
         "report must be relapsed for revoked clauses only, got 'a'."),
        ({"task": "T", "clauses": [CLAUSE], "compilation": {"report": [{"kind": "missed"}]}},
         "compilation.report[0].clause must be given unless the kind is unparsed"),
        ({"task": "T", "clauses": [{**CLAUSE, "history": [{"kind": "killed"}]}]},
         "clauses[0].history[0].kind must be one of diagnosed, applied, withheld, kept, rolled"),
        ({"task": "T", "clauses": [CLAUSE],
          "pending": {"rung": "L4", "clause": "a", "surface_text": "x", "compilation": {}}},
         "pending.rung must be one of L1, L2, L3, L5, L7, got 'L4'."),
        ({"task": "T", "schema": "simtrack.ledger/2"},
         "schema must be 'simtrack.ledger/1', got 'simtrack.ledger/2'"),
        ({"task": "half \ud83d"}, "task must be a text that is not empty, without halves of"),
    ],
    ids=range(29),
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line_that_names_the_field(data, message):
    with pytest.raises((DataError, InputError)) as caught:
        Ledger.from_json(json.dumps(data))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "the ledger must be a JSON object, got []."),
        ("{", "the ledger is not valid JSON"),
        ('{"task": "a", "task": "b"}', "the ledger has the key 'task' twice. Keep one of them."),
        ('{"task": NaN}', "the ledger holds NaN, which is no JSON number."),
        ("[" * 100_000, "the ledger is nested too deeply"),
        ('{"task": ' + "7" * 5_000 + "}", "the ledger is not valid JSON"),
    ],
    ids=range(6),
)
def test_what_is_no_json_object_is_refused(text, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Ledger.from_json(text)


def test_the_past_is_closed():
    ledger = palindrome()
    with pytest.raises(InputError, match="turn must be 7 or later, the last change, got 6"):
        ledger.add(6, "late", "Use tabs.", "tabs")
    with pytest.raises(InputError, match="turn must be 7 or later"):
        ledger.revoke(0, "stdlib")
    with pytest.raises(InputError, match="clause must be in force, got 'sanitize_args'"):
        ledger.revoke(9, "sanitize_args")
    with pytest.raises(InputError, match="clause must be one of tests, stdlib"):
        ledger.revoke(9, "nothing")


def test_a_replacement_comes_in_the_turn_of_the_tombstone():
    ledger = Ledger("T").add(0, "a", "Use tabs.", "tabs").add(1, "b", "Use blanks.", "blanks")
    with pytest.raises(InputError, match="replacement must be a clause added in turn 3, got 'b'"):
        ledger.revoke(3, "a", "b")
    assert ledger.revoke(1, "a", "b").tombstones == (Tombstone("a", 1, "b"),)


def test_events_are_kept_as_they_are_said():
    event = Event("diagnosed", None, "dead", "1/3", "Use tabs.", "after 30 rounds")
    assert Event.from_dict(event.to_dict()) == event
    assert event.to_dict() == {
        "kind": "diagnosed",
        "state": "dead",
        "adherence": "1/3",
        "surface_text": "Use tabs.",
        "note": "after 30 rounds",
    }
