"""Models on the simulated studies of few clusters: intervals and tests of two arms, all at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named import ANALYSES
from simtrack.counts import Totals
from simtrack.errors import SimtrackError
from simtrack.inference.models.linear_mixed import linear_mixed
from simtrack.inference.models.table import ModelTable

__all__ = ["MODEL_INTERVALS", "MODEL_RATES", "MODEL_TESTS", "model_ends", "model_pvalues"]

Floats = NDArray[np.float64]
_DIFFERENCE: Final = np.array([1.0, -1.0])
#: Tests of no difference by models: the analysis, and its options.
MODEL_TESTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "linear-mixed": ("linear-mixed", {}),
    "gee": ("gee", {}),
    "gee-mancl-derouen": ("gee", {"covariance": "mancl-derouen"}),
    "gee-sandwich": ("gee", {"covariance": "sandwich"}),
    "logistic-mixed": ("logistic-mixed", {}),
}


def model_pvalues(name: str, passed: Floats, trials: Floats, level: float) -> Floats:
    """Give the two-sided p of every study, NaN where the model refuses it.

    Parameters
    ----------
    name : str
        A key of `MODEL_TESTS`.
    passed, trials : float64 arrays, shape (studies, clusters, 2)
    level : float
    """
    analysis, options = MODEL_TESTS[name]
    return ANALYSES[analysis].function(passed, trials, _DIFFERENCE, level, **options).pvalue


def model_ends(name: str, passed: Floats, trials: Floats, level: float) -> Floats:
    """Give both ends of every study's interval for a difference of rates, shape (studies, 2)."""
    return MODEL_INTERVALS[name](passed, trials, level)


def _intercept(passed: Floats, trials: Floats, level: float) -> Floats:
    found = ANALYSES["linear-mixed"].function(passed, trials, _DIFFERENCE, level)
    return np.stack([found.low, found.high], axis=1)


def _slope(passed: Floats, trials: Floats, level: float) -> Floats:
    """Fit one study after the other with a slope that differs by cluster."""
    ends = np.full((len(passed), 2), math.nan)
    design = [[1.0, 1.0], [1.0, 0.0]]
    for r, (x, n) in enumerate(zip(passed, trials, strict=True)):
        try:
            table = ModelTable.from_arrays(n, x, design, names=("intercept", "arm"))
            found = linear_mixed(table, slope="arm", level=level).coefficients
        except SimtrackError:
            continue
        ends[r] = found.low[1], found.high[1]
    return ends


def _hierarchical(totals: Totals, level: float) -> Floats:
    """Give the credible interval of the mean rate, one study (column) after the other."""
    from simtrack.inference.bayes.hierarchical_beta import hierarchical_beta

    ends = np.full((len(totals.conditions), 2), math.nan)
    for r in range(len(ends)):
        try:
            found = hierarchical_beta(totals, condition=r, other_icc_prior=None, level=level)
        except SimtrackError:
            continue
        ends[r] = found.rate.low, found.rate.high
    return ends


#: Intervals for one rate by models.
MODEL_RATES: Mapping[str, Callable[[Totals, float], Floats]] = {"hierarchical-beta": _hierarchical}
#: Intervals for a difference of rates by models.
MODEL_INTERVALS: Mapping[str, Callable[[Floats, Floats, float], Floats]] = {
    "linear-mixed": _intercept,
    "linear-mixed-slope": _slope,
}
