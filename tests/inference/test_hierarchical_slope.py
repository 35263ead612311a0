"""The paired contrast with cluster-level effects, by other integrations and at its limits."""

import math

import numpy as np
import pytest
from scipy import special, stats

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.bayes.hierarchical_logit import hierarchical_logit
from simtrack.inference.bayes.hierarchical_slope import hierarchical_slope

#: What is left out of four dimensions for speed weighs about 1e-7.
FOUR_DIMENSIONS = 1e-6
HITS, SIZE = [[9, 6], [5, 3], [10, 8], [7, 7]], [[10, 10]] * 4


def gauss(low, high, nodes):
    x, w = np.polynomial.legendre.leggauss(nodes)
    return low + 0.5 * (high - low) * (x + 1.0), 0.5 * (high - low) * w


def test_one_cluster_by_a_gauss_rule_in_its_two_logits():
    """One cluster: given both its logits, (m, d) integrate in one dimension each with (t, o).

    a is m + t z: its law is the average over t of a normal law convolved with the prior of m; e is
    Normal(0, 1 + o²) in the same way. So the evidence is a double integral over (a, e).
    """
    x, wx = gauss(-16.0, 16.0, 200)
    t, wt = gauss(0.0, 7.0, 60)
    z, wz = np.polynomial.hermite_e.hermegauss(60)
    wz = wz / wz.sum()
    half = stats.halfnorm.pdf(t) * wt
    level = np.einsum("t,atz,z->a", half, stats.logistic.pdf(x[:, None, None] - t[:, None] * z), wz)
    o, wo = gauss(0.0, 3.5, 60)
    effect = np.einsum(
        "o,eo->e",
        stats.halfnorm(scale=0.5).pdf(o) * wo,
        stats.norm.pdf(x[:, None], 0.0, np.sqrt(1.0 + o**2)),
    )
    one, two = x[:, None] + 0.5 * x, x[:, None] - 0.5 * x
    log_likelihood = 7 * special.log_expit(one) + 3 * special.log_expit(-one)
    log_likelihood = log_likelihood + 4 * special.log_expit(two) + 6 * special.log_expit(-two)
    total = np.einsum("ae,a,e->", np.exp(log_likelihood), level * wx, effect * wx)
    found = hierarchical_slope(Totals.from_arrays([[7, 4]], [[10, 10]]), other_slope_scale=None)
    assert found.log_evidence == pytest.approx(math.log(total), abs=FOUR_DIMENSIONS)


def test_without_spread_it_is_a_logistic_regression():
    """Both sds near 0: (m, d) by a Gauss rule; first minus second of the two rates."""
    m, wm = gauss(-9.0, 9.0, 200)
    d, wd = gauss(-7.0, 7.0, 200)
    one, two = m[:, None] + 0.5 * d, m[:, None] - 0.5 * d
    log_density = stats.logistic.logpdf(m)[:, None] + stats.norm.logpdf(d)
    for eta, column in ((one, 0), (two, 1)):
        y = sum(row[column] for row in HITS)
        log_density = log_density + y * special.log_expit(eta) + (40 - y) * special.log_expit(-eta)
    density = np.exp(log_density) * wm[:, None] * wd
    density /= density.sum()
    found = hierarchical_slope(
        Totals.from_arrays(HITS, SIZE), sd_scale=0.01, slope_scale=0.01, other_slope_scale=None
    )
    gap = special.expit(one) - special.expit(two)
    assert found.difference.mean == pytest.approx((density * gap).sum(), abs=1e-4)
    assert found.rate_first == pytest.approx((density * special.expit(one)).sum(), abs=1e-4)
    assert found.contrast.mean == pytest.approx((density * d).sum(), abs=1e-3)
    assert found.contrast.cdf(0.0) == pytest.approx(density[:, d < 0.0].sum(), abs=5e-3)


@pytest.mark.slow
def test_without_a_contrast_it_is_the_pooled_logit_model():
    found = hierarchical_slope(
        Totals.from_arrays(HITS, SIZE), contrast_sd=0.01, slope_scale=0.01, other_slope_scale=None
    )
    pooled = hierarchical_logit(
        Totals.from_arrays(np.sum(HITS, axis=1), np.sum(SIZE, axis=1)), other_sd_scale=None
    )
    assert found.sd_level.mean == pytest.approx(pooled.spread.mean, abs=1e-3)
    assert found.rate_first == pytest.approx(pooled.rate.mean, abs=2e-3)
    assert found.log_evidence == pytest.approx(pooled.log_evidence, abs=1e-3)
    assert found.bayes_factor.log_bf10 == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
def test_conditions_turned_round_are_the_mirror():
    totals = Totals.from_arrays(HITS, SIZE)
    there = hierarchical_slope(totals)
    back = hierarchical_slope(totals, first=1, second=0, other_slope_scale=None)
    assert there.difference.low == pytest.approx(-back.difference.high, abs=FOUR_DIMENSIONS)
    assert there.contrast.mean == pytest.approx(-back.contrast.mean, abs=FOUR_DIMENSIONS)
    assert there.difference.mean == pytest.approx(
        there.rate_first - there.rate_second, abs=FOUR_DIMENSIONS
    )
    # Savage and Dickey: the densities at no contrast, after and before the data.
    ratio = there.contrast.density(0.0) / stats.norm.pdf(0.0)
    assert there.bayes_factor.bf01 == pytest.approx(ratio, rel=1e-9)
    assert "few clusters with both conditions (4)" in there.notes[0]
    assert len(there.others) == 1
    assert "under sd half-normal(1) instead" in there.notes[-1]


@pytest.mark.slow
def test_finer_panels_change_nothing():
    """The numbers of a run whose panels were halved until their last terms are below 3e-5."""
    found = hierarchical_slope(Totals.from_arrays(HITS, SIZE), other_slope_scale=None)
    assert found.log_evidence == pytest.approx(-49.25378326, abs=FOUR_DIMENSIONS)
    assert found.difference.mean == pytest.approx(0.12924062890, abs=FOUR_DIMENSIONS)
    assert found.difference.sd == pytest.approx(0.08920452857, abs=FOUR_DIMENSIONS)
    assert found.difference.low == pytest.approx(-0.04371873, abs=FOUR_DIMENSIONS)


def test_a_cluster_may_lack_a_condition():
    totals = Totals.from_arrays([[3, 0], [0, 1], [2, 2]], [[4, 0], [0, 4], [4, 4]])
    found = hierarchical_slope(totals, other_slope_scale=None)
    assert (found.clusters, found.shared) == (3, 1)
    assert found.difference.low < found.difference.mean < found.difference.high
    assert found.to_dict()["schema"] == "simtrack.hierarchical-slope/1"


def test_refusals():
    with pytest.raises(InputError, match="trials in both conditions"):
        hierarchical_slope(Totals.from_arrays([[3, 0]], [[4, 0]]))
    with pytest.raises(InputError, match="slope_scale must be a finite number from"):
        hierarchical_slope(Totals.from_arrays(HITS, SIZE), slope_scale=0.0)


def test_an_observed_difference_that_the_prior_pulls_in_is_said():
    found = hierarchical_slope(
        Totals.from_arrays([[8, 0]] * 4, [[8, 8]] * 4), other_slope_scale=None
    )
    assert found.difference.high < 1.0
    assert any(
        note.startswith("the observed difference, 1.0000, is outside") for note in found.notes
    )
    usual = hierarchical_slope(Totals.from_arrays([[9, 6], [5, 3]], [[10, 10]] * 2),
                               other_slope_scale=None)  # fmt: skip
    assert not any("outside the interval" in note for note in usual.notes)
