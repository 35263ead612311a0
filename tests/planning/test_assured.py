"""Assurance and predictive power: averaged over agents, in the intended direction."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

from simtrack.agents import ClusteredAgent, PairedAgent, fit_clustered, fit_paired
from simtrack.analysis import analyses
from simtrack.counts import Counts, Totals
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.planning import (
    Differs,
    Equivalent,
    Question,
    answer,
    assurance,
    fit_pilot,
    pilot_cautions,
    power,
    run_block,
)

ARM = ("rate", "arm", "new", "old")
PAIRED = Design(6, 4, {"arm": ("new", "old")})
FLIP = analyses.sign_flip(*ARM)
#: Sums of some thousand products of doubles.
CLOSE = 1e-11


def table(passes, trials, conditions=None):
    """Count passes of clusters of so many trials, one row a cluster (and arm)."""
    cells = [[n - k, k] for k, n in zip(passes, trials, strict=True)]
    conditions = conditions or {}
    rows = len(cells) // (2 if conditions else 1)
    each = 2 if conditions else 1
    names = [f"c{k}" for k in range(rows) for _ in range(each)]
    return Counts.from_cells(cells, outcomes=("FAIL", "PASS"), cluster=names, conditions=conditions)


def pairs(first, second, trials):
    """Count passes of clusters in two arms."""
    both = [k for two in zip(first, second, strict=True) for k in two]
    return table(both, [trials] * len(both), {"arm": ["new", "old"] * len(first)})


# A two-sided sign-flip p is twice the one-sided one, as the law of the sum is symmetric.
def test_assurance_counts_the_intended_direction_alone():
    agents = [PairedAgent(0.7, 0.1, effect=e) for e in (0.2, 0.5, 1.0, 3.0)]
    found = assurance(PAIRED, agents, FLIP, alpha=0.1)
    greater, less = (
        np.mean([power(PAIRED, a, FLIP, alpha=0.05, alternative=side).power for a in agents])
        for side in ("greater", "less")
    )
    assert (found.direction, found.assurance) == ("greater", found.greater)
    assert found.greater == pytest.approx(greater, abs=CLOSE)
    assert found.less == pytest.approx(less, abs=CLOSE)
    assert found.less > 0.0
    other = assurance(PAIRED, agents, FLIP, alpha=0.1, direction="less")
    assert other.assurance == found.less
    one = assurance(PAIRED, agents, FLIP, alpha=0.05, alternative="less")
    assert (one.direction, one.greater) == ("less", 0.0)
    assert one.assurance == pytest.approx(less, abs=CLOSE)
    assert json.dumps(found.to_dict())


def test_assurance_is_the_mean_over_agents_of_what_is_exact_or_drawn():
    agents = [PairedAgent(0.7, 0.1, effect=e) for e in (0.5, 1.0, 2.0, 3.0)]
    found = assurance(PAIRED, agents, FLIP)
    powers = [power(PAIRED, a, FLIP, alternative="greater", alpha=0.025).power for a in agents]
    assert found.assurance == pytest.approx(np.mean(powers), abs=CLOSE)
    assert found.mcse == pytest.approx(np.std(powers, ddof=1) / 2.0, abs=CLOSE)
    assert found.notes == ("the power of 4 of 4 agents is exact",)
    analysis = analyses.paired_cluster_t(*ARM)
    drawn = assurance(PAIRED, agents, analysis, draws_each=500, n_agents=4)
    shares = []
    for k, agent in enumerate(agents):
        block = run_block(Question(PAIRED, agent, analysis, block=500, max_draws=2000), k)
        shares.append(block.above / block.n)
    assert drawn.assurance == pytest.approx(np.mean(shares), abs=CLOSE)
    assert drawn.failure_rate > 0.0  # studies without an answer are misses


def test_assurance_over_a_fit_draws_its_agents():
    class Fit:
        def draw(self, seed, i):
            return PairedAgent(0.7, 0.1, effect=1.0 + 0.1 * ((seed + i) % 5))

    found = assurance(PAIRED, Fit(), FLIP, n_agents=5, seed=3, alternative="greater")
    powers = [power(PAIRED, PairedAgent(0.7, 0.1, effect=1.0 + 0.1 * k), FLIP,
                    alternative="greater").power for k in range(5)]  # fmt: skip
    assert found.assurance == pytest.approx(np.mean(powers), abs=CLOSE)
    with pytest.raises(InputError, match="agents must be at least two agents"):
        assurance(PAIRED, [PairedAgent(0.7)], FLIP)
    with pytest.raises(InputError, match="direction must be one of greater, less"):
        assurance(PAIRED, Fit(), FLIP, direction="two-sided")


def test_a_goal_without_sides_has_no_direction():
    agents = [PairedAgent(0.7, 0.1, effect=e) for e in (0.0, 0.1)]
    design = Design(30, 20, {"arm": ("new", "old")})
    found = assurance(design, agents, analyses.paired_cluster_t(*ARM), goal=Equivalent(-0.2, 0.2))
    assert (found.direction, found.greater, found.less) == (None, None, None)
    assert found.assurance > 0.9


def test_a_pilot_without_direction_states_both_and_no_assurance():
    # three clusters, all passing: the posterior of the effect is symmetric
    fit = fit_paired(Totals.from_arrays([[2, 2]] * 3, [[2, 2]] * 3))
    found = assurance(PAIRED.with_(clusters=40), fit, FLIP, n_agents=300)
    assert (found.assurance, found.direction) == (None, None)
    # two shares of 300 agents each, equal by symmetry: their difference has four errors of room
    assert found.greater > 0.1
    assert abs(found.greater - found.less) < 4 * math.sqrt(2) * found.mcse
    assert found.notes[-1].code == "no-direction"
    assert repr(found).startswith("Assurance(no direction: greater 0.")


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([2, 2, 2], [2, 2, 2], "Every trial of the pilot passed: it shows no difference, and"),
        ([0, 0, 0], [0, 0, 0], "Every trial of the pilot failed: it shows no difference, and"),
        ([2, 2, 2], [1, 0, 2], "Every trial of new passed: how far from 1 its rate may be, and so"),
        ([1, 1, 2], [0, 0, 0], "Every trial of old failed: how far from 0 its rate may be, and so"),
        ([1, 2, 0], [0, 1, 2], "Both arms of the pilot have the rate 0.5: it shows no effect and"),
    ],
)
def test_a_separated_pilot_is_told_in_a_plain_sentence(first, second, said):
    (note,) = pilot_cautions(FLIP, pairs(first, second, 2))
    assert note.startswith(said)
    assert note.code in {"pilot-separated", "pilot-no-effect"}


def test_a_pilot_that_says_something_has_no_caution():
    assert pilot_cautions(FLIP, pairs([2, 1, 2], [1, 1, 0], 2)) == ()
    rate = analyses.binomial_exact("rate", null=0.5)
    assert pilot_cautions(rate, table([1, 0], [1, 1])) == ()
    (note,) = pilot_cautions(rate, table([2, 2], [2, 2]))
    assert note.startswith("Every trial of the pilot passed: how far from 1 the rate may be")


def rejections(n, null, alpha=0.05):
    """Two-sided binomial test by twice the smaller tail: which numbers of passes reject, where?"""
    k = np.arange(n + 1)
    p = np.minimum(1.0, 2.0 * np.minimum(stats.binom.sf(k - 1, n, null),
                                         stats.binom.cdf(k, n, null)))  # fmt: skip
    return (p <= alpha) & (k > n * null), (p <= alpha) & (k < n * null)


# Beta(1, 1) prior, 8 of 10 passes: the 30 trials to come are Beta-Binomial(30, 9, 3).
@pytest.mark.parametrize("seen", [0, 10])
def test_predictive_power_of_single_trials_is_beta_binomial(seen):
    passes = [1, 0, 1, 1, 1, 0, 1, 1, 1, 1]
    fit = fit_clustered(Totals.from_arrays(passes, [1] * 10))
    interim = table(passes, [1] * 10) if seen else None
    test = analyses.binomial_exact("rate", null=0.6)
    found = assurance(Design(40, 1), fit, test, interim=interim)
    law = stats.betabinom(40 - seen, 9, 3).pmf(np.arange(41 - seen))
    before = 8 if seen else 0
    up, down = (mask[before : before + law.size] for mask in rejections(40, 0.6))
    assert found.greater == pytest.approx(law[up].sum(), abs=1e-9)
    assert found.less == pytest.approx(law[down].sum(), abs=1e-9)
    assert (found.mcse, found.seed, found.computation) == (None, None, "quadrature")


# Clusters of two trials: posterior and predictive law by another grid, study by study.
def test_predictive_power_of_clusters_agrees_with_plain_enumeration():
    passes, n, design = [2, 2, 1, 2], 2, Design(7, 2)
    test = analyses.binomial_exact("rate", null=0.5)
    fit = fit_clustered(Totals.from_arrays(passes, [n] * 4))
    found = assurance(design, fit, test, alpha=0.1, interim=table(passes, [n] * 4))
    nodes, weights = np.polynomial.legendre.leggauss(60)
    rate = 0.5 * (nodes + 1.0)[:, None]
    icc = 0.5 * 0.99 * (nodes + 1.0)[None]
    a, b = rate * (1.0 / icc - 1.0), (1.0 - rate) * (1.0 / icc - 1.0)
    posterior = weights[:, None] * weights[None]
    for k in passes:
        posterior = posterior * stats.betabinom(n, a, b).pmf(k)
    posterior /= posterior.sum()
    one = [stats.betabinom(n, a, b).pmf(k) for k in range(n + 1)]
    up, _ = rejections(14, 0.5, 0.1)
    expected = sum(
        float((posterior * one[i] * one[j] * one[k]).sum())
        for i, j, k in itertools.product(range(n + 1), repeat=3)
        if up[sum(passes) + i + j + k]
    )
    # ours is a midpoint rule on 240 x 80 nodes
    assert found.greater == pytest.approx(expected, abs=2e-5)


def test_conditional_power_of_a_binomial_test_is_a_binomial_tail():
    interim = table([1, 0, 1, 1], [1] * 4)
    test = analyses.binomial_exact("rate", null=0.5)
    found = power(Design(20, 1), ClusteredAgent(0.8), test, interim=interim)
    up, down = (mask[3:20] for mask in rejections(20, 0.5))
    law = stats.binom(16, 0.8).pmf(np.arange(17))
    assert found.computation == "enumeration"
    assert found.power == pytest.approx(law[up | down].sum(), abs=CLOSE)
    assert found.notes[0].code == "given-interim"


@pytest.mark.parametrize("name", ["sign-test", "mcnemar"])
def test_conditional_power_of_sign_tests_by_all_studies_one_by_one(name):
    trials = 1 if name == "mcnemar" else 2
    design = Design(8, trials, {"arm": ("new", "old")})
    interim = pairs([trials] * 3 + [0], [0, 0, 0, 1], trials)  # three up, one down
    agent = PairedAgent(0.6, effect=1.5)
    tables, law = agent.cluster_law(design)
    # (clusters, arms) of single clusters: the sign of each, and its probability
    sign = np.sign(tables.cells[:, 0, 0, 1].astype(int) - tables.cells[:, 0, 1, 1].astype(int))
    one = {s: float(law[sign == s].sum()) for s in (-1, 0, 1)}
    expected = 0.0
    for signs in itertools.product((-1, 0, 1), repeat=4):
        up, down = 3 + signs.count(1), 1 + signs.count(-1)
        if stats.binomtest(up, up + down).pvalue <= 0.1:
            expected += math.prod(one[s] for s in signs)
    analysis = analyses.named(name, *ARM)
    found = power(design, agent, analysis, alpha=0.1, interim=interim)
    assert found.computation == "enumeration"
    assert found.power == pytest.approx(expected, abs=CLOSE)
    drawn = answer(Question(design, agent, analysis, Differs(0.1), mcse=1e-3, max_draws=20_000,
                            interim=interim), exact="never")  # fmt: skip
    assert abs(drawn.power - found.power) < 4 * drawn.mcse


def test_predictive_power_of_two_arms_lies_between_its_agents():
    # 12 of 20 clusters observed, all in favour: drawn agents, each continued by simulation
    interim = pairs([4, 4, 3, 4, 4, 3, 4, 4, 4, 3, 4, 4], [2, 3, 1, 2, 2, 2, 3, 1, 2, 2, 2, 3], 4)
    design = PAIRED.with_(clusters=20)
    fit = fit_pilot(FLIP, design, interim)
    found = assurance(design, fit, FLIP, n_agents=50, draws_each=40, interim=interim)
    assert found.computation == "monte-carlo"
    assert found.direction == "greater"
    assert found.assurance > 0.99
    assert found.less == 0.0
    poor = pairs([2, 1, 2, 2] * 3, [2, 2, 1, 2] * 3, 4)
    low = assurance(design, fit_pilot(FLIP, design, poor), FLIP, n_agents=50, draws_each=40,
                    interim=poor)  # fmt: skip
    assert low.greater + low.less < 0.3


def test_a_pilot_of_another_kind_is_refused():
    with pytest.raises(InputError, match="in the order first, second"):
        fit_pilot(FLIP, Design(6, 2, {"arm": ("old", "new")}), pairs([2, 1], [1, 1], 2))
    two = Design(6, 2, {"arm": ("new", "old"), "stage": ("x", "y")})
    with pytest.raises(InputError, match="pilot must be of one rate without conditions, or of two"):
        fit_pilot(FLIP, two, pairs([2, 1], [1, 1], 2))
