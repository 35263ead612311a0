"""Relapse agents: propensities against SciPy, laws against enumeration, draws against laws."""

from __future__ import annotations

import math
import pickle
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from simtrack.agents.relapse.agent import RelapseAgent
from simtrack.agents.relapse.draws import EpisodeDraws
from simtrack.agents.relapse.exact import (
    cell_shares,
    contrast_moments,
    joint_relapse,
    pair_law,
)
from simtrack.agents.relapse.laws import OUTCOMES, cell_weights, propensities
from simtrack.agents.relapse.retry import Attempts
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import CATALOGUE, Contrast, Estimand

CLOSE = 1e-12  # sums of a thousand doubles
CUT = 2e-4  # a Beta law in 1,024 parts has a slightly smaller variance
FROZEN = "2a65668b1ec603c3201011485615e0f3e24d19f4b45716f4371d57b00cf685c0"
AGENT = RelapseAgent(
    [({"arm": "compiled"}, 0.0), ({"load": "8"}, 0.4), ({"load": "2"}, 0.02), ({}, 0.25)],
    icc=0.35,
    task_share=0.5,
    persistence=0.8,
    unparseable=[({"arm": "compiled"}, 0.08), ({}, 0.02)],
    empty=0.01,
    miss=0.03,
    classes=(0.05, 0.02, 0.1),
    loops={"retry": Attempts((1.0, 1.0, 1.0), (0.3, 0.3, 0.3))},
    common=0.6,
)
DESIGN = Design(
    5,
    3,
    {
        "condition": ("immediate", "delayed"),
        "load": ("2", "8"),
        "arm": ("bare", "retry"),
        "depth": ("0", "4"),
    },
    cluster_name="task",
)


