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
