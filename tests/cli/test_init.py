"""`simtrack init`: every starter runs; presets are listed with their sources."""

from __future__ import annotations

import pytest

from simtrack.agents.presets.catalogue import PRESETS, preset
from simtrack.runs.rehearsal import load_rehearsal
from simtrack.runs.starters import STARTERS


@pytest.mark.parametrize("shape", STARTERS)
def test_every_starter_can_be_simulated_and_asked_for_its_power(simtrack, tmp_path, shape):
    assert simtrack("init", shape).out.startswith("study.toml: ")
    study = load_rehearsal(tmp_path / "study.toml")
    assert study.analysis is not None
    assert set(study.plan.over) <= {"clusters", "repetitions"}
    small = ("study.toml", "--clusters", "8", "--repetitions", "3")
    found = simtrack("power", *small, "--mcse", "0.05", "--json")
    assert found.code == 0, found.err
    shown = found.json
    assert shown["n_ok"] + shown["n_refused"] + shown["n_failed"] == shown["n_draws"]
    assert simtrack("simulate", *small, "-o", "rehearsal.csv").code == 0
    lines = (tmp_path / "study.toml").read_text().splitlines()
    said = [
        line.split("rehearsal.csv ", 1)[1].split() for line in lines if "rehearsal.csv " in line
    ]
    verb = "test" if shape == "pair" else "score"
    read = simtrack(verb, "rehearsal.csv", *said[-1], "--json")
    assert read.code == 0, read.err


def test_a_study_is_not_written_over(simtrack, tmp_path):
    (tmp_path / "study.toml").write_text("mine")
    done = simtrack("init", "pair")
    assert (done.code, (tmp_path / "study.toml").read_text()) == (2, "mine")
    assert "output must be a file that is not there yet" in done.err
    assert simtrack("init", "pair", "--force").code == 0


def test_slips_are_named(simtrack):
    assert "shape must be one of pair, rate" in simtrack("init", "stage-if").err
    assert "part of a preset's name" in simtrack("init", "--presets", "stage-if").err


def test_presets_say_what_they_are_made_from(simtrack):
    assert simtrack("init", "--presets").out.splitlines()[:1] == [PRESETS[0]]
    shown = simtrack("init", "--presets", "rebind/load-grid").out
    assert "made from: relapse, load 8: 0.403 (rebind/load_grid.csv" in shown
    for name in PRESETS:
        assert preset(name)["inputs"], name


def test_a_preset_that_is_none_is_refused(simtrack, tmp_path):
    simtrack("init", "gates")
    path = tmp_path / "study.toml"
    path.write_text(path.read_text().replace("gate/deepseek-v4-flash", "gate/deepseek-v4"))
    done = simtrack("power", "study.toml")
    assert done.code == 2
    assert "Did you mean gate/deepseek-v4-pro" in done.err
