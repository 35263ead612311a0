"""The probe's discrimination against closed forms, sums over SciPy's laws and drawn slices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from simtrack.agents.relapse.agent import RelapseAgent
from simtrack.agents.relapse.draws import EpisodeDraws
from simtrack.agents.relapse.laws import propensities
from simtrack.agents.relapse.probe import probe_discrimination
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.inference import auroc
from simtrack.probe import StoppingRule, characteristics
from simtrack.rng import Stream

CUT = 5e-5  # a Beta law in 1,024 parts
AGENT = RelapseAgent(0.25, icc=0.2)  # Beta(1, 3)


def test_the_ceiling_is_that_of_two_betas():
    # relapsed slices are Beta(a + 1, b), the others Beta(a, b + 1)
    up, down = stats.beta(2, 3), stats.beta(1, 4)
    area = integrate.quad(lambda p: up.pdf(p) * down.cdf(p), 0, 1)[0]
    assert probe_discrimination(AGENT, {}, 10).ceiling == pytest.approx(area, abs=CUT)


def test_a_fixed_probe_is_beta_binomial_on_both_sides():
    up, down = stats.betabinom(10, 2, 3), stats.betabinom(10, 1, 4)
    k = np.arange(11)
    area = (up.pmf(k) * (down.cdf(k) - 0.5 * down.pmf(k))).sum()
    found = probe_discrimination(AGENT, {}, 10)
    assert found.auroc == pytest.approx(area, abs=CUT)
    assert found.prevalence == pytest.approx(0.25)
    assert found.auroc < found.ceiling


def test_labels_over_repetitions_have_their_prevalence():
    # Beta(1, 3): P(none of 3) = E[(1 - p)^3] = 3 / 6; P(all of 3) = 1·2·3 / (4·5·6)
    for label, share in (("any", 0.5), ("all", 0.05)):
        found = probe_discrimination(AGENT, {}, 10, label=label, repetitions=3)
        assert found.prevalence == pytest.approx(share, abs=CUT)


def test_the_frozen_rule_stops_as_its_characteristics_say():
    rule = StoppingRule()
    point = RelapseAgent(0.6)
    found = probe_discrimination(point, {}, rule)
    rounds = float(np.ravel(characteristics(rule, [0.6], [0.0]).expected_rounds)[0])
    assert found.mean_rounds == pytest.approx(rounds, abs=1e-9)
    assert found.auroc == pytest.approx(0.5)  # all slices are alike


def test_drawn_slices_have_the_exact_area():
    agent = RelapseAgent(0.3, icc=0.4)
    design = Design(4000, 3, cluster_name="task")
    episodes = EpisodeDraws(agent, design, range(1), seed=9)
    truth = (episodes.codes({})[0] == 2).sum(axis=1) >= 2
    share = propensities(0.3, 0.4)[episodes.kinds({})]
    passes = Stream(9, "probe").trial_counts(12, share, replicates=1, clusters=4000)[0]
    drawn = auroc(passes / 12, truth)
    expected = probe_discrimination(agent, {}, 12, label="majority", repetitions=3)
    assert drawn.se is not None
    # five standard errors, which DeLong gives
    assert abs(drawn.value - expected.auroc) < 5 * drawn.se
    assert truth.mean() == pytest.approx(expected.prevalence, abs=0.04)


def test_impossible_probes_are_refused():
    with pytest.raises(InputError, match="probe must be a number of rounds or a StoppingRule"):
        probe_discrimination(AGENT, {}, 2.5)
    assert probe_discrimination(RelapseAgent(0.0), {}, 5).auroc is None
