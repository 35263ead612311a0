"""Linear mixed models: lme4 in print, statsmodels at a tight optimum, exact balanced cases."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm

from simtrack.errors import InputError
from simtrack.inference.models.linear_mixed import INTERCEPT_ONLY, linear_mixed
from simtrack.inference.models.table import ModelTable

#: Printed digits of lme4.
PRINTED = 6e-5
#: statsmodels at its own tightest optimum.
PEER = 1e-6
#: Arithmetic of a few thousand terms.
ROUNDING = 1e-9

# Reaction time in ms after 0 to 9 days of little sleep, 18 subjects (Belenky et al. 2003; lme4).
SLEEP = """
249.56 258.7047 250.8006 321.4398 356.8519 414.6901 382.2038 290.1486 430.5853 466.3535
222.7339 205.2658 202.9778 204.707 207.7161 215.9618 213.6303 217.7272 224.2957 237.3142
199.0539 194.3322 234.32 232.8416 229.3074 220.4579 235.4208 255.7511 261.0125 247.5153
321.5426 300.4002 283.8565 285.133 285.7973 297.5855 280.2396 318.2613 305.3495 354.0487
287.6079 285 301.8206 320.1153 316.2773 293.3187 290.075 334.8177 293.7469 371.5811
234.8606 242.8118 272.9613 309.7688 317.4629 309.9976 454.1619 346.8311 330.3003 253.8644
283.8424 289.555 276.7693 299.8097 297.171 338.1665 332.0265 348.8399 333.36 362.0428
265.4731 276.2012 243.3647 254.6723 279.0244 284.1912 305.5248 331.5229 335.7469 377.299
241.6083 273.9472 254.4907 270.8021 251.4519 254.6362 245.4523 235.311 235.7541 237.2466
312.3666 313.8058 291.6112 346.1222 365.7324 391.8385 404.2601 416.6923 455.8643 458.9167
236.1032 230.3167 238.9256 254.922 250.7103 269.7744 281.5648 308.102 336.2806 351.6451
256.2968 243.4543 256.2046 255.5271 268.9165 329.7247 379.4445 362.9184 394.4872 389.0527
250.5265 300.0576 269.8939 280.5891 271.8274 304.6336 287.7466 266.5955 321.5418 347.5655
221.6771 298.1939 326.8785 346.8555 348.7402 352.8287 354.4266 360.4326 375.6406 388.5417
271.9235 268.4369 257.2424 277.6566 314.8222 317.2135 298.1353 348.1229 340.28 366.5131
225.264 234.5235 238.9008 240.473 267.5373 344.1937 281.1481 347.5855 365.163 372.2288
269.8804 272.4428 277.8989 281.7895 279.1705 284.512 259.2658 304.6306 350.7807 369.4692
269.4117 273.474 297.5968 310.6316 287.1726 329.6076 334.4818 343.2199 369.1417 364.1236
"""
# Yield of dyestuff in grams, six batches of five (Davies and Goldsmith 1972; lme4).
DYESTUFF = [
    [1545, 1440, 1440, 1520, 1580],
    [1540, 1555, 1490, 1560, 1495],
    [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545],
    [1595, 1630, 1515, 1635, 1625],
    [1520, 1455, 1450, 1480, 1445],
]
# Simulated by Box and Tiao (1973); lme4's Dyestuff2.
DYESTUFF_2 = [
    [7.298, 3.846, 2.434, 9.566, 7.990],
    [5.220, 6.556, 0.608, 11.788, -0.892],
    [0.110, 10.386, 13.434, 5.510, 8.166],
    [2.212, 4.852, 7.092, 9.288, 4.980],
    [0.282, 9.014, 4.458, 9.446, 7.198],
    [1.722, 4.782, 8.106, 0.758, 3.758],
]


@pytest.fixture(scope="module")
def sleep():
    y = np.array([[float(v) for v in line.split()] for line in SLEEP.split("\n") if line])
    design = np.stack([np.ones(10), np.arange(10.0)], axis=1)
    names = ["intercept", "days"]
    return ModelTable.from_arrays(np.ones_like(y), y, design, squares=y * y, names=names)


def one_way(rows):
    y = np.array(rows, dtype=float)
    n, total, square = np.full(len(y), y.shape[1]), y.sum(axis=1), (y * y).sum(axis=1)
    return ModelTable.from_arrays(
        n[:, None], total[:, None], [[1.0]], squares=square[:, None], names=["intercept"]
    )


def test_sleepstudy_intercept_as_lme4_prints_it(sleep):
    fit = linear_mixed(sleep)
    assert -2 * fit.log_likelihood == pytest.approx(1786.4651, abs=PRINTED)
    assert fit.coefficients.estimate == pytest.approx([251.4051, 10.4673], abs=PRINTED)
    assert fit.coefficients.standard_error == pytest.approx([9.7467, 0.8042], abs=PRINTED)
    # lmerTest: 22.81 and 161 degrees of freedom
    assert fit.coefficients.df == pytest.approx([22.81, 161.0], abs=5e-3)
    assert math.sqrt(fit.random_covariance[0, 0]) == pytest.approx(37.124, abs=5e-4)
    assert math.sqrt(fit.residual_variance) == pytest.approx(30.991, abs=5e-4)
    assert fit.status == "converged"
    assert INTERCEPT_ONLY in fit.notes


def test_sleepstudy_slope_as_lme4_prints_it(sleep):
    fit = linear_mixed(sleep, slope="days")
    assert -2 * fit.log_likelihood == pytest.approx(1743.6283, abs=PRINTED)
    assert fit.coefficients.standard_error == pytest.approx([6.825, 1.546], abs=5e-4)
    assert fit.coefficients.df == pytest.approx([17.0, 17.0], abs=1e-5)
    sd = np.sqrt(np.diag(fit.random_covariance))
    assert sd == pytest.approx([24.740, 5.922], abs=1e-3)
    assert fit.random_covariance[0, 1] / sd.prod() == pytest.approx(0.066, abs=5e-4)
    assert math.sqrt(fit.residual_variance) == pytest.approx(25.592, abs=5e-4)
    assert INTERCEPT_ONLY not in fit.notes
    ml = linear_mixed(sleep, slope="days", criterion="ML")
    assert -2 * ml.log_likelihood == pytest.approx(1751.9393444647, abs=1e-7)


def test_dyestuff_as_lme4_prints_it():
    reml, ml = (linear_mixed(one_way(DYESTUFF), criterion=c) for c in ("REML", "ML"))
    assert -2 * reml.log_likelihood == pytest.approx(319.6542768, abs=1e-6)
    assert -2 * ml.log_likelihood == pytest.approx(327.3270599, abs=1e-6)
    assert ml.random_covariance[0, 0] == pytest.approx(1388.33, abs=5e-3)
    assert reml.random_covariance[0, 0] == pytest.approx(1764.05, abs=5e-3)
    assert reml.residual_variance == pytest.approx(2451.25, abs=1e-6)
    assert reml.coefficients.standard_error == pytest.approx([19.38], abs=5e-3)
    assert reml.coefficients.df == pytest.approx([5.0], abs=1e-6)


def test_balanced_one_way_is_the_analysis_of_variance_in_fractions():
    rows = [[Fraction(v) for v in row] for row in DYESTUFF]
    means = [sum(row) / 5 for row in rows]
    within = sum((v - m) ** 2 for row, m in zip(rows, means, strict=True) for v in row) / 24
    between = 5 * sum((m - sum(means) / 6) ** 2 for m in means) / 5
    fit = linear_mixed(one_way(DYESTUFF))
    assert fit.residual_variance == pytest.approx(float(within), rel=ROUNDING)
    tau2 = float((between - within) / 5)
    assert fit.random_covariance[0, 0] == pytest.approx(tau2, rel=ROUNDING)
    assert fit.coefficients.covariance[0, 0] == pytest.approx(float(between / 30), rel=ROUNDING)


def test_dyestuff_2_is_singular_as_in_lme4():
    reml, ml = (linear_mixed(one_way(DYESTUFF_2), criterion=c) for c in ("REML", "ML"))
    assert -2 * ml.log_likelihood == pytest.approx(162.87303665, abs=1e-7)
    assert math.sqrt(ml.residual_variance) == pytest.approx(3.65323, abs=5e-6)
    assert -2 * reml.log_likelihood == pytest.approx(161.8283, abs=PRINTED)
    assert math.sqrt(reml.residual_variance) == pytest.approx(3.7157, abs=PRINTED)
    assert reml.status == "singular"
    assert reml.variance_ratio == 0.0
    assert "singular" in reml.notes[0]
    assert reml.df_method.startswith("between-within")


def test_h33_a_variance_of_zero_leaves_least_squares():
    patterns = [(0, 0), (0, 1), (1, 0), (1, 1)]
    n, total, square = np.zeros((3, 8, 4))
    for g in range(8):
        scores = (1, 3, 2, 2) if g % 2 == 0 else (4, 6, 5, 5)
        for i, score in enumerate(scores):
            k = patterns.index((g % 2, i % 2))
            n[g, k] += 1
            total[g, k] += score
            square[g, k] += score**2
    design = [[1, t, c] for t, c in patterns]
    fit = linear_mixed(ModelTable.from_arrays(n, total, design, squares=square))
    assert fit.status == "singular"
    assert fit.coefficients.estimate == pytest.approx([1.5, 3.0, 1.0], abs=1e-12)
    assert fit.random_covariance[0, 0] == 0.0


def study(seed, slope_sd=0.0):
    """12 scenarios × 5 checkpoints × 2 encodings × 20 repetitions; rows and table."""
    rng = np.random.default_rng(seed)
    cells = [(c, e) for c in range(5) for e in range(2)]
    design = np.array([[1, *(c == j for j in range(1, 5)), e] for c, e in cells], float)
    beta = np.array([0.4, -0.3, 0.2, 0.5, -0.8, 0.4])
    eta = (design * beta).sum(axis=1) + rng.normal(0, 0.8, 12)[:, None]
    eta = eta + rng.normal(0, slope_sd, 12)[:, None] * design[:, 5]
    total = rng.binomial(20, 1 / (1 + np.exp(-eta))).astype(float)
    y = np.concatenate([[1.0] * int(s) + [0.0] * int(20 - s) for s in total.ravel()])
    x = np.repeat(np.tile(design, (12, 1)), 20, axis=0)
    return ModelTable.from_arrays(np.full((12, 10), 20.0), total, design), y, x


def peer(y, x, reml, random=None):
    """statsmodels from its default optimum on, by Powell and BFGS, till it moves no more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.MixedLM(y, x, np.repeat(np.arange(12), 200), exog_re=random)
        fit = model.fit(reml=reml, method=["powell", "bfgs"], gtol=1e-12)
        for _ in range(1):
            fit = model.fit(reml=reml, method=["bfgs"], start_params=fit.params_object, gtol=1e-13)
    return fit


