"""Presets of StageIF: the numbers are those of the published tables, and give others back."""

from __future__ import annotations

import csv
import itertools
import math

import numpy as np
import pytest

from simtrack.agents.presets.stageif import (
    BUNDLE,
    DELTA,
    FALSE_ALARM,
    FIVE_ARM,
    METRICS,
    STAGE_PRESETS,
    THETA,
    WRONG_VALUE_POINTS,
    gap_spread,
    spread_from_interval,
    stage_assumptions,
    stage_preset,
)
from simtrack.agents.stage.agent import join_stage_agents
from simtrack.agents.stage.effects import ClusterEffect
from simtrack.agents.stage.tables import POSITIONS
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import estimand
from simtrack.taxonomy import STAGES

PRINTED = 0.1  # of published points: the gap is a difference of rounded percentages
STAGE_DESIGN = Design(12, 40, {"stage": STAGES})


@pytest.mark.parametrize("name", THETA)
def test_gap_follows_from_the_adherences_as_published(name):
    # an input (adherence by stage) judged on a number that was not used (the gap's centre)
    gap = stage_preset(name).expectation(estimand("stage_gap"), STAGE_DESIGN)
    assert 100 * gap == pytest.approx(DELTA[name][0], abs=PRINTED)
    for stage, theta in zip(STAGES, THETA[name], strict=True):
        found = stage_preset(name).expectation(estimand("adherence").at(stage=stage), STAGE_DESIGN)
        assert 100 * found == pytest.approx(theta, abs=1e-9)


@pytest.mark.parametrize("name", THETA)
def test_failures_keep_the_published_mix(name):
    # Of what is not CLEAN before completion, Table 11 gives the shares that act instead and that
    # report all the same, whatever the adherence is.
    theta, _, phi, _, emission = (m / 100 for m in METRICS[name])
    agent = stage_preset(name)
    before = {"stage": STAGES[:3]}

    def at(what):
        return agent.expectation(estimand(what).at(**before), STAGE_DESIGN)

    failed = 1 - at("adherence")
    assert at("divergence_share") / failed == pytest.approx((1 - theta / phi) / (1 - theta))
    reported = at("emission") - at("adherence")
    assert reported / failed == pytest.approx((emission - theta) / (1 - theta))


def test_wrong_values_average_what_is_published_after_an_observation():
    what = estimand("wrong_value_share")
    points = [
        100 * stage_preset(name).expectation(what.at(stage="POST_OBS"), STAGE_DESIGN)
        for name in THETA
    ]
    assert np.mean(points) == pytest.approx(WRONG_VALUE_POINTS, abs=1e-9)
    for name in THETA:
        for stage in ("NEEDS_INFO", "READY", "COMPLETED"):
            elsewhere = stage_preset(name).expectation(what.at(stage=stage), STAGE_DESIGN)
            assert elsewhere < 0.03  # below 2 points over deployments; gpt-5.5 alone is above
    assert all(FALSE_ALARM[n][1] == pytest.approx(w, abs=0.05) for n, w in OMEGA.items())


#: 100 - omega of Table 11: the position of the main study, from another table than the preset's.
OMEGA = {name: 1.2 if name == "qwen3.5-122b-a10b" else 0.0 for name in THETA}


@pytest.mark.parametrize("name", ["glm-5.1", "deepseek-v4-flash"])
def test_simulated_gaps_are_as_wide_as_published(name):
    # The mean over studies of the bootstrap variance of the gap is gap_spread², to which the
    # published width was matched: 2,000 studies, relative error about sqrt(2/(11 · 2,000)) = 1 %.
    agent = stage_preset(name)
    counts = agent.counts(STAGE_DESIGN, 2000, seed=8, split=())
    clean = counts.cells[..., -1] / counts.cells.sum(axis=3)
    gap = clean[:, :, :3].mean(axis=2) - clean[:, :, 3]
    width = 2 * 1.959964 * math.sqrt(gap.var(axis=1).mean() / 12) * 100
    low, high = DELTA[name][1:]
    assert width == pytest.approx(high - low, rel=0.04)
    shares = tuple(t / 100 for t in THETA[name])
    assert spread_from_interval(THETA[name], (low, high)) == agent.effects[0].sd
    assert gap_spread(shares, agent.effects[0].sd) == pytest.approx(
        (high - low) / 100 / 3.919928, rel=1e-5
    )


def test_contrasts_over_deployments():
    bundle = stage_preset("withdraw-and-delegate")
    design = Design(12, 20, {"arm": ("control", "bundle"), "stage": ("POST_OBS",)})
    emission = bundle.expectation(estimand("bundle_effect_on_emission"), design)
    completion = bundle.expectation(estimand("bundle_effect_on_false_completion"), design)
    assert (100 * emission, 100 * completion) == pytest.approx((45.1, 58.2))  # SI263, SI266
    # SI267: false completion among emitted reports of the bundle arm, printed as 85 %
    among = bundle.expectation(estimand("false_completion_reported").at(arm="bundle"), design)
    assert 100 * among == pytest.approx(85.0, abs=0.5)
    reminder = stage_preset("reminder")
    arms = Design(12, 20, {"arm": ("baseline", "reminder"), "stage": ("READY", "POST_OBS")})
    for arm, mix in FIVE_ARM.items():
        names = ("omission_share", "divergence_share", "malformed_share", "adherence")
        found = [100 * reminder.expectation(estimand(n).at(arm=arm), arms) for n in names]
        assert found == pytest.approx(mix)


