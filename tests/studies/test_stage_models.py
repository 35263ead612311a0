"""The study of models on a StageIF design: printed figures, and what refuses to be fitted."""

from __future__ import annotations

import csv
import importlib.util
import warnings
from collections import Counter
from pathlib import Path

import pytest

from simtrack.analysis.fit import fit
from simtrack.counts import Factor
from simtrack.records import Records

PLACE = Path(__file__).resolve().parents[2] / "studies" / "stage_models"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("stage_models", PLACE / "models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_printed_odds_ratio_follows_from_coefficient_and_error(study) -> None:
    # StageIF, mixed-model appendix: OR .004, 95 % CI [.001, .022], p = 4.0e-11 (all by z).
    _, _, ratio, by_z, p_z, by_t, p_t = study.odds(*study.PUBLISHED)
    low, high = (float(v) for v in by_z.split(" to "))
    assert (round(float(ratio), 3), round(low, 3), round(high, 3)) == (0.004, 0.001, 0.022)
    assert p_z == "4.0e-11"
    # With t(11) the p is a million times larger and the interval wider.
    assert p_t == "3.8e-05"
    assert float(by_t.split(" to ")[1]) > high


def test_equations_without_a_finite_solution_are_refused_without_a_warning(study) -> None:
    names = [n for n in study.PRESETS if n.startswith("stageif/") and n not in study.INTERVENTIONS]
    parts = []
    for name in names:
        drawn = study.preset_agent(name).records(study.DESIGN, seed=study.SEED)
        parts.append(drawn.with_factors(model=Factor.constant(name, len(drawn))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit(Records.concatenate(parts), design="pooled-stage-gap", cluster="cluster")
    result = found.rows[0].result
    assert result.status == "not-converged"
    assert "correlation = independence" in result.notes[0]


def test_a_random_slope_is_what_the_contrast_by_clusters_says() -> None:
    with (PLACE / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7 * 8
    missed = Counter(row["method"] for row in rows if row["covers"] == "no")
    # Of seven deployments the intercept-only model leaves out the truth of four, the slope of none.
    assert missed["LMM, random intercept"] >= 3
    assert missed["LMM, random slope"] == missed["contrast, cluster t"] == 0
