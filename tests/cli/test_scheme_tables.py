"""Long reports stay readable: equal readings once, many groups summed up, nothing left untold."""

from __future__ import annotations

import json
import pathlib

from simtrack.analysis.scheme_score import SchemeRow
from simtrack.cli.scheme_tables import row_notes

VALUES = ("needs_information", "ready_for_action")


def _log(models: int) -> str:
    """Six units a model; in the model number k the first min(k, 6) are right, the others silent."""
    rows = [
        {"id": f"u{u}", "scenario": f"s{u % 3}", "model": f"m{k:02d}", "stage": "READY",
         "duty": 1, "calls": 0, "reply": "<stage>ready_for_action</stage>" if u < k else "no"}
        for k in range(models) for u in range(6)
    ]  # fmt: skip
    path = pathlib.Path("log.jsonl")
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def test_what_both_views_say_alike_stands_once(simtrack) -> None:
    out = simtrack("score", _log(2), "--scheme", "stageif").out
    assert "strict" not in out.split("Estimands:")[1].split("95 %")[0]
    assert out.count("\nadherence ") == 2
    assert "both  m01    1     READY         5      1" in out


def test_many_groups_are_summed_up_and_the_others_are_in_the_json(simtrack) -> None:
    log = _log(45)
    done = simtrack("score", log, "--scheme", "stageif")
    assert done.code == 0
    # 45 groups: 40 lines of each table, and estimands by their span. Median of 0, 1, .., 6, 6, ...
    assert done.out.count("(and 5 more lines (--json))") == 2
    line = next(ln for ln in done.out.splitlines() if ln.startswith("adherence "))
    assert line.split()[2:] == ["both", "45", "0.0000", "m00", "1.0000", "1.0000", "m06"]
    assert "(every group with its interval: --json, or fewer with --where)" in done.out
    rows = simtrack("score", log, "--scheme", "stageif", "--json").json["rows"]
    assert sum(row["estimand"] == "adherence" for row in rows) == 90


def test_notes_that_differ_in_numbers_are_one() -> None:
    def row(name: str, note: str) -> SchemeRow:
        return SchemeRow(name, "", (), 0.5, 0.1, 0.9, 1, 2, 2, notes=(note,))

    names = [f"e{k}" for k in range(8)]
    rows = [row(name, f"at least {k / 2} of {-k}, for 3 clusters") for k, name in enumerate(names)]
    assert row_notes([*rows, row("f", "all scores are equal")]) == [
        "at least 0.0 to 3.5 of -7 to 0, for 3 clusters [e0, e1, e2, e3, e4, e5 and 2 more]",
        "all scores are equal [f]",
    ]


def test_every_table_is_written_beside_the_first(simtrack) -> None:
    code = "```python\ndef verify():\n    pass\n```"
    row = {"id": "e", "task": "t", "markers": "verify|log", "revoked": "log", "reply": code}
    pathlib.Path("e.jsonl").write_text(json.dumps(row), encoding="utf-8")
    pathlib.Path("e.toml").write_text(
        '[[clause]]\nid = "helper"\neach = "markers"\ncheck = {function = "{each}"}\n'
    )
    done = simtrack("score", "e.jsonl", "--scheme", "rebind", "--protocol", "e.toml",
                    "-o", "out.csv")  # fmt: skip
    assert done.code == 0, done.err
    assert "clause by clause: out.clause.csv" in done.out
    again = simtrack("score", "out.clause.csv", "--estimand", "clause_adherence", "--by", "clause",
                     "--cluster", "task", "--json")  # fmt: skip
    row = again.json["metrics"][0]["estimates"]["rows"][0]
    assert (row["labels"], row["rate"]) == ({"clause": "helper:verify"}, 1.0)
    assert not any("repeat" in note["text"] for note in again.json["notes"])
