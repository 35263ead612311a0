"""What counts as success of a study: a difference shown, equivalence, a gain ruled out, a width."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named import Analysis
from simtrack.analysis.named_results import OK, Results
from simtrack.errors import InputError
from simtrack.options import Alternative, choice
from simtrack.validate import confidence_level, open_unit, real

__all__ = ["Differs", "Equivalent", "Excludes", "Goal", "Narrow"]

Mask = NDArray[np.bool_]
#: p-values at alpha reject: sums of fractions may miss it by rounding.
_SLACK = 1e-12


class Goal(Protocol):
    """When has a study reached what it was done for?"""

    def level(self, analysis: Analysis) -> float:
        """Give the level of the intervals that the decision needs."""
        ...

    @property
    def side(self) -> Alternative:
        """The alternative of the p-values that it needs."""
        ...

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has; False where there is no answer."""
        ...

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether there is an answer."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a kind."""
        ...


@dataclass(frozen=True, slots=True)
class Differs:
    """The contrast is shown to differ from `null`: p ≤ alpha, or the interval lies beyond it.

    Parameters
    ----------
    alpha : float
    alternative : "two-sided", "greater" or "less"
    null : float
        For methods that decide by their interval; tests have their null as an option.
    """

    alpha: float = 0.05
    alternative: Alternative = "two-sided"
    null: float = 0.0

    def __post_init__(self) -> None:
        open_unit("alpha", self.alpha)
        choice("alternative", self.alternative, Alternative)
        real("null", self.null)

    def level(self, analysis: Analysis) -> float:
        """1 - alpha; 1 - 2 alpha where one end of a two-sided interval decides."""
        one_sided = self.alternative != "two-sided" and not analysis.named.has_pvalue
        return _level_for(self.alpha, one_sided)

    @property
    def side(self) -> Alternative:
        """As stated."""
        return self.alternative

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it rejects."""
        if self._by_pvalue(results, analysis):
            p = np.where(np.isnan(results.pvalue), 2.0, results.pvalue)
            return np.asarray(p <= self.alpha + _SLACK)
        above, below = _beyond(results.low, self.null), _beyond(-results.high, -self.null)
        either = {"greater": above, "less": below, "two-sided": above | below}
        return np.asarray(either[self.alternative])

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has the p-value or the interval."""
        if self._by_pvalue(results, analysis):
            return np.asarray((results.status == OK) & ~np.isnan(results.pvalue))
        return _has_interval(results)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data."""
        return {"kind": "differs"} | asdict(self)

    def _by_pvalue(self, results: Results, analysis: Analysis) -> bool:
        """Say whether the p-value decides; one of a method in a loop is about 0 alone."""
        return analysis.named.has_pvalue or (self.null == 0.0 and _has_pvalues(results))


@dataclass(frozen=True, slots=True)
class Equivalent:
    """The contrast (or rate) is shown to lie within (low, high): two one-sided tests at alpha.

    Parameters
    ----------
    low, high : float
    alpha : float
        Of each test; the interval at 1 - 2 alpha must lie strictly inside.

    References
    ----------
    Schuirmann (1987), J. Pharmacokinet. Biopharm. 15, 657-680.
    """

    low: float
    high: float
    alpha: float = 0.05

    def __post_init__(self) -> None:
        open_unit("alpha", self.alpha)
        if not real("low", self.low) < real("high", self.high):
            raise InputError("low", "below high", f"{self.low} and {self.high}")

    def level(self, analysis: Analysis) -> float:
        """1 - 2 alpha."""
        return _level_for(self.alpha, True)

    @property
    def side(self) -> Alternative:
        """Of no p-value."""
        return "two-sided"

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether its interval lies inside."""
        return _beyond(results.low, self.low) & _beyond(-results.high, -self.high)

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has an interval."""
        return _has_interval(results)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data."""
        return {"kind": "equivalent"} | asdict(self)


@dataclass(frozen=True, slots=True)
class Excludes:
    """Gains of `gain` or more are ruled out: the upper limit at 1 - alpha lies below it.

    With a negative `gain`, losses of that size or more are ruled out (non-inferiority): the lower
    limit lies above it.
    """

    gain: float
    alpha: float = 0.05

    def __post_init__(self) -> None:
        open_unit("alpha", self.alpha)
        if real("gain", self.gain) == 0.0:
            raise InputError("gain", "other than 0", self.gain)

    def level(self, analysis: Analysis) -> float:
        """1 - 2 alpha, of which one end is used."""
        return _level_for(self.alpha, True)

    @property
    def side(self) -> Alternative:
        """Of no p-value."""
        return "two-sided"

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether its limit is on the right side."""
        if self.gain > 0.0:
            return _beyond(-results.high, -self.gain)
        return _beyond(results.low, self.gain)

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has an interval."""
        return _has_interval(results)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data."""
        return {"kind": "excludes"} | asdict(self)


@dataclass(frozen=True, slots=True)
class Narrow:
    """The interval, at the level of the analysis, is no wider than `width`."""

    width: float

    def __post_init__(self) -> None:
        real("width", self.width, 0.0)

    def level(self, analysis: Analysis) -> float:
        """The analysis's own."""
        return analysis.level

    @property
    def side(self) -> Alternative:
        """Of no p-value."""
        return "two-sided"

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether its interval is narrow enough."""
        width = results.high - results.low
        return np.asarray(np.where(np.isnan(width), math.inf, width) <= self.width + _SLACK)

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has an interval."""
        return _has_interval(results)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data."""
        return {"kind": "narrow"} | asdict(self)


def _level_for(alpha: float, one_end: bool) -> float:
    return confidence_level("1 - alpha", 1.0 - (2.0 * alpha if one_end else alpha))


def _has_pvalues(results: Results) -> bool:
    """Methods that run in a loop may have both: then the p-value decides."""
    return bool((~np.isnan(results.pvalue)).any())


def _has_interval(results: Results) -> Mask:
    ends = ~np.isnan(results.low) & ~np.isnan(results.high)
    return np.asarray((results.status == OK) & ends)


def _beyond(value: NDArray[np.float64], bound: float) -> Mask:
    """Strictly above, by more than rounding; False where missing."""
    return np.asarray(np.where(np.isnan(value), -math.inf, value) > bound + _SLACK)
