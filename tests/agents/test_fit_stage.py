"""Stage agents from a pilot: truth found again, laws against SciPy, an outside mixed model."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from scipy import stats

from simtrack.agents.stage.agent import StageAgent
from simtrack.agents.stage.effects import ClusterEffect
from simtrack.agents.stage.fit import fit_stage
from simtrack.agents.stage.fit_cells import PilotCell, _log_likelihood, spread_posterior
from simtrack.design import Design
from simtrack.errors import DataError, InputError
from simtrack.estimands import estimand
from simtrack.taxonomy import STAGES

DESIGN = Design(
    24,
    25,
    {"arm": ("control", "bundle"), "checkpoint": (*STAGES, "pre_tool", "post_done")},
)
TRUTH = StageAgent(
    speaks={"*": 0.7, "COMPLETED": 1.0},
    emits={"*": 0.6, "arm=bundle": 0.8, "COMPLETED": 0.9},
    well_formed=0.9,
    right={"*": 0.8, "COMPLETED": 0.95},
    false_alarm={"pre_tool": 0.4, "post_done": 0.9},
    emits_on_divergence=0.3,
    transport=0.03,
    confusion={z: {STAGES[k - 1]: 1.0} for k, z in enumerate(STAGES)},
    effects=[ClusterEffect("adherence", 0.8, 0.9, ("stage", "COMPLETED"))],
)
FIT = fit_stage(TRUTH.records(DESIGN, seed=4), by=("arm",), n_draws=800, seed=2)


def test_a_large_pilot_gives_the_truth_back():
    # each within 4.5 posterior SDs, 40 parameters: 3e-4 in all, and the seed is fixed
    for arm in ("control", "bundle"):
        for stage in STAGES:
            cell = f"{stage}, arm={arm}"
            what = estimand("adherence").at(stage=stage, arm=arm)
            truth = TRUTH.expectation(what, DESIGN)
            name = f"theta[{cell}]"
            assert abs(FIT.mean(name) - truth) < 4.5 * FIT.sd(name), cell
            divergence = TRUTH.expectation(
                estimand("divergence_share").at(stage=stage, arm=arm), DESIGN
            )
            name = f"acts[{cell}]"
            assert abs(FIT.mean(name) - divergence / (1 - truth)) < 4.5 * FIT.sd(name), cell
        for place, rate in (("pre_tool", 0.4), ("post_done", 0.9)):
            name = f"alarm[{place}, arm={arm}]"
            assert abs(FIT.mean(name) - rate) < 4.5 * FIT.sd(name)
    assert FIT.interval("sd", 0.999)[0] < 0.8 < FIT.interval("sd", 0.999)[1]
    assert FIT.interval("slope_sd", 0.999)[0] < 0.9 < FIT.interval("slope_sd", 0.999)[1]
    assert FIT.sd("sd") < 0.3


def test_the_fitted_agent_answers_the_same_questions():
    # the mean agent's estimands are those of the pilot, but for half a trial of Jeffreys' prior
    records = TRUTH.records(DESIGN, seed=4)
    by = ("arm", "duty", "stage", "position", "gold", "reported", "emitted")
    counts = records.counts(by=by)
    for name in ("adherence", "emission", "speech", "omission_share", "wrong_value_share",
                 "stale_share", "false_alarm", "false_completion"):  # fmt: skip
        what = estimand(name)
        found = FIT.agent.expectation(what, DESIGN)
        assert found == pytest.approx(float(what.totals(counts).rates()[0]), abs=0.012), name


def test_without_spread_adherence_has_its_beta_law():
    truth = StageAgent(emits=0.6)
    design = Design(30, 1, {"stage": ("READY",)})
    records = truth.records(design, seed=9)
    passes = int(records.numbers["value"].sum())
    fit = fit_stage(records, n_draws=4000)
    law = stats.beta(passes + 0.5, 30 - passes + 0.5)  # one trial a cluster: no design effect
    # 4,000 draws: five Monte Carlo errors
    assert abs(fit.mean("theta[READY]") - law.mean()) < 5 * law.std() / math.sqrt(4000)
    assert fit.sd("theta[READY]") == pytest.approx(law.std(), rel=0.07)
    assert "no slope" in fit.notes[-1]
    assert fit.agent.effects[0].slope_on is None


def test_likelihood_of_both_spreads_agrees_with_gauss_hermite():
    cells = [cell("READY", [3, 9, 6], [10, 10, 10]), cell("COMPLETED", [5, 10, 2], [10, 10, 10])]
    x, w = np.polynomial.hermite_e.hermegauss(60)
    u, v = np.meshgrid(x, x, indexing="ij")
    weight = np.multiply.outer(w, w) / w.sum() ** 2
    first = 1 / (1 + np.exp(-(0.3 + 0.9 * u)))
    second = 1 / (1 + np.exp(-(0.6 + 0.9 * u + 1.1 * v)))
    total = 0.0
    for k1, k2 in zip(*(c.clean_by.tolist() for c in cells), strict=True):
        like = first**k1 * (1 - first) ** (10 - k1) * second**k2 * (1 - second) ** (10 - k2)
        total += math.log((weight * like).sum())
    found = _log_likelihood(cells, [0.3, 0.6], [False, True], 0.9, 1.1)
    assert found == pytest.approx(total, abs=1e-3)  # mass beyond ±4 deviates


@pytest.mark.shared
def test_the_spread_of_herds_is_that_of_an_outside_mixed_model(shared):
    # cbpp, herd as cluster, period as cell. Adaptive Gauss-Hermite with 25 nodes, by another
    # program: log-likelihood -91.98336904 at these four means and SD 0.64751847.
    path = shared / "reference" / "external" / "cbpp.csv"
    with open(path, encoding="utf-8", newline="") as file:
        rows = [{k.strip('"'): v.strip('"') for k, v in r.items()} for r in csv.DictReader(file)]
    herds = sorted({r["herd"] for r in rows}, key=int)
    cells = []
    for stage, period in zip(STAGES, ("1", "2", "3", "4"), strict=True):
        passes, trials = np.zeros(len(herds), int), np.zeros(len(herds), int)
        for r in rows:
            if r["period"] == period:
                passes[herds.index(r["herd"])] += int(r["incidence"])
                trials[herds.index(r["herd"])] += int(r["size"])
        cells.append(cell(stage, passes, trials))
    means = [-1.39923042 + d for d in (0.0, -0.99140369, -1.12781948, -1.57947071)]
    constant = sum(math.log(math.comb(int(r["size"]), int(r["incidence"]))) for r in rows)
    sd = 0.64751847
    found = _log_likelihood(cells, means, [False] * 4, sd, 0.0) + constant
    assert found == pytest.approx(-91.98336904, abs=2e-3)  # mass beyond ±4 deviates
    near = [_log_likelihood(cells, means, [False] * 4, s, 0.0) + constant for s in (0.6, 0.7)]
    assert max(near) < found
    # the means are pooled rates here, which takes a little off the SD; the prior adds a little
    posterior = spread_posterior(cells, None, 1.0)
    assert (posterior.weights * posterior.sd).sum() == pytest.approx(sd, abs=0.1)


def test_drawn_agents_keep_their_place_and_can_be_run():
    first = FIT.draw(5, 0)
    assert first == FIT.draw(5, 0)
    assert first != FIT.draw(5, 1)
    assert first.counts(DESIGN, 2, seed=1).cells.sum() == 2 * DESIGN.trials
    assert FIT.to_dict()["agent"]["kind"] == "stage"
    assert (
        fit_stage(TRUTH.records(DESIGN, seed=4), by=("arm",), n_draws=800, seed=2).draw(5, 0)
        == first
    )


def test_counts_fit_like_records():
    records = TRUTH.records(DESIGN, seed=4)
    counts = records.counts(by=("arm", "duty", "stage", "position", "reported", "emitted"))
    fit = fit_stage(counts, by=("arm",), n_draws=800, seed=2)
    np.testing.assert_array_equal(fit.atoms, FIT.atoms)
    poor = fit_stage(records.counts(by=("duty", "stage", "position")), n_draws=50)
    assert any("not split by reported" in note for note in poor.notes)


def cell(stage, passes, trials):
    passes, trials = np.asarray(passes), np.asarray(trials)
    return PilotCell(stage, {"stage": stage}, True, passes, trials, (0.0,) * 4, 0.0, 0.0, {})


def test_pilots_that_cannot_be_fitted_are_refused():
    records = TRUTH.records(Design(3, 2, {"stage": ("READY",)}), seed=1)
    with pytest.raises(InputError, match="pilot must be with a condition duty"):
        fit_stage(records.counts(by=("stage",)))
    with pytest.raises(InputError, match="pilot must be with a condition arm"):
        fit_stage(records.counts(by=("duty", "stage")), by=("arm",))
    lost = StageAgent(transport=1.0).records(Design(3, 2, {"stage": ("READY",)}), seed=1)
    with pytest.raises(DataError, match="no row with a valid response"):
        fit_stage(lost)