@pytest.mark.parametrize("reml", [True, False])
def test_statsmodels_at_a_tight_optimum(reml):
    table, y, x = study(3)
    ours = linear_mixed(table, criterion="REML" if reml else "ML")
    theirs = peer(y, x, reml)
    assert ours.coefficients.estimate == pytest.approx(theirs.fe_params, abs=PEER)
    assert ours.coefficients.standard_error == pytest.approx(theirs.bse_fe, abs=PEER)
    assert ours.residual_variance == pytest.approx(theirs.scale, rel=PEER)
    assert ours.log_likelihood == pytest.approx(theirs.llf, abs=PEER)
    # Its own likelihood, at our variance ratio, is no lower than at its own optimum.
    assert ours.log_likelihood >= theirs.llf - 1e-9


def test_statsmodels_with_a_random_slope():
    table, y, x = study(4, slope_sd=0.9)
    ours = linear_mixed(table, slope=table.design[:, 5])
    theirs = peer(y, x, True, x[:, [0, 5]])
    assert ours.coefficients.estimate == pytest.approx(theirs.fe_params, abs=PEER)
    assert ours.coefficients.standard_error == pytest.approx(theirs.bse_fe, abs=PEER)
    assert ours.random_covariance == pytest.approx(theirs.cov_re, rel=1e-4)
    assert ours.log_likelihood == pytest.approx(theirs.llf, abs=PEER)


