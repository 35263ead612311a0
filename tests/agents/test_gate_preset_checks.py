"""The table of presets against published numbers: fresh, and its arithmetic by other means."""

from __future__ import annotations

import csv
import importlib.util
import math
import pathlib

import pytest
from scipy import stats

ROUNDING = 0.1  # what printed digits leave, in standard errors
FOLDER = pathlib.Path(__file__).parents[2] / "studies" / "preset_checks"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("preset_checks", FOLDER / "checks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def checks(study):
    return study.all_checks()


def found(checks, quantity: str):
    (row,) = [c for c in checks if c.quantity == quantity]
    return row


def test_the_committed_tables_are_those_of_the_script(study, checks):
    assert study.as_csv(checks) == (FOLDER / "table.csv").read_text("utf-8")
    assert study.as_markdown(checks) == (FOLDER / "table.md").read_text("utf-8")


def test_no_check_is_made_from_itself(checks):
    assert {c.role for c in checks} == {"check", "dependent", "arithmetic"}
    for row in checks:
        assert row.made_from
        assert row.source
        if row.role == "arithmetic" and row.z is not None:
            assert abs(row.z) < ROUNDING


def test_the_sign_test_law_is_a_binomial_of_scipy(checks):
    up, down = (found(checks, f"tasks {way}, load contrast, of 67") for way in ("up", "down"))
    for row, seen in ((up, 45), (down, 1)):
        law = stats.binom(67, row.predicted / 67)
        mid = law.cdf(seen - 1) + 0.5 * law.pmf(seen)
        assert row.z == pytest.approx(stats.norm.ppf(mid), abs=1e-9)
    # 45 and 1: two tasks in three rise, as two Beta-binomials of three episodes would have it
    a = 0.403 * (1 / 0.434 - 1)
    b = 0.597 * (1 / 0.434 - 1)
    rises = 1 - stats.betabinom(3, a, b).pmf(0)
    assert up.predicted == pytest.approx(67 * rises * 0.998, rel=0.02)


def test_b2_is_predicted_by_the_cubic_by_hand(checks):
    # gpt-4.1: 22, 0, 1, 48 of 71. q^3 - q 22/71 = 48/71; (22/71) / q^2 without transport
    import numpy as np

    roots = np.roots([1, 0, -22 / 71, -48 / 71])
    q = max(r.real for r in roots if abs(r.imag) < 1e-9)
    row = found(checks, "success under B2, gpt-4.1")
    assert row.predicted == pytest.approx(22 / 71 / q**2, abs=5e-3)
    assert row.published == pytest.approx(30 / 72)


def test_the_replay_is_judged_on_what_was_stopped(checks):
    row = found(checks, "replay without a gate on markers, of 336")
    share = (row.predicted - 114) / 70
    assert 0 < share < 1
    # theirs, and that of a share learnt from 266 others
    assert row.se > math.sqrt(70 * share * (1 - share))
    assert row.se == pytest.approx(math.sqrt((70 + 70**2 / 266) * share * (1 - share)), rel=0.1)


def test_sums_count_checks_alone(study, checks):
    for block, total, df, p in study.sums(checks):
        z = [c.z for c in checks if c.block == block and c.role == "check" and c.z is not None]
        assert df == len(z)
        assert total == pytest.approx(sum(v * v for v in z))
        assert p == pytest.approx(1 - stats.chi2(df).cdf(total), abs=1e-12)


@pytest.mark.shared
def test_published_numbers_are_those_of_the_tables(checks, shared):
    folder = {"StateTrack": "statetrack", "ReBIND": "rebind", "StageIF gates": "stageif"}
    for row in checks:
        if row.block not in folder:
            continue
        name = row.source.split(",")[0]
        text = (shared / "reference" / folder[row.block] / name).read_text("utf-8")
        cells = {cell for line in csv.reader(text.splitlines()) for cell in line}
        value = row.published
        shown = {f"{value:g}", f"{value:.3f}", f"{100 * value:.1f}", f"{value:.4f}", f"{value:.0f}"}
        shown |= {f"{value * 72:.0f}", f"{100 * value:g}"}
        assert shown & cells, (row.quantity, value)
