"""Sizes that work, and what they cost."""

from __future__ import annotations

import json
import math

import pytest
from scipy import stats

from simtrack.agents import ClusteredAgent, PairedAgent
from simtrack.analysis import analyses
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.planning import plan, power
from simtrack.price import Price

ARM = ("rate", "arm", "new", "old")
PAIRED = Design(6, 4, {"arm": ("new", "old")})
FLIP = analyses.sign_flip(*ARM)
#: Published to seven digits (R's root finder and print leave the last one open).
SEVEN = 1e-7


def test_sawtooth_gives_the_first_size_and_that_from_which_all_work():
    # gsDesign nBinomial1Sample(p0=.05, p1=.2, alpha=.025, beta=.2, n=25:40)
    test = analyses.binomial_exact("rate", null=0.05)
    found = plan(
        ClusteredAgent(0.2), Design(25), test, over={"clusters": range(25, 41)}, alpha=0.025,
        alternative="greater",
    )  # fmt: skip
    assert found.first.settings == (("clusters", 33),)
    assert found.first.power == pytest.approx(0.8178743, abs=SEVEN)
    assert found.all_larger.settings == (("clusters", 39),)
    assert found.all_larger.power == pytest.approx(0.8199868, abs=SEVEN)
    assert [p.works for p in found.points[33 - 25 :]] == [True, *[False] * 5, True, True]
    assert found.cheapest == found.first
    assert "not monotone" in found.notes[0]
    sizes = [power(Design(n), ClusteredAgent(0.05), test, alpha=0.025, alternative="greater").power
             for n in (33, 39)]  # fmt: skip
    assert sizes == pytest.approx([0.0230265, 0.0123042], abs=SEVEN)


def test_single_stage_design_of_clinfun():
    # clinfun vignette: p0 = .40, p1 = .60, α = β = .10: n = 41, promising if more than 20
    test = analyses.binomial_exact("rate", null=0.4)
    how = {"alpha": 0.1, "alternative": "greater"}
    found = plan(
        ClusteredAgent(0.6), Design(30), test, target_power=0.9, over={"clusters": range(30, 60)},
        **how,
    )  # fmt: skip
    assert found.first.settings == (("clusters", 41),)
    size = power(Design(41), ClusteredAgent(0.4), test, **how).power
    assert size == pytest.approx(0.0965172, abs=SEVEN)


def test_front_of_power_and_cost():
    found = plan(
        PairedAgent(0.7, icc=0.1, effect=2.0), PAIRED, FLIP, price=Price(usd_per_call=0.01),
        over={"clusters": (6, 7, 8), "repetitions": (2, 4, 6)},
    )  # fmt: skip
    assert len(found.points) == 9
    for point in found.points:
        settings = dict(point.settings)
        trials = 2 * settings["clusters"] * settings["repetitions"]
        assert point.trials == trials
        assert point.cost_usd == pytest.approx(0.01 * trials)
        beaten = [
            q for q in found.points
            if q.cost_usd <= point.cost_usd and q.power >= point.power and q != point
            and (q.cost_usd, q.power) != (point.cost_usd, point.power)
        ]  # fmt: skip
        assert (point in found.front) == (not beaten)
    costs = [p.cost_usd for p in found.front]
    assert costs == sorted(costs)
    working = [p for p in found.points if p.works]
    assert found.cheapest.cost_usd == min(p.cost_usd for p in working)
    assert found.first is None
    assert json.dumps(found.to_dict())


def test_what_cannot_be_had_is_named():
    agent, cents = PairedAgent(0.7, icc=0.1, effect=2.0), Price(usd_per_call=0.01)
    how = {"over": {"clusters": (6, 7, 8, 10)}, "price": cents}
    poor = plan(agent, PAIRED.with_(repetitions=6), FLIP, budget_usd=0.9, **how)
    assert poor.cheapest is None
    assert poor.why == ("budget_usd must be at least 0.96 for power 0.8 (clusters=8), got 0.90")
    assert [dict(p.settings)["clusters"] for p in poor.points] == [6, 7]
    weak = plan(agent, PAIRED, FLIP, target_power=0.99, **how)
    assert "target_power 0.99 is not reached by any design in range: the highest is" in weak.why
    few = plan(agent, PAIRED, FLIP, over={"clusters": (3, 4, 5)})
    assert few.why == "no design in range gives an answer: too few clusters to reach alpha"
    assert repr(few).startswith("Plan(impossible: no design")


def test_searching_by_simulation_stops_early_far_from_the_target():
    analysis = analyses.paired_cluster_t(*ARM)
    agent = PairedAgent(0.7, icc=0.1, effect=2.0)
    found = plan(agent, PAIRED, analysis, over={"clusters": range(4, 13)}, mcse=0.01)
    for point in found.points:
        whole = power(PAIRED.with_(**dict(point.settings)), agent, analysis, mcse=0.01)
        # either the very same answer, or one that is four errors away from the target
        assert point.power == whole.power or abs(point.power - 0.8) > 4 * point.mcse
        assert point.works == (whole.power >= 0.8)
    assert max(p.mcse for p in found.points) > 0.01


def test_the_agent_may_depend_on_the_design():
    def diluted(design):
        return PairedAgent(0.7, effect=8.0 / design.clusters)

    found = plan(diluted, PAIRED, FLIP, over={"clusters": (6, 8)})
    for point in found.points:
        design = PAIRED.with_(**dict(point.settings))
        assert point.power == power(design, diluted(design), FLIP).power


@pytest.mark.slow
def test_cluster_trial_formula_agrees_with_simulation():
    # 12 clusters an arm at ICC .05: the t formula says .797; the two rates share no cluster
    design = Design(24, 150, {"arm": ("new", "old")}, between=["arm"])
    mean = 0.5 * (math.log(0.2 / 0.8) + math.log(0.1 / 0.9))
    agent = PairedAgent(1 / (1 + math.exp(-mean)), icc=0.05, effect=0.97)
    one, two = agent.rates()
    found = power(design, agent, analyses.cluster_t_difference(*ARM), mcse=0.005)
    icc = 0.05
    expected = stats.nct(
        22,
        abs(one - two)
        / math.sqrt((one * (1 - one) + two * (1 - two)) * (1 + 149 * icc) / 150 / 12),
    ).sf(stats.t.ppf(0.975, 22))
    # the formula takes one ICC for both arms and a normal law: some points apart
    assert found.power == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plan(PairedAgent(0.5), PAIRED, FLIP, over={"arms": (2,)}), "over must be ranges"),
        (lambda: plan(PairedAgent(0.5), PAIRED, FLIP, over={}), "over must be 1 to 5000 designs"),
        (lambda: plan(PairedAgent(0.5), PAIRED, FLIP, over={"clusters": (6,)}, budget_usd=3),
         "price must be given where there is a budget"),
        (lambda: plan(PairedAgent(0.5), PAIRED, FLIP, over={"clusters": (6,)}, target_power=80),
         "target_power must be strictly between 0 and 1, got 80.0. Did you mean 0.8?"),
    ],
)  # fmt: skip
def test_bad_searches_are_refused_in_one_line(make, message):
    with pytest.raises(InputError, match=message):
        make()