def test_false_alarms_by_position():
    design = Design(12, 20, {"position": POSITIONS})
    for name, row in FALSE_ALARM.items():
        agent = stage_preset(name, spread="none")
        found = [
            100 * agent.expectation(estimand("false_alarm").at(position=p), design)
            for p in POSITIONS
        ]
        assert found == pytest.approx(row)


def test_presets_are_listed_with_their_sources():
    assert len(STAGE_PRESETS) == 9
    for name in STAGE_PRESETS:
        lines = stage_assumptions(name)
        assert any(line.startswith("input:") and ".csv" in line for line in lines)
        assert any(line.startswith("assumed:") for line in lines)
    with pytest.raises(InputError, match="preset must be one of deepseek-v4-flash"):
        stage_preset("gpt-9")
    with pytest.raises(InputError, match="preset must be one of"):
        stage_assumptions("gpt-9")
    with pytest.raises(InputError, match="interval must be one that a spread of at most 8"):
        spread_from_interval((50.0, 50.0, 50.0, 50.0), (-99.0, 99.0))


@pytest.mark.shared
def test_data_are_the_published_tables(shared):
    def rows(name):
        with open(shared / "reference" / "stageif" / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    points = ("wait", "ready", "step", "done")
    theta = {(r["deployment"], r["checkpoint"]): float(r["theta_percent"])
             for r in rows("table2_theta.csv")}  # fmt: skip
    assert {
        (n, p): v for n, row in THETA.items() for p, v in zip(points, row, strict=True)
    } == theta
    delta = {r["deployment"]: tuple(float(r[k]) for k in ("delta_points", "low", "high"))
             for r in rows("table2_delta.csv")}  # fmt: skip
    assert delta == DELTA
    metrics = {(r["deployment"], r["measure"]): float(r["value_percent"])
               for r in rows("table11_metrics.csv")}  # fmt: skip
    columns = ("theta_int", "theta_term", "phi_int", "phi_term", "emission_int")
    for name, row in METRICS.items():
        assert row == tuple(metrics[name, c] for c in columns)
        assert 100 - metrics[name, "omega"] == pytest.approx(OMEGA[name])
    alarms = {(r["deployment"], r["position"]): r["value_percent"]
              for r in rows("table13_false_alarm.csv")}  # fmt: skip
    for name, row in FALSE_ALARM.items():
        assert row == tuple(float(alarms[name, p]) for p in POSITIONS)
    mix = {(r["arm"][2:].split("_")[0], r["outcome"]): float(r["value_percent"])
           for r in rows("five_arm_mix.csv")}  # fmt: skip
    codes = ("omission", "divergence", "malformed", "clean")
    for arm, row in FIVE_ARM.items():
        assert row == tuple(mix[arm, code] for code in codes)
    claims = {r["claim_id"]: r["value"] for r in rows("text_claims.csv")}
    assert BUNDLE["bundle"] == (float(claims["SI261"]), float(claims["SI264"]))
    assert BUNDLE["control"] == (float(claims["SI262"]), float(claims["SI265"]))
    assert float(claims["SI115"]) == WRONG_VALUE_POINTS


def test_a_panel_of_deployments_is_each_of_them_at_its_level():
    names = ("glm-5.1", "gpt-5.5")
    apart = {name: stage_preset(name, spread="none") for name in names}
    effect = ClusterEffect("adherence", sd=0.7)
    panel = join_stage_agents("model", apart, effects=[effect])
    design = Design(12, 20, {"model": names, "stage": STAGES})
    for name, what in itertools.product(names, ("adherence", "emission", "stale_share")):
        alone = apart[name].expectation(estimand(what), STAGE_DESIGN)
        found = panel.expectation(estimand(what).at(model=name), design)
        assert found == pytest.approx(alone, abs=1e-12)

    def correlation(agent):
        cells = agent.counts(design, 400, seed=3, split=()).cells[..., -1]
        return np.corrcoef(cells[:, :, 0].ravel(), cells[:, :, 4].ravel())[0, 1]

    # models share their clusters' deviates unless they are said to have their own; 4,800 pairs
    assert correlation(panel) > 0.3
    own = join_stage_agents(
        "model", apart, effects=[ClusterEffect("adherence", sd=0.7, own=("model",))]
    )
    assert abs(correlation(own)) < 0.08
    with pytest.raises(InputError, match="effects must be given, since those of the agents differ"):
        join_stage_agents("model", {name: stage_preset(name) for name in names})
