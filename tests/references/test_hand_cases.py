"""Faults that other tools had, as tests: cases that stand in no other file, and that none is lost.

A case is the number of a known fault; its tests are called `test_hNN_...`, in whichever file the
statistic has.
"""

from __future__ import annotations

import ast
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from simtrack import _jit
from simtrack.analysis import estimate
from simtrack.counts import Totals
from simtrack.inference import clustered_rates, group_mean, sign_flip, sign_flip_pvalues
from simtrack.kernels.signflip import flip_reals
from simtrack.logs import read_log

TESTS = Path(__file__).resolve().parents[1]
#: The faults that concern inference; those of readers have their tests in tests/logs.
CASES = sorted({*range(1, 14), *range(15, 21), 22, 35, 36, 40})


@pytest.fixture(scope="module")
def named() -> dict[int, list[str]]:
    """Case -> tests named after it."""
    found: dict[int, list[str]] = {}
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (
                case := re.fullmatch(r"test_h(\d\d)_.+", node.name)
            ):
                found.setdefault(int(case.group(1)), []).append(f"{file.name}::{node.name}")
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_case_has_a_test_of_its_name(case, named):
    assert named.get(case), f"no test is called test_h{case:02d}_..."


def test_h03_a_standard_error_is_taken_from_scores_never_from_what_a_file_states(tmp_path):
    """13 of 20 with a stored error of 0: a 0/1 score varies unless all are equal."""
    stated = {"accuracy": {"value": 0.65}, "stderr": {"value": 0.0}}
    log = {
        "version": 2,
        "status": "success",
        "eval": {"task": "quiz", "model": "m", "eval_id": "e", "task_id": "t",
                 "dataset": {"samples": 20}, "config": {"epochs": 1}, "packages": {}},
        "plan": {},
        "results": {"total_samples": 20, "completed_samples": 20,
                    "scores": [{"name": "match", "scorer": "match", "metrics": stated}]},
        "samples": [{"id": k, "epoch": 1, "scores": {"match": {"value": int(k < 13)}}}
                    for k in range(20)],
    }  # fmt: skip
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    row = estimate(read_log(path)).rows[0]
    assert (row.n, row.rate) == (20, 0.65)
    assert row.naive_se == pytest.approx(math.sqrt(0.65 * 0.35 / 19), rel=1e-12)
    assert round(row.naive_se, 10) == 0.1094243310
    assert row.low < 0.65 < row.high


def test_h03_all_equal_scores_are_the_one_case_of_no_error():
    for k in range(21):
        error = clustered_rates(Totals.from_arrays([1] * k + [0] * (20 - k), [1] * 20)).naive_se[0]
        assert bool(error == 0.0) is (k in (0, 20))


@pytest.mark.parametrize("scale", [1, 10, 0.1, Fraction(1, 3)])
def test_h04_sums_that_are_equal_are_ties_in_every_unit(scale):
    """12 of 32 patterns; adding tenths as floats loses two of them and gives 10 of 32."""
    d = [7, 1, -3, 2, 3]
    naive = np.array([0.7, 0.1, 0.3, 0.2, 0.3])
    signs = 1 - 2 * ((np.arange(32)[:, None] >> np.arange(5)) & 1)
    sums = [sum((row * naive).tolist()) for row in signs]
    observed = abs(sum([0.7, 0.1, -0.3, 0.2, 0.3]))
    assert sum(abs(s) >= observed for s in sums) < 12  # the fault is real
    assert sign_flip([v * scale for v in d]).exact == Fraction(12, 32)
    assert sign_flip([v * math.sqrt(2.0) for v in d]).exact == Fraction(12, 32)
    assert sign_flip_pvalues([[v * float(scale) for v in d]])[0] == 12 / 32


@_jit.kernel
def count_and_add(scores, out):
    """Count the missing scores, and add up the others."""
    for s in scores:
        if np.isnan(s):
            out[0] += 1.0
        else:
            out[1] += s


def test_h15_kernels_see_missing_scores():
    """Under fastmath a compiled `isnan` is False for ever, and NaN is counted as data."""
    scores = np.array([1.0, np.nan, 0.0, np.nan, 1.0])
    for run in (count_and_add, count_and_add.py_func):
        out = np.zeros(2)
        run(scores, out)
        assert out.tolist() == [2.0, 2.0]  # 2 missing; 2 of the 3 observed pass


def test_h15_a_missing_cluster_is_in_no_sum_of_the_sign_flip_kernel():
    rows = [[1.0, np.nan, 0.5, np.nan, 1.25], [np.nan, np.nan, np.nan, np.nan, 2.5]]
    right = [2 / 8, 1.0]  # all signs or none of three; of one
    assert sign_flip_pvalues(rows).tolist() == right
    plain = np.empty(2)
    flip_reals.py_func(np.array(rows), 0, 1e-12, plain)
    assert plain.tolist() == right


def test_h20_a_mean_of_subtasks_never_has_the_error_of_the_pooled_one():
    """As trials the two subtasks give .56, as groups .65, each with the error of its own kind."""
    pooled = clustered_rates(Totals.from_arrays([80, 200], [100, 400]))
    assert pooled.rate[0] == pytest.approx(0.56)
    equal = group_mean([0.8, 0.5], [0.04, 0.025])
    by_size = group_mean([0.8, 0.5], [0.04, 0.025], sizes=[100, 400], weighting="size")
    assert (equal.mean, by_size.mean) == pytest.approx((0.65, 0.56))
    assert equal.se**2 == pytest.approx((0.04**2 + 0.025**2) / 4, rel=1e-12)
    assert by_size.se**2 == pytest.approx((0.2 * 0.04) ** 2 + (0.8 * 0.025) ** 2, rel=1e-12)
