"""The figure of a plan shows what the plan found."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from simtrack.agents import PairedAgent
from simtrack.analysis import analyses
from simtrack.design import Design
from simtrack.planning import plan
from simtrack.plots import plan_plot

TEST = analyses.sign_flip("rate", "arm", "new", "old")
DESIGN = Design(6, 2, {"arm": ("new", "old")})


def planned(**over):
    agent = PairedAgent.from_rates(0.9, 0.4, icc=0.1)
    return plan(agent, DESIGN, TEST, over=over, mcse=0.05)


def test_one_dimension_gives_a_curve_and_a_front():
    found = planned(clusters=[6, 8, 10])
    figure = plan_plot(found)
    left, right = figure.axes
    (curve,) = [line for line in left.lines if len(line.get_xdata()) == 3]
    np.testing.assert_allclose(curve.get_ydata(), [p.power for p in found.points])
    assert right.get_xlabel() == "trials"


def test_two_dimensions_give_a_map_whose_dots_meet_the_target():
    found = planned(clusters=[6, 8, 10], repetitions=[1, 4])
    power = {p.settings: p.power for p in found.points if p.power is not None}
    *_, mapped, _ = plan_plot(found).axes
    (mesh,) = mapped.collections
    shown = np.ma.filled(mesh.get_array(), np.nan)
    for y, repetitions in enumerate((1, 4)):
        for x, clusters in enumerate((6, 8, 10)):
            at = power.get((("clusters", clusters), ("repetitions", repetitions)), np.nan)
            np.testing.assert_allclose(shown[y, x], at)
    assert len(mapped.lines) == sum(p >= found.target_power for p in power.values())
