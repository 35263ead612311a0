"""Agreement, ranks, effect sizes, posteriors and sequences asked of a table by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from simtrack.analysis import estimate
from simtrack.analysis import test as compare_levels
from simtrack.analysis.monitor import monitor
from simtrack.errors import InputError
from simtrack.records import Records

#: Two ways to the same double.
CLOSE = 1e-10
GRADES = [(1, 1), (2, 3), (3, 3), (1, 2), (3, 1), (2, 2), (1, 1), (3, 3), (2, 1), (3, 2), (1, 3),
          (2, 2)]  # fmt: skip


def of_pairs(pairs, scenario=None):
    columns = {
        "unit": [f"q{k}" for k in range(len(pairs))] * 2,
        "arm": ["a"] * len(pairs) + ["b"] * len(pairs),
        "value": [p[0] for p in pairs] + [p[1] for p in pairs],
    }
    if scenario is not None:
        columns["cluster"] = list(scenario) * 2
    return Records.from_columns(columns)


def asked(records, method, **more):
    (row,) = compare_levels(records, "a", "b", method=method, options=more).rows
    return row.answer


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_weighted_kappa_of_two_judges_is_that_of_statsmodels(weights):
    from statsmodels.stats.inter_rater import cohens_kappa

    table = np.zeros((3, 3))
    for first, second in GRADES:
        table[first - 1, second - 1] += 1
    theirs = cohens_kappa(table, wt=weights)
    found = asked(of_pairs(GRADES), "cohen-kappa", weights=weights)
    assert found.estimate == pytest.approx(theirs.kappa, abs=CLOSE)
    # ours with units as clusters: theirs times n/(n-1)
    n = len(GRADES)
    assert found.extra["se"] == pytest.approx(theirs.std_kappa * math.sqrt(n / (n - 1)), rel=1e-6)
    assert (found.n, found.clusters) == (12, 12)


def test_fleiss_kappa_of_two_judges_is_that_of_statsmodels():
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    theirs = fleiss_kappa(aggregate_raters(np.array(GRADES))[0])
    assert asked(of_pairs(GRADES), "fleiss-kappa").estimate == pytest.approx(theirs, abs=CLOSE)


def test_percent_agreement_counts_by_hand_and_keeps_clusters_together():
    agree = sum(first == second for first, second in GRADES) / len(GRADES)
    apart = asked(of_pairs(GRADES), "percent-agreement")
    together = asked(of_pairs(GRADES, ["s1", "s2", "s3", "s4"] * 3), "percent-agreement")
    assert apart.estimate == together.estimate == pytest.approx(agree)
    assert (apart.clusters, together.clusters) == (12, 4)
    assert together.high - together.low > apart.high - apart.low


def test_a_unit_that_one_judge_did_not_rate_is_left_out_and_counted():
    whole = of_pairs(GRADES)
    part = whole.take(np.arange(len(whole)) != 3)
    (row,) = compare_levels(part, "a", "b", method="cohen-kappa").rows
    rest = GRADES[:3] + GRADES[4:]
    assert row.answer.estimate == asked(of_pairs(rest), "cohen-kappa").estimate
    assert (row.trials_a, row.unpaired) == (11, 1)


def test_one_label_has_no_kappa_and_says_why():
    found = asked(of_pairs([(1, 1)] * 8), "cohen-kappa")
    assert found.estimate is None
    assert found.refused.startswith("not defined: both raters use one label only")


def scores(k):
    """Give six clusters of three trials an arm whose mean scores differ."""
    return np.array([[0.1, 0.5, 0.9, 0.3, 0.7, 0.2], [0.2, 0.4, 0.8, 0.6, 0.5, 0.1]])[k]


def of_scores(apart=False):
    rows = {"unit": [], "arm": [], "value": []}
    for k, arm in enumerate("ab"):
        for g, mean in enumerate(scores(k)):
            for step in (-0.05, 0.0, 0.05):
                rows["unit"].append(f"{arm if apart else ''}q{g}")
                rows["arm"].append(arm)
                rows["value"].append(round(mean + step, 6))
    return Records.from_columns(rows)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_kendall_tau_of_cluster_means_is_that_of_scipy(side):
    (row,) = compare_levels(of_scores(), "a", "b", method="kendall-tau", alternative=side).rows
    theirs = stats.kendalltau(scores(0), scores(1), method="exact", alternative=side)
    assert row.answer.estimate == pytest.approx(theirs.statistic, abs=CLOSE)
    assert row.answer.pvalue == pytest.approx(theirs.pvalue, abs=CLOSE)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_auroc_of_cluster_means_is_mann_whitney_of_scipy(side):
    records = of_scores(apart=True)
    (row,) = compare_levels(records, "a", "b", method="auroc", alternative=side).rows
    theirs = stats.mannwhitneyu(scores(0), scores(1), alternative=side)  # ties count half
    assert row.answer.estimate == pytest.approx(theirs.statistic / 36.0, abs=CLOSE)
    assert 0.0 < row.answer.low < row.answer.estimate < row.answer.high < 1.0
    permuted = stats.permutation_test(
        (scores(0), scores(1)), lambda x, y: stats.mannwhitneyu(x, y).statistic, alternative=side,
        n_resamples=np.inf, permutation_type="independent",
    )  # fmt: skip
    assert row.answer.pvalue == pytest.approx(permuted.pvalue, abs=1e-6)


def test_effect_sizes_by_hand():
    a, b = scores(0), scores(1)
    pooled = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2.0)
    apart = asked(of_scores(apart=True), "cohen-d")
    assert apart.estimate == pytest.approx((a.mean() - b.mean()) / pooled, abs=CLOSE)
    paired = asked(of_scores(), "cohen-d-paired")
    gaps = a - b
    assert paired.estimate == pytest.approx(gaps.mean() / gaps.std(ddof=1), abs=CLOSE)
    pairs = [(1, 0)] * 3 + [(1, 1)] * 5 + [(0, 0)] * 2
    h = asked(of_pairs(pairs), "cohen-h")
    wanted = 2.0 * (math.asin(math.sqrt(0.8)) - math.asin(math.sqrt(0.5)))
    assert h.estimate == pytest.approx(wanted, abs=CLOSE)


ROWS = Records.from_columns({"unit": [f"q{k}" for k in range(20)], "value": [1] * 14 + [0] * 6})


def test_a_rate_has_its_beta_posterior():
    (row,) = estimate(ROWS, method="beta-binomial", options={"prior": (0.5, 0.5)}).rows
    law = stats.beta(14.5, 6.5)
    assert (row.low, row.high) == pytest.approx(law.ppf([0.025, 0.975]).tolist(), abs=1e-9)
    assert row.extra["posterior_mean"] == pytest.approx(law.mean(), abs=CLOSE)
    assert row.rate == 0.7


def test_a_rate_has_its_bayes_factor_and_a_side():
    (row,) = estimate(ROWS, method="bayes-factor-rate", options={"null": 0.5}).rows
    wanted = betaln(15, 7) - betaln(1, 1) - 20 * math.log(0.5)
    assert row.extra["log_bf10"] == pytest.approx(wanted, abs=1e-9)
    options = {"null": 0.5, "alternative": "greater"}
    (more,) = estimate(ROWS, method="bayes-factor-rate", options=options).rows
    above = stats.beta(15, 7).sf(0.5) / 0.5
    assert more.extra["log_bf10"] == pytest.approx(wanted + math.log(above), abs=1e-9)


def test_two_rates_have_a_posterior_and_a_bayes_factor():
    pairs = [(1, 0)] * 6 + [(0, 0)] * 4
    found = asked(of_pairs(pairs), "bayes-factor-difference")
    assert found.extra["bf10"] == pytest.approx(32.0331, abs=5e-5)  # Gunel and Dickey (1974)
    (row,) = compare_levels(
        of_pairs(pairs), "a", "b", method="bayes-factor-difference", alternative="less"
    ).rows
    assert row.answer.extra["bf10"] < 1.0
    law = asked(of_pairs(pairs), "beta-difference")
    grid = (np.arange(4000) + 0.5) / 4000.0
    weight = stats.beta(7, 5).pdf(grid) / 4000.0
    above = float((weight * stats.beta(1, 11).cdf(grid)).sum())
    assert law.extra["probability_above_0"] == pytest.approx(above, abs=1e-6)


def test_the_exact_binomial_test_is_that_of_scipy():
    (row,) = estimate(ROWS, method="binomial-exact", options={"null": 0.5}).rows
    theirs = stats.binomtest(14, 20, 0.5)
    assert row.extra["pvalue"] == pytest.approx(theirs.pvalue, abs=CLOSE)


def test_options_that_a_method_does_not_take_are_refused_by_name():
    with pytest.raises(InputError, match=r"option must be one that wilson takes \(side\)"):
        estimate(ROWS, method="wilson", options={"prior": (1, 1)})
    with pytest.raises(InputError, match="option must be one that katz takes"):
        compare_levels(of_pairs([(1, 0)] * 9), "a", "b", method="katz", options={"prior": 1})
    with pytest.raises(InputError, match="option must be one that betting-sequence takes"):
        monitor(ROWS, method="betting-sequence", options={"tuned_at": 50})


def test_a_sequence_by_a_bound_has_the_width_of_its_formula():
    # Howard et al. (2021), section 3.2: sqrt((v + rho) log((v + rho) / (rho alpha^2))), v = n/4
    found = monitor(ROWS, method="normal-mixture-bound", options={"tuned_at": 40}).sequence
    spread = -2.0 * math.log(0.05)
    rho = 10.0 / (spread + math.log1p(spread))
    v = 20 / 4.0
    half = math.sqrt((v + rho) * math.log((v + rho) / (rho * 0.05**2))) / 20
    assert found.low[-1] == pytest.approx(max(0.7 - half, found.low[:-1].max()), abs=CLOSE)
    assert len(found) == 20


def test_tuned_and_plain_sequences_hold_the_same_trials():
    from simtrack.inference import bernoulli_interval

    found = monitor(ROWS, method="confidence-sequence-tuned", options={"tuned_at": 25}).sequence
    ends = [bernoulli_interval(min(k, 14), k, tuned_at=25) for k in range(1, 21)]
    assert found.low[-1] == max(low for low, _ in ends)
    assert found.high[-1] == min(high for _, high in ends)
    plain = monitor(ROWS).sequence
    assert not np.array_equal(plain.low, found.low)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["normal-mixture-bound", "stitched-bound",
                                    "confidence-sequence-tuned"])  # fmt: skip
def test_sequences_err_at_any_look_no_more_often_than_alpha(method):
    # 400 streams of 150 trials at .3; alpha = .2: standard error .02
    rng = np.random.default_rng(8)
    units = [f"q{k}" for k in range(150)]
    missed = 0
    for _ in range(400):
        rows = Records.from_columns({"unit": units, "value": rng.binomial(1, 0.3, 150).tolist()})
        found = monitor(rows, method=method, alpha=0.2, options={"tuned_at": 50}).sequence
        missed += bool(((found.low > 0.3) | (found.high < 0.3)).any())
    assert missed / 400 < 0.2 + 0.06


def test_sequences_of_differences_take_bounded_steps_alone():
    with pytest.raises(InputError, match="single trials of 0 or 1 for confidence-sequence"):
        monitor(of_pairs([(1, 0)] * 9), levels=("a", "b"), method="confidence-sequence")
    found = monitor(of_pairs([(1, 0)] * 9), levels=("a", "b"), method="stitched-bound").sequence
    assert found.mean[-1] == 1.0