@pytest.mark.parametrize(("rate", "icc"), [(0.25, 0.2), (0.4, 0.35), (0.8, 0.6)])
def test_kinds_of_slices_are_the_beta_law(rate, icc):
    kinds = propensities(rate, icc)
    law = stats.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1))
    assert kinds.mean() == pytest.approx(rate, abs=1e-11)  # rounded to 2^-40
    for power in (2, 3):
        assert (kinds**power).mean() == pytest.approx(law.moment(power), rel=CUT)
    # the mean of the 100th part, by another quadrature
    low, high = law.ppf(99 / 1024), law.ppf(100 / 1024)
    part = integrate.quad(lambda p: p * law.pdf(p), low, high)[0] * 1024
    assert kinds[99] == pytest.approx(part, rel=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_kinds_given_the_task_average_to_equal_shares(share):
    z = stats.norm.ppf((np.arange(4096) + 0.5) / 4096)
    weights = cell_weights(z, share)
    assert weights.sum(axis=1) == pytest.approx(np.ones(4096), abs=CLOSE)
    assert weights.mean(axis=0)[1:-1] == pytest.approx(np.full(1022, 1 / 1024), rel=0.05)


def test_pairs_of_cells_share_the_slice():
    rates = [({"load": "8"}, 0.4), ({}, 0.25)]
    agent = RelapseAgent(rates, icc=0.2, slices=("condition",))
    law = pair_law(agent, {"load": "2"}, {"load": "8"}, 2)
    u = (np.arange(20000) + 0.5) / 20000
    p, q = (stats.beta(m * 4, (1 - m) * 4).ppf(u) for m in (0.25, 0.4))
    both = np.mean(p**2 * q**2)
    assert law[2, 2] == pytest.approx(both, rel=1e-3)
    assert law.sum(axis=1) == pytest.approx(stats.betabinom(2, 1, 3).pmf([0, 1, 2]), abs=1e-5)
    # slices of their own: independent without a task component, one kind with nothing else
    apart = pair_law(RelapseAgent(rates, icc=0.2), {"load": "2"}, {"load": "8"}, 2)
    assert apart == pytest.approx(np.outer(law.sum(axis=1), law.sum(axis=0)), abs=CLOSE)
    whole = RelapseAgent(rates, icc=0.2, task_share=1.0)
    assert pair_law(whole, {"load": "2"}, {"load": "8"}, 2) == pytest.approx(law, abs=CLOSE)
    halves = RelapseAgent(rates, icc=0.2, task_share=0.5)
    found = pair_law(halves, {"load": "2"}, {"load": "8"}, 2)
    assert apart[2, 2] < found[2, 2] < law[2, 2]
    assert found.sum(axis=1) == pytest.approx(law.sum(axis=1), abs=1e-9)


def test_contrast_moments_are_those_of_the_enumerated_law():
    agent = RelapseAgent([({"load": "8"}, 0.4), ({}, 0.25)], icc=0.2, task_share=0.4)
    a, b = {"load": "8"}, {"load": "2"}
    law = pair_law(agent, a, b, 3)
    i, j = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")
    d = (i - j) / 3
    mean = float((law * d).sum())
    variance = float((law * d * d).sum()) - mean**2
    assert contrast_moments(agent, [(1.0, a), (-1.0, b)], 3) == pytest.approx((mean, variance))


def test_a_task_component_adds_the_covariance_of_its_slices():
    cells = [{"condition": c} for c in ("immediate", "delayed")]
    terms = [(0.5, cell) for cell in cells]
    apart = contrast_moments(RelapseAgent(0.25, icc=0.2), terms, 3)[1]
    whole = contrast_moments(RelapseAgent(0.25, icc=0.2, task_share=1.0), terms, 3)[1]
    pq = 0.25 * 0.75
    assert apart == pytest.approx(pq * (0.2 + 0.8 / 3) / 2, rel=1e-4)
    assert whole == pytest.approx(pq * (0.2 + 0.8 / 6), rel=1e-4)


def enumerate_loop(loop: Attempts, first: list[float]) -> np.ndarray:
    """Follow every sequence of failures, of retries seen or not."""
    final = np.zeros(4)

    def after(k: int) -> list[float]:
        rest = 1 - first[k]
        new = [(1 - loop.again[k]) * first[m] / rest for m in range(4)]
        new[k] = loop.again[k]
        return new

    for path in product(range(4), repeat=loop.affordable):
        for seen in product((True, False), repeat=loop.affordable - 1):
            p, law, made = 1.0, first, 0
            for t, state in enumerate(path):
                p, made = p * law[state], t + 1
                if state == 3 or t == loop.affordable - 1:
                    break
                p *= loop.sees[state] if seen[t] else 1 - loop.sees[state]
                if not seen[t]:
                    break
                law = after(state)
            rest_free = 4 ** (loop.affordable - made) * 2 ** (
                loop.affordable - 1 - min(made - (path[made - 1] == 3), loop.affordable - 1)
            )
            final[path[made - 1]] += p / rest_free
    return final


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_the_attempt_loop_is_the_sum_over_its_paths(attempts):
    loop = Attempts((1.0, 0.7, 0.5), (0.4, 0.2, 0.6), attempts=attempts)
    f, r, m = 0.1, 0.3, 0.2
    first = [f, 0.9 * r, 0.9 * 0.7 * m, 0.9 * 0.7 * 0.8]
    final = enumerate_loop(loop, first)
    assert loop.law(np.array(r), f, m) == pytest.approx(final, abs=CLOSE)


def test_tokens_cut_the_loop_short():
    assert Attempts((1, 1, 1), budget_tokens=4000, retry_tokens=1600).affordable == 2
    assert Attempts((1, 1, 1), budget_tokens=4000).affordable == 3
    assert Attempts((1, 1, 1), attempts=5, budget_tokens=4000).affordable == 4


def test_a_blind_checker_leaves_relapse_as_it_is():
    blind = Attempts((1.0, 0.0, 1.0), (0.5, 0.5, 0.5))
    assert blind.law(np.array([0.25]))[0, 1] == pytest.approx(0.25)
    seeing = Attempts((1.0, 1.0, 1.0), (0.5, math.sqrt(0.1), 0.5))
    assert seeing.law(np.array([0.25]))[0, 1] == pytest.approx(0.025)


def test_shares_of_a_cell_by_hand():
    agent = RelapseAgent(
        0.25, icc=0.2, unparseable=0.1, empty=0.05, miss=0.2, classes=(0.1, 0.2, 0.3)
    )
    parsed = 0.95 * 0.9
    kept = parsed * 0.75 * 0.8
    by_hand = [0.05, 0.095, parsed * 0.25, parsed * 0.75 * 0.2]
    by_hand += [kept * share for share in (0.1, 0.2, 0.3, 0.4)]
    assert cell_shares(agent, {}) == pytest.approx(by_hand, abs=CLOSE)
    assert sum(by_hand) == pytest.approx(1.0)
    assert agent.adherence({}) == pytest.approx(parsed)


@pytest.mark.parametrize(
    "name", ["relapse", "final_pass_rate", "parse_failure", "worst_case_relapse"]
)
def test_drawn_studies_average_to_the_expectation(name):
    # 1,500 studies of 240 episodes; 5 standard errors of the mean of studies, a false alarm once in
    # 1.7e6 runs, and the seed is fixed. A ratio's bias is below .002 here.
    what = CATALOGUE[name]
    assert isinstance(what, Estimand)
    top, bottom = what.batch(AGENT.counts(DESIGN, 1500, seed=3))
    rates = top.sum(axis=1) / bottom.sum(axis=1)
    error = rates.std() / math.sqrt(rates.size)
    assert abs(rates.mean() - AGENT.expectation(what, DESIGN)) < 5 * error + 2e-3


def test_every_outcome_and_depth_has_its_share():
    # 40,000 episodes a cell; tasks of 2 share a propensity: 6 SD with a design effect of 2
    design = Design(10, 2, dict(DESIGN.conditions) | {"load": ("8",)})
    cells = AGENT.counts(design, 2000, seed=8).cells.sum(axis=(0, 1))
    for c, cell in enumerate(design.cells):
        expected = cell_shares(AGENT, cell)
        bound = 6 * np.sqrt(2 * expected * (1 - expected) / 40_000) + 1e-9
        assert (np.abs(cells[c] / 40_000 - expected) < bound).all()


def test_drawn_contrasts_have_the_exact_variance():
    agent = RelapseAgent([({"arm": "b"}, 0.2), ({}, 0.3)], icc=0.3, task_share=0.5, common=0.7)
    design = Design(40, 3, {"condition": ("immediate", "delayed"), "arm": ("a", "b")})
    terms = [(0.5 if c["arm"] == "a" else -0.5, c) for c in design.cells]
    mean, variance = contrast_moments(agent, terms, 3)
    cells = agent.counts(design, 500, seed=4).cells[..., OUTCOMES.index("TRUE_RELAPSE")] / 3
    drawn = sum(w * cells[:, :, k] for k, (w, _) in enumerate(terms)).ravel()
    # 20,000 tasks: SD of a mean and of a variance (kurtosis below 6), five of each
    assert abs(drawn.mean() - mean) < 5 * math.sqrt(variance / drawn.size)
    assert abs(drawn.var() / variance - 1) < 5 * math.sqrt(5 / drawn.size)


@pytest.mark.parametrize("strength", [0.0, 0.6, 1.0])
def test_common_numbers_pair_the_episodes_of_arms(strength):
    agent = RelapseAgent([({"arm": "b"}, 0.2), ({}, 0.3)], icc=0.3, common=strength)
    design = Design(20, 4, {"arm": ("a", "b")})
    episodes = EpisodeDraws(agent, design, range(500), seed=6)
    first, second = (episodes.codes({"arm": arm}).ravel() == 2 for arm in ("a", "b"))
    both, only_b = float(np.mean(first & second)), float(np.mean(~first & second))
    expected = joint_relapse(agent, {"arm": "a"}, {"arm": "b"})
    # 40,000 episodes in fours: six SD with a design effect of 1.9
    bound = 6 * math.sqrt(1.9 * 0.2 * 0.8 / 40_000)
    assert abs(both - expected[1, 1]) < bound
    assert abs(only_b - expected[0, 1]) < bound
    if strength == 1.0:
        assert only_b == 0.0


def test_draws_do_not_depend_on_others_threads_or_chunks():
    whole = AGENT.counts(DESIGN, 12, seed=5)
    assert whole.fingerprint == FROZEN
    for threads, chunk in ((2, None), (1, 1), (2, 7), (1, 1000)):
        assert AGENT.counts(DESIGN, 12, 5, threads=threads, chunk=chunk).fingerprint == FROZEN
    part = AGENT.counts(DESIGN, range(4, 9), 5).cells
    np.testing.assert_array_equal(part, whole.cells[4:9])
    conditions = dict(DESIGN.conditions) | {"arm": ("x", "retry"), "depth": ("0", "2", "4")}
    found = AGENT.counts(DESIGN.with_(clusters=9, conditions=conditions), 12, 5)
    old = [k for k, label in enumerate(whole.labels) if label["arm"] == "retry"]
    new = [found.labels.index(whole.labels[k]) for k in old]
    np.testing.assert_array_equal(found.cells[:, :5, new], whole.cells[:, :, old])
    assert (AGENT.counts(DESIGN.with_(repetitions=6), 12, 5).cells >= whole.cells).all()


def test_records_are_the_first_study_and_can_be_paired():
    records = AGENT.records(DESIGN, seed=5)
    by = ["condition", "load", "arm", "depth"]
    first = AGENT.counts(DESIGN, 1, 5).counts(0)
    assert records.counts(cluster="task", by=by).n == first.n
    relapse = CATALOGUE["relapse"]
    assert isinstance(relapse, Estimand)
    for counts in (records.counts(cluster="task", by=by), first):
        assert relapse.totals(counts, by="load").rates() == pytest.approx(
            relapse.totals(first, by="load").rates()
        )
    one = records.select(depth="0")
    paired = one.counts(cluster="task", pair="arm", on=("unit", "repetition"))
    assert paired.n == 5 * 3 * 4
    assert paired.losses.entries == ()


def test_clauses_in_force_comply_near_the_ceiling():
    agent = RelapseAgent(0.2, unparseable=0.1, in_force=0.98)
    batch = agent.clause_counts(Design(10, 2), 500, seed=3, clauses=4)
    assert batch.cells.sum() == 500 * 10 * 2 * 4
    what = CATALOGUE["in_force_compliance"]
    assert isinstance(what, Estimand)
    top, bottom = what.batch(batch)
    # 10,000 artifacts of 4 rows that fail together: six SD
    assert abs(top.sum() / bottom.sum() - agent.adherence({})) < 6 * math.sqrt(0.1 * 0.9 / 10_000)


def test_plain_data_makes_an_equal_agent():
    again = RelapseAgent.from_dict(AGENT.to_dict())
    assert again == AGENT
    assert hash(again) == hash(AGENT)
    assert pickle.loads(pickle.dumps(AGENT)) == AGENT


def test_the_load_contrast_is_exact():
    what = CATALOGUE["load_contrast"]
    assert isinstance(what, Contrast)
    design = Design(67, 3, {"condition": ("delayed",), "load": ("2", "8"), "arm": ("bare",)})
    assert AGENT.expectation(what, design) == pytest.approx(0.4 - 0.02, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RelapseAgent(1.5), "rate must be a finite number from 0 to 1"),
        (lambda: RelapseAgent(0.2, icc=1.0), "icc must be below 1"),
        (lambda: RelapseAgent(0.2, classes=(0.5, 0.5, 0.5)), "three shares of at most 1 together"),
        (lambda: Attempts((1.0, 1.0)), "sees must be one chance for each of unparseable"),
        (
            lambda: RelapseAgent(0.2).counts(Design(2, 1, {"depth": ("deep",)}), 1, 1),
            "depth must be a whole number of turns",
        ),
        (
            lambda: pair_law(AGENT, {"arm": "bare"}, {"arm": "retry"}, 2),
            "cells must be of one arm",
        ),
    ],
)
def test_impossible_agents_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
