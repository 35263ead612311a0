"""`score`, `gate` and `rescore` under the schemes of StateTrack, ReBIND and matched obligations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simtrack.cli.reply_reading import SCHEMES_OFFERED
from simtrack.estimands import estimand
from simtrack.scoring.schemes import SCHEMES

STATETRACK = """
scheme = "statetrack"
[columns]
task = "task_ok"
[[rule]]
constraint = {kind = "required", words = ["please"]}
recall = {kind = "required", words = ["please"]}
"""
REBIND = """
scheme = "rebind"
[[clause]]
id = "helper"
each = "markers"
check = {function = "{each}"}
"""


def test_the_command_line_offers_every_scheme_and_every_estimand_is_in_the_catalogue() -> None:
    assert ("plain", *SCHEMES) == SCHEMES_OFFERED
    for scheme in SCHEMES.values():
        for name in (*scheme.estimands, *scheme.only_by):
            assert estimand(name).name == name


@pytest.fixture
def probes() -> tuple[str, str]:
    # (kept, recalled, task): of 6 probes R1B1 2, R1B0 2, R0B1 1, R0B0 1; one task fails at R1B1.
    cells = [(1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 1), (1, 0, 1), (0, 0, 1)]
    rows = []
    for k, (b, r, task) in enumerate(cells):
        base = {"id": f"p{k}", "depth": 3}
        rows.append(base | {"branch": "compliance", "reply": "please" if b else "no",
                            "task_ok": task})  # fmt: skip
        rows.append(base | {"branch": "recall", "reply": "say please" if r else "?",
                            "task_ok": None})  # fmt: skip
    Path("p.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("p.toml").write_text(STATETRACK, encoding="utf-8")
    return "p.jsonl", "p.toml"


def test_statetrack_by_name(simtrack, probes) -> None:
    done = simtrack("score", probes[0], "--scheme", "statetrack", "--protocol", probes[1], "--json")
    assert done.code == 0
    found = {r["estimand"]: (r["numerator"], r["denominator"]) for r in done.json["rows"]}
    assert found["dissociation"] == (3, 6)
    assert found["behavioural_drift"] == (2, 6)
    assert found["declarative_fade"] == (1, 6)
    assert found["strict_retention"] == (2, 6)
    assert found["joint_drift"] == (3, 6)  # recalled and the joint fails: two R1B0, one task
    assert found["integrity_failure_share"] == (3, 4)
    assert done.json["left_out"]["two_constraints"] == "needs the column c1, c2"
    assert done.json["by"] == []  # `task` is a flag here, not a grouping column


def test_the_command_that_reads_a_scored_table_gives_the_same_number(simtrack, probes) -> None:
    """The verdict on tasks is a column `task`, which must not part the probes."""
    done = simtrack("score", probes[0], "--scheme", "statetrack", "--protocol", probes[1],
                    "--cluster", "unit", "-o", "s.csv")  # fmt: skip
    told = done.out.rpartition("Read it: simtrack ")[2].split()
    found = simtrack(*told, "--json").json["metrics"][0]["estimates"]["rows"]
    # Of six probes three keep the rule, one of them without the task.
    assert [row["rate"] for row in found] == [2 / 6]


def test_statetrack_gate(simtrack, probes) -> None:
    done = simtrack("gate", probes[0], "--scheme", "statetrack", "--protocol", probes[1], "--json")
    assert done.code == 0
    assert [row["survivors"] for row in done.json["rows"]] == [0, 0]
    # A checker that silence passes is caught.
    Path("lazy.toml").write_text(
        STATETRACK.replace('constraint = {kind = "required", words = ["please"]}',
                           'constraint = {kind = "characters", at_most = 500}'),
        encoding="utf-8",
    )  # fmt: skip
    done = simtrack("gate", probes[0], "--scheme", "statetrack", "--protocol", "lazy.toml")
    assert done.code == 3
    assert "Survived blank replies: unit p0" in done.out


def test_verdicts_that_were_recorded_cannot_be_gated(simtrack, probes) -> None:
    rows = [json.loads(line) for line in Path(probes[0]).read_text("utf-8").splitlines()]
    for row in rows:
        row |= {"kept": int(row["reply"] == "please"), "named": int("say" in row["reply"])}
    Path("r.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("r.toml").write_text('[columns]\nconstraint = "kept"\nrecall = "named"\n', "utf-8")
    done = simtrack("gate", "r.jsonl", "--scheme", "statetrack", "--protocol", "r.toml")
    assert done.code == 3
    assert "Nothing was tested" in done.out


@pytest.fixture
def episodes() -> tuple[str, str]:
    helper = "def {}():\n    pass\n"
    codes = [
        helper.format("verify"),  # kept what is in force, nothing of the revoked one
        helper.format("verify") + helper.format("audit_log"),  # relapse
        "def f(:",  # unparseable
        "x = 1\n",  # the clause in force is missed
        "",  # empty
    ]
    rows = [
        {"id": f"e{k}", "task": f"t{k}", "condition": "delayed", "markers": "audit_log|verify",
         "revoked": "audit_log", "reply": f"```python\n{code}```" if code else ""}
        for k, code in enumerate(codes)
    ]  # fmt: skip
    Path("e.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("e.toml").write_text(REBIND, encoding="utf-8")
    return "e.jsonl", "e.toml"


def test_rebind_by_name_over_episodes_and_clauses(simtrack, episodes) -> None:
    done = simtrack("score", episodes[0], "--scheme", "rebind", "--protocol", episodes[1], "--json",
                    "--cluster", "unit")  # fmt: skip
    assert done.code == 0
    found = {r["estimand"]: (r["numerator"], r["denominator"]) for r in done.json["rows"]}
    assert found["relapse"] == (1, 3)  # two artifacts cannot be judged
    assert found["worst_case_relapse"] == (3, 5)
    assert found["parse_failure"] == (1, 5)
    assert found["empty_share"] == (1, 5)
    assert found["in_force_compliance"] == (2, 5)
    assert "relapse_prevalence" not in found


def test_rebind_gate_and_its_missing_protocol(simtrack, episodes) -> None:
    done = simtrack("gate", episodes[0], "--scheme", "rebind", "--protocol", episodes[1], "--json")
    assert done.code == 0
    assert {row["name"] for row in done.json["rows"]} >= {"blank replies", "broken code"}
    done = simtrack("score", episodes[0], "--scheme", "rebind")
    assert done.code == 2
    assert "protocol must be given for rebind, which has no default" in done.err


def test_the_gate_breaks_libraries_and_takes_recorded_outcomes_away(simtrack, episodes) -> None:
    """No renaming breaks a library clause or a test that was run on other code."""
    lines = Path(episodes[0]).read_text("utf-8").splitlines()
    rows = [json.loads(line) | {"tests": "passed"} for line in lines]
    Path("t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    library = '[[clause]]\nid = "library"\ncheck = {stdlib_only = "3.11"}\n'
    tests = '[[clause]]\nid = "tests"\ncheck = {recorded = "tests"}\n'
    Path("t.toml").write_text(REBIND + library + tests, encoding="utf-8")
    done = simtrack("gate", "t.jsonl", "--scheme", "rebind", "--protocol", "t.toml", "--json")
    assert done.code == 0, done.out
    found = {(row["name"], row["table"]): row for row in done.json["rows"]}
    # Of 5 episodes with helper, library and tests in force 1 parses not and 1 is empty: of the 3
    # others all pass library and tests, 2 the helper.
    assert found["inverted values", "clause"]["successes_before"] == 3 + 3 + 2
    assert found["inverted values", "clause"]["survivors"] == 0
    assert found["inverted values", "clause"]["tested"] > 0


def test_a_clause_that_no_change_can_break_is_named(simtrack, episodes) -> None:
    quiet = '[[clause]]\nid = "quiet"\ncheck = {not = {calls = "print"}}\n'
    Path("q.toml").write_text(REBIND + quiet, encoding="utf-8")
    done = simtrack("gate", episodes[0], "--scheme", "rebind", "--protocol", "q.toml")
    assert done.code == 0, done.out
    assert "inverted values: not held against quiet, which it cannot break" in done.out


def test_verdicts_of_two_protocols_are_paired_by_probe(simtrack, probes) -> None:
    """Of six probes two have no recall branch; asked of failures alone, one stays."""
    rows = [json.loads(line) for line in Path(probes[0]).read_text("utf-8").splitlines()]
    rows = [r for r in rows if (r["id"], r["branch"]) not in {("p0", "recall"), ("p3", "recall")}]
    Path("p.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("f.toml").write_text('recall_asked = "failures"\n' + STATETRACK, encoding="utf-8")
    args = ("rescore", "p.jsonl", "--scheme", "statetrack")
    for old, new in (("p.toml", "f.toml"), ("f.toml", "p.toml")):
        done = simtrack(*args, "--old-protocol", old, "--protocol", new, "--json")
        assert done.code == 0, done.err
        row = done.json["rows"][0]
        # p0 is kept, so that it needs no recall: one protocol has it, and both have p1, p2, p4, p5.
        assert row["both"] + row["neither"] == 4
        assert (row["only_old"], row["only_new"]) == (0, 0)
        without = (1, 0) if old == "p.toml" else (0, 1)
        assert (row["without_old"], row["without_new"]) == without
    done = simtrack(*args, "--old-protocol", "p.toml", "--protocol", "f.toml")
    assert "Not compared: 1 replies without an old verdict, 0 without a new one" in done.out
    done = simtrack(*args, "--protocol", "p.toml")
    assert done.code == 2
    assert "the log holds no verdicts to hold against new ones" in done.err


def test_obligations_have_an_exact_and_a_lenient_view(simtrack) -> None:
    rows = [
        {"id": "a", "stage": "COMPLETED", "obligation": "sentence",
         "reply": "Done.\n(The task is complete.)"},
        {"id": "b", "stage": "COMPLETED", "obligation": "sentence",
         "reply": "As you see, the task is complete. Bye"},
    ]  # fmt: skip
    Path("o.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = simtrack("score", "o.jsonl", "--scheme", "obligations", "--cluster", "unit", "--json")
    assert done.code == 0
    found = {(r["estimand"], r["labels"]["view"]): r["numerator"] for r in done.json["rows"]}
    assert found["adherence", "exact"] == 1
    assert found["adherence", "lenient"] == 2
    done = simtrack("gate", "o.jsonl", "--scheme", "obligations")
    assert done.code == 0
