"""Rows of StageIF's cells: the stage gap from the adherences, its interval's width from the others.

Loaded by checks.py, which hands its `Check` over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from typing import Any

from simtrack.agents.presets.stageif import (
    DELTA,
    THETA,
    gap_spread,
    spread_from_interval,
    stage_preset,
)
from simtrack.design import Design
from simtrack.estimands import CATALOGUE, Contrast
from simtrack.taxonomy import STAGES

NORMAL_95 = 3.92
DESIGN = Design(12, 40, {"stage": STAGES})
#: SD of the log of a standard error from 12 scenarios, if their gaps were normal; and with that of
#: the median of six such.
LOG_SE = 1.0 / math.sqrt(2.0 * 11.0)
LOG_SE_LEFT_OUT = LOG_SE * math.sqrt(1.0 + 0.5 * math.pi / 6.0)


def rows(make: Callable[..., Any]) -> list[Any]:
    """Make two rows a deployment."""
    spreads = {name: spread_from_interval(THETA[name], DELTA[name][1:]) for name in THETA}
    gap = CATALOGUE["stage_gap"]
    if not isinstance(gap, Contrast):
        raise TypeError("stage_gap")
    found = []
    for name, (centre, low, high) in DELTA.items():
        predicted = stage_preset(name, spread="none").expectation(gap, DESIGN)
        se = (high - low) / 100.0 / NORMAL_95
        z = (centre / 100.0 - predicted) / se
        found.append(
            make("StageIF cells", f"stage gap, {name}", "arithmetic", predicted, centre / 100.0,
                 se, z, "Table 2 adherences", "table2_delta.csv", "one data set")
        )  # fmt: skip
        others = median(sd for other, sd in spreads.items() if other != name)
        wide = gap_spread(tuple(t / 100.0 for t in THETA[name]), others)
        found.append(
            make("StageIF cells", f"standard error of the stage gap, {name}", "check", wide, se,
                 wide * LOG_SE_LEFT_OUT, math.log(se / wide) / LOG_SE_LEFT_OUT,
                 "Table 2 adherences, interval widths of the six other deployments",
                 "table2_delta.csv", f"median spread of the others: {others:.3f}")
        )  # fmt: skip
    return found