def test_the_optimum_is_one_of_the_dense_likelihood():
    """Unbalanced, unequal scores: the marginal normal law of the rows, written out."""
    rng = np.random.default_rng(8)
    n = rng.integers(0, 5, (7, 4)).astype(float)
    rows = [(g, k) for g in range(7) for k in range(4) for _ in range(int(n[g, k]))]
    design = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], float)
    y = np.array([design[k].sum() + [2, -1, 0, 1, 3, -2, 1][g] + rng.normal() for g, k in rows])
    total, square = np.zeros((2, 7, 4))
    for (g, k), value in zip(rows, y, strict=True):
        total[g, k] += value
        square[g, k] += value**2
    fit = linear_mixed(ModelTable.from_arrays(n, total, design, squares=square))
    x, z = design[[k for _, k in rows]], np.eye(7)[[g for g, _ in rows]]

    def restricted(tau2, sigma2):
        v = tau2 * z @ z.T + sigma2 * np.eye(len(y))
        w = np.linalg.inv(v)
        beta = np.linalg.solve(x.T @ w @ x, x.T @ w @ y)
        r = y - x @ beta
        logs = np.linalg.slogdet(v)[1] + np.linalg.slogdet(x.T @ w @ x)[1]
        return -0.5 * (logs + r @ w @ r + (len(y) - 3) * math.log(2 * math.pi)), beta

    tau2, sigma2 = fit.random_covariance[0, 0], fit.residual_variance
    best, beta = restricted(tau2, sigma2)
    assert fit.log_likelihood == pytest.approx(best, abs=ROUNDING)
    assert fit.coefficients.estimate == pytest.approx(beta, abs=ROUNDING)
    for a, b in ((1.001, 1), (0.999, 1), (1, 1.001), (1, 0.999)):
        assert restricted(a * tau2, b * sigma2)[0] < best


