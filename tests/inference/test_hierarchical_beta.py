"""The hierarchical Beta-binomial posterior against print and integrations of another kind."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.bayes.hierarchical_beta import hierarchical_beta

#: What issue of independent integration asks for; both sides are exact to about 1e-11.
CLOSE = 1e-8
#: Tumours and rats of 70 groups and of the current one, Gelman et al., table 5.1.
TUMOURS = (
    [0] * 14 + [1] * 8 + [2] * 9 + [1, 5, 2, 5, 3, 2, 7, 7, 3, 3, 2, 9, 10] + [4] * 7
    + [10, 4, 4, 4, 5, 11, 12, 5, 5, 6, 5] + [6] * 4 + [16, 15, 15, 9, 4]
)  # fmt: skip
RATS = (
    [20] * 7 + [19] * 4 + [18, 18, 17] + [20] * 4 + [19, 19, 18, 18] + [25, 24, 23] + [20] * 6
    + [10, 49, 19, 46, 27, 17, 49, 47, 20, 20, 13, 48, 50] + [20] * 7
    + [48, 19, 19, 19, 22, 46, 49, 20, 20, 23, 19, 22, 20, 20, 20, 52, 46, 47, 24, 14]
)  # fmt: skip


def square(hits, size, icc_prior=(1.0, 1.0), nodes=400):
    """Integrate over (mean, ICC) on the unit square, by one Gauss rule, betaln from SciPy.

    The ICC is s² (3 - 2s), so that a kink of the prior at its ends does no harm.
    """
    x, w = np.polynomial.legendre.leggauss(nodes)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    m, icc, jacobian = x[:, None], (x**2 * (3 - 2 * x))[None, :], 6.0 * x * (1.0 - x)
    k = 1.0 / icc - 1.0
    a, b = m * k, (1.0 - m) * k
    log_density = np.zeros(a.shape)
    for y, n in zip(hits, size, strict=True):
        log_density = log_density + special.betaln(a + y, b + n - y) - special.betaln(a, b)
    density = np.exp(log_density) * stats.beta(*icc_prior).pdf(icc) * w[:, None] * (w * jacobian)
    return density, m, icc, a, b


def test_rat_tumours_as_printed():
    """Section 5.3: with p(a, b) ~ (a + b)^(-5/2) the posterior means of a and b are 2.4 and 14.3.

    They are printed for a grid, log(a + b) up to 5; over all values both means are infinite.

    The data are checked by what is printed of the first 70 groups: mean .136, sd .103.
    """
    rates = np.array(TUMOURS[:70]) / np.array(RATS[:70])
    assert (round(rates.mean(), 3), round(rates.std(ddof=1), 3)) == (0.136, 0.103)
    found = hierarchical_beta(Totals.from_arrays(TUMOURS, RATS), icc_prior="gelman")
    draws = found.fit.draw(np.random.default_rng(1).random((200, 73)))
    assert draws["cluster_rate"].shape == (200, 71)
    grid = found.fit.grid
    m = special.expit(grid.u.nodes.ravel())[:, None]
    k = np.exp(-grid.v.nodes.ravel())
    mass = grid.mass * (np.log(k) < 5.0)
    assert mass.sum() > 0.9999
    assert round(float((mass * m * k).sum() / mass.sum()), 1) == 2.4
    assert round(float((mass * (1 - m) * k).sum() / mass.sum()), 1) == 14.3
    assert found.bayes_factor is None
    assert found.log_evidence is None
    assert not any("few clusters" in note for note in found.notes)


def test_six_clusters_by_a_gauss_rule_on_the_square():
    hits, size = [9, 5, 10, 7, 8, 2], [10] * 6
    density, m, icc, a, b = square(hits, size)
    total = density.sum()
    found = hierarchical_beta(Totals.from_arrays(hits, size))
    assert found.log_evidence == pytest.approx(math.log(total), abs=CLOSE)
    assert found.rate.mean == pytest.approx((density * m).sum() / total, abs=CLOSE)
    assert found.spread.mean == pytest.approx((density * icc).sum() / total, abs=CLOSE)
    spread = np.sqrt((density * (m - found.rate.mean) ** 2).sum() / total)
    assert found.rate.sd == pytest.approx(spread, abs=CLOSE)
    means = [(density * (a + y) / (a + b + 10)).sum() / total for y in hits]
    assert found.cluster_mean == pytest.approx(means, abs=CLOSE)
    cluster = found.cluster("5")
    for x in (0.1, 0.3, 0.6):
        exact = (density * special.betainc(a + 2, b + 8, x)).sum() / total
        assert cluster.cdf(x) == pytest.approx(exact, abs=CLOSE)
    assert cluster.cdf(cluster.low) == pytest.approx(0.025, abs=CLOSE)
    assert (found.computation, found.guarantee) == ("quadrature", "bayesian")


def test_unequal_clusters_by_dblquad():
    """Adaptive integration of SciPy, over the mean and the ICC, of the mean rate and its law."""
    hits, size = [3, 0, 6], [4, 2, 9]

    def density(icc, m):
        k = 1.0 / icc - 1.0
        a, b = m * k, (1.0 - m) * k
        value = 9.0 * (1.0 - icc) ** 8  # Beta(1, 9)
        for y, n in zip(hits, size, strict=True):
            value *= np.exp(special.betaln(a + y, b + n - y) - special.betaln(a, b))
        return value

    tight = {"epsabs": 1e-16, "epsrel": 1e-9}
    total = integrate.dblquad(density, 0, 1, 1e-12, 1, **tight)[0]
    below = integrate.dblquad(density, 0, 0.5, 1e-12, 1, **tight)[0]
    found = hierarchical_beta(Totals.from_arrays(hits, size), icc_prior=(1, 9))
    assert found.log_evidence == pytest.approx(math.log(total), abs=CLOSE)
    assert found.rate.cdf(0.5) == pytest.approx(below / total, abs=CLOSE)


def test_single_trials_say_nothing_of_the_icc():
    """One trial a cluster: the mean is conjugate, the ICC keeps its prior."""
    found = hierarchical_beta(
        Totals.from_arrays([1, 0, 1, 1], [1] * 4), prior=(2, 1), icc_prior=(2, 5)
    )
    mean, icc = stats.beta(5, 2), stats.beta(2, 5)
    assert (found.rate.low, found.rate.high) == pytest.approx(mean.ppf([0.025, 0.975]), abs=CLOSE)
    assert (found.spread.low, found.spread.high) == pytest.approx(
        icc.ppf([0.025, 0.975]), abs=CLOSE
    )
    assert found.log_evidence == pytest.approx(
        special.betaln(5, 2) - special.betaln(2, 1), abs=CLOSE
    )
    assert found.bayes_factor.log_bf10 == pytest.approx(0.0, abs=CLOSE)
    assert found.notes[0].startswith("one trial a cluster says nothing of the ICC")


def test_what_only_priors_say_is_said():
    """Sixty failures in six clusters speak for clusters that differ, by the prior on the ICC."""
    found = hierarchical_beta(Totals.from_arrays([0] * 6, [10] * 6))
    assert found.bayes_factor.bf10 > 3.0
    assert found.notes[0].startswith("all trials fail: what is said of the ICC and the Bayes")
    found = hierarchical_beta(Totals.from_arrays([10] * 6, [10] * 6))
    assert found.notes[0].startswith("all trials succeed")
    one = hierarchical_beta(Totals.from_arrays([3], [10]))
    assert one.spread.mean == pytest.approx(0.326, abs=1e-3)  # not the mean of its prior, .5
    assert one.notes[0] == "one cluster: what is said of the ICC and the Bayes factor is of priors"
    many = hierarchical_beta(Totals.from_arrays([0, 1] * 20, [1] * 40))
    assert "one trial a cluster" in many.notes[0]


def test_no_icc_is_the_conjugate_posterior():
    found = hierarchical_beta(
        Totals.from_arrays([7, 6, 8], [10] * 3), icc_prior=(1, 1e6), other_icc_prior=None
    )
    law = stats.beta(22, 10)
    assert found.rate.mean == pytest.approx(law.mean(), abs=1e-5)
    assert (found.rate.low, found.rate.high) == pytest.approx(law.ppf([0.025, 0.975]), abs=1e-5)
    assert found.cluster_mean == pytest.approx([law.mean()] * 3, abs=1e-4)
    cluster = found.cluster(0)
    assert cluster.mean == pytest.approx(found.cluster_mean[0], abs=CLOSE)
    assert cluster.sd == pytest.approx(found.cluster_sd[0], abs=CLOSE)


@pytest.mark.parametrize(
    ("hits", "size"), [([0, 0, 0], [5] * 3), ([1, 0], [1, 1]), ([1, 200], [100, 200])]
)
def test_a_clusters_law_has_the_moments_of_its_closed_form(hits, size):
    """Also where rates may be all or nothing, and a part of the law is 0 to all digits."""
    found = hierarchical_beta(Totals.from_arrays(hits, size))
    law = found.cluster(0)
    assert law.mean == pytest.approx(found.cluster_mean[0], abs=CLOSE)
    assert law.sd == pytest.approx(found.cluster_sd[0], abs=CLOSE)


def test_few_clusters_show_both_priors():
    found = hierarchical_beta(Totals.from_arrays([3, 1], [4, 4]))
    text = " ".join(found.notes)
    assert "few clusters (2): the prior on the ICC matters" in text
    assert "under ICC Beta(1, 9) instead: rate" in text
    other = hierarchical_beta(Totals.from_arrays([3, 1], [4, 4]), icc_prior=(1, 9))
    assert found.others[0].rate_low == pytest.approx(other.rate.low, abs=CLOSE)
    assert found.others[0].rate_high < found.rate.high
    one = hierarchical_beta(Totals.from_arrays([3], [4]))
    assert "one cluster" in one.notes[0]


def test_clusters_without_trials_are_no_clusters():
    with_empty = hierarchical_beta(Totals.from_arrays([3, 0, 1], [4, 0, 4]))
    assert with_empty.clusters == ("0", "2")
    without = hierarchical_beta(Totals.from_arrays([3, 1], [4, 4]))
    assert with_empty.rate.low == without.rate.low
    assert with_empty.to_dict()["schema"] == "simtrack.hierarchical/1"


def test_refusals():
    scores = Totals.from_arrays([1.5, 0.5], [2, 2], square=[1.2, 0.3])
    with pytest.raises(InputError, match=r"counts of 0/1 outcomes, got scores"):
        hierarchical_beta(scores)
    with pytest.raises(InputError, match="a proper prior where no cluster has both outcomes"):
        hierarchical_beta(Totals.from_arrays([2, 0], [2, 2]), icc_prior="gelman")
    with pytest.raises(InputError, match="cluster must be a label of the totals"):
        hierarchical_beta(Totals.from_arrays([2, 0], [3, 2])).cluster("nobody")
