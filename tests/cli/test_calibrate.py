"""`simtrack calibrate`: what is shown equals what is computed; bad rules end in one line."""

from __future__ import annotations

import csv
import io
import json

import pytest

from simtrack.probe import STATES, StoppingRule, characteristics


def test_json_is_stable(simtrack, golden):
    golden(simtrack("calibrate", "--json").json, "calibrate")


def test_the_table_shows_the_numbers_of_the_library(simtrack):
    out = simtrack("calibrate", "--truth", "0.9,0.1").out
    row = next(line for line in out.splitlines() if line.split()[:2] == ["0.9", "0.1"])
    found = characteristics(StoppingRule(), "0.9", "0.1")
    shown = [float(x) for x in row.split()[3:9]]
    assert shown == [round(float(p), 3) for p in found.probability[:, 0, 0]]
    assert row.split()[9] == "12.00"
    assert "mean 14.0842" in out


def test_csv_reads_back_unrounded(simtrack):
    rows = list(csv.DictReader(io.StringIO(simtrack("calibrate", "--csv").out)))
    assert len(rows) == 7
    assert sum(float(rows[0][state]) for state in STATES) == pytest.approx(1.0, abs=1e-12)


def test_options_override_the_file(simtrack, tmp_path):
    rule = StoppingRule(k_max=12, confidence="0.9")
    (tmp_path / "rule.toml").write_text(rule.to_toml())
    done = simtrack("calibrate", "rule.toml", "--k-max", "14", "--json")
    assert done.json["rule"]["k_max"] == 14
    assert done.json["rule"]["confidence"] == "0.9"
    (tmp_path / "rule.json").write_text(rule.to_json())
    assert simtrack("calibrate", "rule.json", "--json").json["rule"] == rule.to_dict()


def test_cost_by_the_call_and_by_the_token(simtrack):
    # 200 clauses, at most 2 * 30 calls each, $0.002 a call
    by_call = simtrack("calibrate", "--clauses", "200", "--usd-per-call", "0.002", "--json").json
    assert by_call["spending"]["most_usd"] == pytest.approx(24.0)
    # 1000 tokens in at $2 a million and 100 out at $10 a million: $0.003 a call
    by_token = simtrack(
        "calibrate", "--usd-per-mtok", "2,10", "--tokens", "1000,100", "--json"
    ).json
    assert by_token["spending"]["most_usd"] == pytest.approx(0.18)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_are_the_same_twice(simtrack, tmp_path, ending):
    pytest.importorskip("matplotlib")
    for name in ("a", "b"):
        assert simtrack("calibrate", "--k-max", "8", "--figure", f"{name}.{ending}").code == 0
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--confidence", "0.5"], "confidence must be above 1/2 and below 1, got 0.5"),
        (["--k-min", "0"], "k_min must be an integer >= 1, got 0"),
        (["--k-max", "201"], "k_max must be an integer from 1 to 200, got 201"),
        (["--threshold", "eighty"], "threshold must be a decimal number or a fraction"),
        (["--threshold", "nan"], "threshold must be a decimal number or a fraction"),
        (["--zero-band", "0"], "zero_band must be above 0 and below 1"),
        (["--prior", "0,1"], "prior"),
        (["--truth", "0.9"], "truth must be two numbers with a comma between, got '0.9'"),
        (["--truth", "1.2,0"], "full must be pass rates from 0 to 1, got 1.2"),
        (["--grid", "0"], "steps must be an integer from 1 to 200, got 0"),
        (["--margin", "0.9"], "margin must be one that leaves a truth to judge"),
        (["--clauses", "0"], "clauses must be an integer from 1 to 1000000000000, got 0"),
        (["--usd-per-call", "-1"], "usd_per_call must be a finite number from 0"),
        (["--usd-per-mtok", "1,2"], "--usd-per-mtok must be given with --tokens"),
        (["--json", "--csv"], "output must be one of --json, --csv"),
        (["--figure", "out.bmp"], "figure must be a name ending in .png, .svg or .pdf"),
        (["--figure", "nowhere/out.png"], "figure must be in a folder that exists"),
        (["absent.toml"], "absent.toml: there is no such file"),
    ],
)
def test_bad_input_is_one_line(simtrack, tmp_path, arguments, message):
    done = simtrack("calibrate", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_rule_file_with_a_typo_names_the_key(simtrack, tmp_path):
    (tmp_path / "rule.toml").write_text("k_maxx = 20\n")
    done = simtrack("calibrate", "rule.toml")
    assert done.code == 2
    assert "k_maxx" in done.err
    assert "k_max" in done.err


def test_the_protocol_is_the_printed_rule(simtrack):
    assert simtrack("calibrate", "--protocol").out.strip() == str(StoppingRule())


def test_degenerate_rules_are_pointed_out(simtrack):
    found = json.loads(simtrack("calibrate", "--k-max", "6", "--json").out)
    assert any("too few rounds" in note for note in found["notes"])


def test_several_rules_give_one_line_each(simtrack):
    arguments = (
        "calibrate",
        "--k-max",
        "10,20",
        "--confidence",
        "0.8,0.9",
        "--usd-per-call",
        "0.01",
    )
    found = simtrack(*arguments, "--json").json
    assert [(r["rule"]["confidence"], r["rule"]["k_max"]) for r in found["rules"]] == [
        ("0.8", 10), ("0.8", 20), ("0.9", 10), ("0.9", 20)
    ]  # fmt: skip
    alone = simtrack("calibrate", "--k-max", "20", "--confidence", "0.9", "--usd-per-call", "0.01",
                     "--json").json  # fmt: skip
    assert found["rules"][3]["grid"] == alone["grid"]
    table = simtrack(*arguments).out.splitlines()
    assert table[1].split()[:2] == ["confidence", "k_max"]
    assert len([line for line in table if line.strip().startswith(("0.8", "0.9"))]) == 4
    rows = list(csv.DictReader(io.StringIO(simtrack(*arguments, "--csv").out)))
    assert float(rows[3]["E[rounds]"]) == alone["grid"]["mean_rounds"]


def test_a_rule_is_shared_as_toml(simtrack, tmp_path):
    text = simtrack("calibrate", "--k-max", "40", "--prior", "0.5,0.5", "--toml").out
    (tmp_path / "mine.toml").write_text(text)
    again = simtrack("calibrate", "mine.toml", "--json").json["rule"]
    assert again == StoppingRule(k_max=40, prior=("0.5", "0.5")).to_dict()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k-max", "10,20", "--toml"], "rule must be one alone"),
        (["--protocol", "--figure", "x.png"], "--figure must be used without"),
        (["--confidence", "80"], "Did you mean 0.8?"),
        (["--truth", "90,10"], "Did you mean 0.9?"),
    ],
)
def test_more_slips_are_told(simtrack, tmp_path, arguments, message):
    done = simtrack("calibrate", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
