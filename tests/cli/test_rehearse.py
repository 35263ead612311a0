"""`simtrack simulate` and `simtrack power`: from a design to a log and to what it buys."""

from __future__ import annotations

import pytest

from simtrack.agents import PairedAgent
from simtrack.analysis import analyses
from simtrack.design import Design
from simtrack.power import power

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.toml"], "absent.toml: there is no such file. Write one with: simtrack init"),
        (["--rate", "1.5"], "rate must be strictly between 0 and 1"),
        (["--rate", "0.1"], "drop must be such that the second arm's rate lies between 0 and 1"),
        (["--clusters", "0"], "clusters"),
        (["--method", "wilsn"], "method must be one of"),
        (["--icc", "2"], "icc must be a finite number from 0 to 1"),
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
    ],
)
def test_typos_in_the_study_are_named(simtrack, tmp_path, old, new, message):
    (tmp_path / "bad.toml").write_text(STUDY.replace(old, new))
    done = simtrack("power", "bad.toml")
    assert done.code == 2, done
    assert message in done.err
