"""`simtrack simulate` and `simtrack power`: from a design to a log and to what it buys."""

from __future__ import annotations

import pathlib

import pytest

from simtrack.agents import PairedAgent
from simtrack.analysis import analyses
from simtrack.design import Design
from simtrack.planning import power

STUDY = """
[design]
clusters = 6
repetitions = 4
cluster_name = "task"
[design.conditions]
arm = ["new", "old"]
[agent]
kind = "arms"
first = 0.8
second = 0.5
icc = 0.1
[analysis]
method = "sign-flip"
factor = "arm"
first = "new"
second = "old"
[price]
usd_per_call = 0.01
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return str(path)


def test_power_is_that_of_the_library(simtrack, study):
    agent = PairedAgent.from_rates(0.8, 0.5, icc=0.1)
    design = Design(6, 4, {"arm": ("new", "old")}, cluster_name="task")
    exact = power(design, agent, analyses.sign_flip("rate", "arm", "new", "old"))
    shown = simtrack("power", study, "--json").json
    assert exact.mcse is None
    assert shown["power"] == pytest.approx(exact.power, rel=1e-12)
    text = simtrack("power", study).out
    assert f"{exact.power:.3f}  (exact)" in text
    assert "6 tasks x 4 repetitions x 2 arm: 48 trials, $0.48" in text


def test_a_simulated_log_is_tested_by_the_same_commands(simtrack, study):
    assert simtrack("simulate", study, "-o", "reh.csv", "--seed", "5").code == 0
    found = simtrack("test", "reh.csv", "--compare", "new", "old", "--cluster", "task", "--json")
    assert found.json["rows"][0]["clusters"] == 6


def test_the_interim_keeps_what_was_observed(simtrack, study, tmp_path):
    rows = ["task,arm,value"]
    rows += [
        f"{t},{a},{v}" for t in range(1, 5) for a, v in (("new", 1), ("old", 0)) for _ in "1234"
    ]
    (tmp_path / "half.csv").write_text("\n".join(rows) + "\n")
    going_on = simtrack("power", study, "--interim", "half.csv", "--json")
    assert going_on.code == 0, going_on.err
    assert going_on.json["power"] > simtrack("power", study, "--json").json["power"]
    ahead = going_on.json["predictive"]
    # four clusters of 4 to 0: whatever the agent is, the next two hardly change the test
    assert ahead["direction"] == "greater"
    assert ahead["assurance"] > 0.5
    assert any("spends alpha" in note for note in going_on.json["notes"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.toml"], "absent.toml: there is no such file. Write one with: simtrack init"),
        (["--rate", "1.5"], "rate must be strictly between 0 and 1"),
        (["--rate", "0.1"], "drop must be such that the second arm's rate lies between 0 and 1"),
        (["--clusters", "0"], "clusters"),
        (["--method", "wilsn"], "method must be one of"),
        (["--icc", "2"], "icc must be a finite number from 0 to 1"),
        (["--slope-sd", "1e9"], "slope_sd must be a finite number from 0 to 20"),
        (["study.toml", "--rate", "0.5"], "options must be left to the study file"),
    ],
)
def test_slips_end_in_one_line(simtrack, study, arguments, message):
    done = simtrack("power", *arguments)
    assert (done.code, done.out) == (2, ""), done
    assert message in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("clusters = 6", "clusterz = 6", "key must be one of clusters"),
        ("[analysis]", "[analysys]", "Did you mean analysis?"),
        ("first = 0.8", "frist = 0.8", "key must be one of kind, first, second"),
        ('kind = "arms"', 'kind = "arm"', "kind must be one of"),
        ('method = "sign-flip"', 'method = "sign-flop"', "method must be one of"),
        ('arm = ["new", "old"]', "arm = 5", "conditions.arm must be a list of texts, got 5"),
        ('arm = ["new", "old"]', 'arm = "new"', "conditions.arm must be a list of texts"),
        ("first = 0.8", 'first = "0.8"', "first must be a number, got '0.8'"),
        ('kind = "arms"', 'kind = ["arms"]', "agent must be of a kind or a preset"),
        ('kind = "arms"', "kind = 3", "agent must be of a kind or a preset"),
        ('method = "sign-flip"', "method = [1]", "method must be a text, got [1]"),
        ('first = "new"', 'first = "mew"', "got 'mew' (bad.toml, [analysis]). Did you mean new?"),
        ('first = "new"', 'first = "old"', "second must be another level than first, got 'old'"),
        ('second = "old"', 'second = "old"\noptions = 3', "options must be a table, got 3"),
        (
            'second = "old"',
            'second = "old"\noptions = {foo = 1}',
            "option must be one that sign-fl",
        ),
        ("usd_per_call = 0.01", 'usd_per_call = "1"', "usd_per_call must be a number, got '1'"),
        ("usd_per_call = 0.01", "usd_per_call = [1]", "usd_per_call must be a number, got [1]"),
        ("[price]", '[goal]\nkind = ["a"]\n[price]', "kind must be one of differs, equivalent"),
        ("[price]", '[goal]\nkind = "differs"\nnull = 0.1\n[price]', "null must be left out"),
    ],
)
def test_typos_in_the_study_are_named(simtrack, tmp_path, old, new, message):
    (tmp_path / "bad.toml").write_text(STUDY.replace(old, new))
    done = simtrack("power", "bad.toml")
    assert done.code == 2, done
    assert message in done.err


def test_a_study_too_large_to_draw_is_refused_before_it_is_begun(simtrack):
    for name in ("clusters", "repetitions"):
        done = simtrack("power", f"--{name}", "1000000000")
        assert (done.code, done.err.count("\n")) == (2, 1), done
        assert "trials" in done.err


def test_options_of_a_plan_come_before_its_file(simtrack, study, tmp_path):
    text = STUDY + "[plan]\ntarget_power = 0.1\n[plan.over]\nclusters = [6]\n"
    (tmp_path / "over.toml").write_text(text)
    assert [p["settings"] for p in simtrack("plan", "over.toml", "--json").json["points"]] == [
        {"clusters": 6}
    ]
    asked = simtrack("plan", "over.toml", "--over", "clusters=7:8", "--json")
    assert [p["settings"]["clusters"] for p in asked.json["points"]] == [7, 8]
    (tmp_path / "over.toml").write_text(text.replace("[6]", "6"))
    assert "over must be a table of lists" in simtrack("plan", "over.toml").err
    for bad in ("clusters=9:6", "clusters=6:8:1:9", "clusters=1:99999999999"):
        assert "--over must be of the form" in simtrack("plan", study, "--over", bad).err
    twice = simtrack("plan", study, "--over", "clusters=6", "--over", "clusters=7")
    assert "--over must be given once" in twice.err


@pytest.mark.parametrize("shape", ["rate", "stageif", "tau2", "statetrack"])
def test_half_of_a_starter_s_own_simulated_log_is_an_interim(simtrack, shape):
    assert simtrack("init", shape, "-o", "s.toml").code == 0
    assert simtrack("simulate", "s.toml", "--clusters", "6", "-o", "half.csv").code == 0
    quick = ("--mcse", "0.1", "--max-draws", "200")
    found = simtrack("power", "s.toml", "--interim", "half.csv", *quick)
    assert found.code == 0, found.err
    assert "6 clusters observed)" in found.out
    # a fit to the interim is there for one rate and two arms, and else said to be missing
    assert ("  predictive power  " in found.out) == (shape == "rate"), found.out
    assert ("Note: no predictive power: " in found.out) == (shape != "rate")
    assert "spends alpha" in found.out


def test_an_interim_of_other_levels_or_columns_is_refused(simtrack, study, tmp_path):
    rows = [f"{t},{a},1" for t in range(1, 5) for a in ("treat", "control")]
    (tmp_path / "other.csv").write_text("\n".join(["task,arm,value", *rows]) + "\n")
    done = simtrack("power", study, "--interim", "other.csv")
    assert done.code == 2
    assert "arm names the study's levels (without new, old), got control, treat" in done.err
    (tmp_path / "bare.csv").write_text("\n".join(["id,group,value", *rows]) + "\n")
    assert "Name it with --map arm=COLUMN" in simtrack("power", study, "--interim", "bare.csv").err
    (tmp_path / "loose.csv").write_text(
        "\n".join(["id,arm,value", *rows]).replace("treat", "new") + "\n"
    )
    loose = simtrack("power", study, "--interim", "loose.csv")
    assert "Name it with --map cluster=COLUMN" in loose.err


def test_a_goal_of_precision_or_equivalence_is_asked_in_the_study(simtrack, tmp_path):
    text = STUDY.replace('"sign-flip"', '"paired-cluster-t"')
    (tmp_path / "narrow.toml").write_text(text + '[goal]\nkind = "narrow"\nwidth = 2.0\n')
    narrow = simtrack("power", "narrow.toml", "--json").json
    assert narrow["power_answered"] == 1.0  # no interval of a difference of rates is wider
    assert narrow["power"] == 1.0 - narrow["failure_rate"]
    assert "exaggeration" not in simtrack("power", "narrow.toml").out
    (tmp_path / "same.toml").write_text(
        text + '[goal]\nkind = "equivalent"\nlow = -0.1\nhigh = 0.1\n'
    )
    assert simtrack("power", "same.toml", "--json").json["power"] < 0.05
    both = simtrack("power", "same.toml", "--alpha", "0.1")
    assert "alpha must be left to [goal]" in both.err
    (tmp_path / "bad.toml").write_text(text + '[goal]\nkind = "equivalent"\nlow = -0.1\n')
    assert "key must be given: high" in simtrack("power", "bad.toml").err


def test_a_plan_names_the_smallest_design_and_the_one_from_which_all_work(simtrack, study):
    asked = ("plan", study, "--over", "clusters=6:40:2", "--mcse", "0.02", "--json")
    found = simtrack(*asked).json
    agent = PairedAgent.from_rates(0.8, 0.5, icc=0.1)
    first = dict(found["first"]["settings"])["clusters"]
    design = Design(first, 4, {"arm": ("new", "old")}, cluster_name="task")
    analysis = analyses.sign_flip("rate", "arm", "new", "old")
    assert power(design, agent, analysis, mcse=0.01).power > 0.77
    assert power(design.with_(clusters=first - 2), agent, analysis, mcse=0.01).power < 0.83
    assert found["all_larger"]["cost_usd"] >= found["first"]["cost_usd"]
    text = simtrack(*asked[:-1]).out
    assert f"first that works  {first} clusters" in text


def test_an_impossible_plan_says_which_constraint(simtrack, study):
    done = simtrack("plan", study, "--over", "clusters=6:30", "--budget", "0.10")
    assert done.code == 0
    assert "Impossible in range" in done.out
    assert "budget" in done.out
    assert "must be of the form" in simtrack("plan", study, "--over", "clusters").err


def test_parts_on_two_machines_give_the_run_of_one(simtrack, study):
    asked = ("power", study, "--clusters", "20", "--max-draws", "3000", "--mcse", "0.001")
    whole = simtrack(*asked, "--folder", "whole", "--json").json
    for part in ("1/2", "2/2"):
        kept = simtrack(*asked, "--part", part, "--folder", part[0])
        assert (kept.code, kept.out[:11]) == (0, f"{part[0]}: part {part}")
    merged = simtrack(*asked, "--merge", "1", "--merge", "2", "--json").json
    assert merged["power"] == whole["power"] == simtrack(*asked, "--json").json["power"]
    assert merged["run"]["sha256"] == whole["run"]["sha256"]
    assert "missing: blocks" in simtrack(*asked, "--merge", "1").err
    other = simtrack(*asked, "--seed", "1", "--merge", "1", "--merge", "2")
    assert "1 belongs to another question; different: seed" in other.err
    assert "--folder must be given with --part" in simtrack(*asked, "--part", "1/2").err
    assert "part must be an integer from 1 to 2" in (
        simtrack(*asked, "--part", "3/2", "--folder", "3").err
    )


def test_a_pilot_gives_the_agent_and_the_assurance(simtrack, study):
    assert simtrack("simulate", study, "--clusters", "20", "-o", "pilot.csv").code == 0
    found = simtrack("power", study, "--pilot", "pilot.csv", "--mcse", "0.02", "--json")
    assert found.code == 0, found.err
    effect = found.json["pilot"]["parameters"]["effect"]
    truth = PairedAgent.from_rates(0.8, 0.5, icc=0.1).effect
    assert effect["interval_95"][0] < truth < effect["interval_95"][1]
    assured = found.json["assurance"]
    assert 0.0 <= assured["less"] < assured["greater"] == assured["assurance"] < 1.0
    assert assured["direction"] == "greater"
    assert "assurance" in simtrack("power", study, "--pilot", "pilot.csv", "--mcse", "0.02").out
    both = simtrack("power", "--rate", "0.5", "--pilot", "pilot.csv", "--map", "cluster=task")
    assert both.code == 2
    clash = simtrack("power", study, "--pilot", "pilot.csv", "--folder", "kept")
    assert "--pilot must be given without --interim" in clash.err


def test_a_pilot_with_other_level_names_is_told_which(simtrack):
    rows = [f"{task},{arm},{(task + k) % 2}" for task in range(6) for arm in "ab" for k in (0, 1)]
    pathlib.Path("other.csv").write_text("\n".join(["task,arm,passed", *rows]) + "\n", "utf-8")
    found = simtrack("power", "--clusters", "40", "--pilot", "other.csv", "--map", "cluster=task")
    assert found.code == 2
    assert "(without first, second), got a, b" in found.err


def test_a_pilot_in_which_all_pass_shows_no_direction(simtrack):
    rows = [f"{arm},s{k},{e},1" for k in range(3) for arm in ("first", "second") for e in (0, 1)]
    pathlib.Path("all.csv").write_text(
        "\n".join(["arm,scenario,epoch,value", *rows]) + "\n", "utf-8"
    )
    found = simtrack("power", "--clusters", "40", "--pilot", "all.csv", "--mcse", "0.02")
    assert found.code == 0, found.err
    assert "assurance             none, for no direction is intended: first higher 0." in found.out
    assert "Note: Every trial of the pilot passed: it shows no difference" in found.out


def test_a_test_that_cannot_reject_has_power_0_and_alpha_as_typed(simtrack):
    found = simtrack("power", "--clusters", "4", "--alpha", "0.07")
    assert "sign-flip, two-sided, alpha 0.07\n" in found.out
    assert "  power                 0.000  (exact; it cannot reject at alpha 0.07)\n" in found.out
    assert "its least two-sided p is 0.125, above alpha 0.07; 5 clusters are enough" in found.out
    assert "no answer: a miss     1.000  (1.000 too few clusters to reach alpha)" in found.out


def test_misses_are_counted_in_the_headline_and_coverage_is_of_the_rest(simtrack):
    asked = ("power", "--clusters", "5", "--repetitions", "1", "--method", "paired-cluster-t",
             "--mcse", "0.02")  # fmt: skip
    plain, shown = simtrack(*asked, "--json").json, simtrack(*asked).out
    assert plain["failure_rate"] > 0.01
    assert plain["power"] == pytest.approx(plain["power_answered"] * (1 - plain["failure_rate"]))
    assert f"  power                 {plain['power']:.3f}  (" in shown
    assert f"{plain['power_answered']:.3f} of those that answer" in shown
    assert "have no answer and count as misses; coverage, width and bias are of the others" in shown
