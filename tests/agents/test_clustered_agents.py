"""Agents of one rate and of two arms, drawn over designs."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from simtrack.agents import Agent, ClusteredAgent, PairedAgent
from simtrack.agents.kinds import agent_from_dict
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import RATE, Contrast

ARMS = Design(6, 8, {"arm": ("a", "b")})
AGENTS = [
    ClusteredAgent(0.8),
    ClusteredAgent(0.8, 0.2),
    ClusteredAgent(0.8, 0.2, "logit-normal"),
    PairedAgent(0.8, 0.2, effect=1.0, slope_sd=0.5),
]
#: Of 3 draws of ARMS with seed 3: any change of a draw changes it.
FINGERPRINTS = [
    "6bb0c56751e608e3eb41b33d97c9ffdfc467c734f24860595c6a47fb41a56056",
    "3e91e1d7a8383de55de280a1ed6abf5e58e8796c2b4772d643fda14ce9e4caec",
    "8a1012fc57945fedae3c6b9ed4b971d967a71798fae6998b1448964bf6585231",
    "8f2509a4622f4f8bcbc10c92e0183c2cd8606c81e9a250412641a12b70d380bb",
]
GAP = Contrast.difference("gap", RATE.at(arm="a"), RATE.at(arm="b"))
#: A two-sided normal bound with odds 6e-5 of a false alarm.
Z = 4.0


@pytest.mark.parametrize("agent", AGENTS)
def test_agents_are_plain_data_and_keep_the_protocol(agent):
    assert isinstance(agent, Agent)
    assert agent_from_dict(agent.to_dict()) == agent
    assert pickle.loads(pickle.dumps(agent)) == agent
    assert hash(agent) == hash(agent_from_dict(agent.to_dict()))


@pytest.mark.parametrize(("agent", "fingerprint"), list(zip(AGENTS, FINGERPRINTS, strict=True)))
def test_draws_are_frozen(agent, fingerprint):
    assert agent.counts(ARMS, 3, seed=3).fingerprint == fingerprint


@pytest.mark.parametrize("agent", AGENTS)
def test_draws_do_not_depend_on_what_else_is_drawn(agent):
    whole = agent.counts(ARMS, 7, seed=3)
    part = agent.counts(ARMS, range(2, 5), seed=3, threads=2, chunk=1)
    assert (whole.cells[2:5] == part.cells).all()
    more = agent.counts(
        Design(9, 8, {"arm": ("a", "b", "c") if agent.__class__ is ClusteredAgent else ("a", "b")}),
        9,
        seed=3,
    )
    assert (more.cells[:7, :6, :2] == whole.cells).all()
    assert (whole.cells.sum(axis=3) == 8).all()


@pytest.mark.parametrize("agent", AGENTS)
def test_records_reduce_to_the_counts_of_the_first_draw(agent):
    records = agent.records(ARMS, seed=5)
    assert len(records) == ARMS.trials
    table = records.counts(cluster="scenario", by=["arm"])
    assert table.fingerprint == agent.counts(ARMS, 1, seed=5).counts(0).fingerprint


@pytest.mark.parametrize("agent", AGENTS)
def test_expectation_is_the_mean_of_many_draws(agent):
    top, bottom, weights = GAP.batch(agent.counts(ARMS, 20_000, seed=11))
    values = ((top.sum(axis=1) / bottom.sum(axis=1)) * weights).sum(axis=1)
    se = values.std() / len(values) ** 0.5
    assert abs(values.mean() - agent.expectation(GAP, ARMS)) < Z * se
    rate = RATE.batch(agent.counts(ARMS, 20_000, seed=12))
    means = rate[0].sum(axis=1) / rate[1].sum(axis=1)
    assert abs(means.mean() - agent.expectation(RATE, ARMS)) < Z * means.std() / 20_000**0.5


@pytest.mark.parametrize("law", ["beta", "logit-normal"])
def test_cells_of_a_cluster_share_its_probability(law):
    # Cov of the shares of two cells is Var(p) = icc π (1 - π) = .2 * .16.
    cells = ClusteredAgent(0.8, 0.2, law).counts(ARMS, 4000, seed=2).cells[..., 1] / 8.0
    first, second = cells[:, :, 0].ravel(), cells[:, :, 1].ravel()
    products = (first - 0.8) * (second - 0.8)
    assert abs(products.mean() - 0.032) < Z * products.std() / products.size**0.5


def test_a_larger_effect_only_adds_passes_to_the_first_arm():
    found = [PairedAgent(0.6, 0.1, effect=e).counts(ARMS, 50, 1).cells[..., 1] for e in (0, 0.5, 1)]
    for low, high in pairwise(found):
        assert (high[:, :, 0] >= low[:, :, 0]).all()
        assert (high[:, :, 1] <= low[:, :, 1]).all()


def test_arms_between_clusters_have_clusters_of_their_own():
    design = Design(5, 4, {"arm": ("a", "b")}, between=["arm"])
    trials = PairedAgent(0.6, 0.1, effect=1.0).counts(design, 2, 1).cells.sum(axis=3)
    assert trials[0].tolist() == [[4, 0], [0, 4], [4, 0], [0, 4], [4, 0]]
    assert np.isfinite(PairedAgent(0.6, effect=1.0).expectation(GAP, design))


def test_a_paired_agent_needs_its_two_arms():
    with pytest.raises(InputError, match="of a condition arm with two levels"):
        PairedAgent(0.5).counts(Design(4, 2), 1, 1)


@pytest.mark.parametrize("agent", [*AGENTS, PairedAgent(0.7, effect=0.5)])
def test_the_law_of_a_cluster_is_that_of_its_draws(agent):
    design = Design(1, 3, {"arm": ("a", "b")})
    tables, law = agent.cluster_law(design)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    draws = 40_000
    seen = agent.counts(design, draws, seed=21).cells[:, 0, :, 1]
    counts = np.bincount(seen[:, 0] * 4 + seen[:, 1], minlength=16)
    assert tables.cells[:, 0, :, 1].tolist() == [[i, j] for i in range(4) for j in range(4)]
    # chi-square with 15 degrees of freedom: above 50 in 1 of 80,000 runs
    assert ((counts - draws * law) ** 2 / (draws * law)).sum() < 50


@pytest.mark.parametrize("agent", [*AGENTS, PairedAgent(0.95, 0.5, effect=2.0, slope_sd=3.0)])
def test_the_law_of_a_cluster_has_the_exact_expectation(agent):
    design = Design(1, 5, {"arm": ("a", "b")})
    tables, law = agent.cluster_law(design)
    top, bottom, weights = GAP.batch(tables)
    mean = (law * ((top / bottom)[:, 0] * weights).sum(axis=1)).sum()
    # 1e-8 is asked of logit-normal marginals; the two quadratures differ by far less
    assert mean == pytest.approx(agent.expectation(GAP, design), abs=1e-11)


def test_beta_binomial_law_is_scipys():
    tables, law = ClusteredAgent(0.8, 0.2).cluster_law(Design(1, 12))
    theirs = stats.betabinom(12, 0.8 * 4, 0.2 * 4).pmf(tables.cells[:, 0, 0, 1])
    assert law == pytest.approx(theirs, abs=1e-13)


def test_laws_that_cannot_be_listed_are_none():
    assert ClusteredAgent(0.8).cluster_law(Design(4, 200, {"arm": ("a", "b")})) is None
    assert ClusteredAgent(0.8).cluster_law(Design(4, 2, {"arm": ("a", "b")}, ["arm"])) is None