def test_satterthwaite_is_exact_where_designs_are_balanced():
    rng = np.random.default_rng(2)
    half = np.arange(8) % 2
    y = rng.normal(size=(8, 2, 6)) + 2 * rng.normal(size=(8, 1, 1)) + half[:, None, None]
    n = np.zeros((8, 4))
    total, square = np.zeros((2, 8, 4))
    for g in range(8):
        k = [2 * half[g], 2 * half[g] + 1]
        n[g, k], total[g, k], square[g, k] = 6, y[g].sum(axis=1), (y[g] ** 2).sum(axis=1)
    design = np.array([[1, 0, -1], [1, 0, 1], [1, 1, -1], [1, 1, 1]], float)
    fit = linear_mixed(ModelTable.from_arrays(n, total, design, squares=square))
    # Between clusters: 8 means, two of them estimated; within: 96 - 8 - 1.
    assert fit.coefficients.df == pytest.approx([6.0, 6.0, 87.0], rel=1e-6)
    assert linear_mixed(
        ModelTable.from_arrays(n, total, design, squares=square), df="clusters"
    ).coefficients.df.tolist() == [6.0, 6.0, 7.0]


@pytest.mark.parametrize(
    ("n", "total", "square", "why"),
    [
        ([[5.0]], [[2.0]], [[2.0]], "one cluster"),
        ([[1.0]] * 4, [[1.0], [0.0], [1.0], [1.0]], None, "no data tell the two variances apart"),
        ([[2.0]] * 4, [[2.0], [0.0], [2.0], [0.0]], None, "no spread within clusters"),
        ([[2.0]] * 4, [[2.0]] * 4, None, "fits every trial exactly"),
    ],
)
def test_what_cannot_be_estimated_is_said(n, total, square, why):
    fit = linear_mixed(ModelTable.from_arrays(n, total, [[1.0]], squares=square))
    assert fit.status == "not-estimable"
    assert why in fit.notes[0]
    assert np.isnan(fit.coefficients.estimate).all()
    assert fit.to_dict()["coefficients"][0]["estimate"] is None


def test_scores_far_from_zero_lose_no_digits(sleep):
    shift = 1e6
    y = sleep.totals + shift
    moved = ModelTable.from_arrays(sleep.n, y, sleep.design, squares=y * y)
    a, b = linear_mixed(sleep), linear_mixed(moved)
    assert b.coefficients.estimate[1] == pytest.approx(a.coefficients.estimate[1], rel=1e-9)
    assert b.random_covariance == pytest.approx(a.random_covariance, rel=1e-6)


def test_a_slope_that_is_constant_is_refused(sleep):
    with pytest.raises(InputError, match="slope must be a contrast that differs"):
        linear_mixed(sleep, slope="intercept")
    with pytest.raises(InputError, match="column must be one of intercept, days"):
        linear_mixed(sleep, slope="day")


def test_degrees_of_freedom_that_say_nothing_are_said() -> None:
    # One cluster has most trials, and Satterthwaite's degrees of freedom come to 0.2.
    n = [[20, 3], [5, 5], [1, 9], [200, 150], [4, 4], [7, 0], [0, 6], [3, 3], [10, 12]]
    total = [[18, 3], [0, 1], [0, 5], [80, 80], [3, 3], [2, 0], [0, 3], [1, 2], [4, 2]]
    table = ModelTable.from_arrays(n, total, [[1, 0], [1, 1]])
    fit = linear_mixed(table, slope="x1")
    assert fit.coefficients.df[1] < 1.0
    assert any("degrees of freedom come to 0.2" in note for note in fit.notes)
    again = linear_mixed(table, slope="x1", df="clusters")
    assert again.coefficients.df.tolist() == [8.0, 8.0]
    assert again.notes == ()
