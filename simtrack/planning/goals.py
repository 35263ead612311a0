"""What counts as success of a study: a difference shown, equivalence, a gain ruled out, a width."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named import Analysis
from simtrack.errors import InputError
from simtrack.options import Alternative, choice
from simtrack.results import OK, Results
from simtrack.validate import open_unit, real

__all__ = ["Differs", "Equivalent", "Excludes", "Goal", "Narrow", "goal_results"]

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: p-values at alpha reject: sums of fractions may miss it by rounding.
_SLACK = 1e-12
#: Decimals that a level keeps: 1 - 0.07 is 0.93, not 0.9299999999999999.
_DIGITS = 12
_LEAST_ALPHA, _LARGEST_ALPHA = 1e-7, 0.49


class Goal(Protocol):
    """When has a study reached what it was done for?"""

    @property
    def alpha(self) -> float | None:
        """The level of the test, as typed; None where nothing is tested."""
        ...

    def level(self, analysis: Analysis) -> float:
        """Give the level of the intervals that the decision needs."""
        ...

    def tests(self, analysis: Analysis) -> tuple[tuple[float, Alternative], ...]:
        """Give the nulls that p-values are needed for, each with its alternative, if any are."""
        ...

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has; False where there is no answer."""
        ...

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether there is an answer."""
        ...

    def words(self) -> str:
        """Say in a line what counts as success."""
        ...

    def to_dict(self) -> dict[str, object]:
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
        _check_alpha(self.alpha)
        choice("alternative", self.alternative, Alternative)
        real("null", self.null)

    def level(self, analysis: Analysis) -> float:
        """1 - alpha; 1 - 2 alpha where one end of a two-sided interval decides."""
        one_sided = self.alternative != "two-sided" and not analysis.method.has_pvalue
        return _level_for(self.alpha, 2 if one_sided else 1)

    def tests(self, analysis: Analysis) -> tuple[tuple[float, Alternative], ...]:
        """The null of the analysis, where it has a p-value."""
        stated = float(dict(analysis.options).get("null", self.null))
        return ((stated, self.alternative),)

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it rejects."""
        if self._by_pvalue(results, analysis):
            return _rejects(results, self.alpha)
        above, below = _beyond(results.low, self.null), _beyond(-results.high, -self.null)
        either = {"greater": above, "less": below, "two-sided": above | below}
        return np.asarray(either[self.alternative])

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has the p-value or the interval."""
        if self._by_pvalue(results, analysis):
            return _has_p(results)
        return _has_interval(results)

    def words(self) -> str:
        """Say what counts as success."""
        null = f", null {self.null:g}" if self.null else ""
        return f"{self.alternative}, alpha {self.alpha:.12g}{null}"

    def to_dict(self) -> dict[str, object]:
        """Give plain data."""
        return {"kind": "differs"} | asdict(self)

    def _by_pvalue(self, results: Results, analysis: Analysis) -> bool:
        """Say whether the p-value decides; one of a method in a loop is about 0 alone."""
        return analysis.method.has_pvalue or (self.null == 0.0 and _has_pvalues(results))


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
        _check_alpha(self.alpha, _LARGEST_ALPHA)
        if not real("low", self.low) < real("high", self.high):
            raise InputError("low", "below high", f"{self.low} and {self.high}")

    def level(self, analysis: Analysis) -> float:
        """1 - 2 alpha."""
        return _level_for(self.alpha, 2)

    def tests(self, analysis: Analysis) -> tuple[tuple[float, Alternative], ...]:
        """Both limits, of a test that can be about them; others decide by their interval."""
        return ((self.low, "greater"), (self.high, "less")) if _tests_nulls(analysis) else ()

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether both tests reject, or its interval lies inside."""
        if _tests_nulls(analysis):
            return _rejects(results, self.alpha)
        return _beyond(results.low, self.low) & _beyond(-results.high, -self.high)

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has what decides."""
        return _has_p(results) if _tests_nulls(analysis) else _has_interval(results)

    def words(self) -> str:
        """Say what counts as success."""
        return f"within {self.low:g} to {self.high:g}, alpha {self.alpha:.12g} each side"

    def to_dict(self) -> dict[str, object]:
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
        _check_alpha(self.alpha, _LARGEST_ALPHA)
        if real("gain", self.gain) == 0.0:
            raise InputError("gain", "other than 0", self.gain)

    def level(self, analysis: Analysis) -> float:
        """1 - 2 alpha, of which one end is used."""
        return _level_for(self.alpha, 2)

    def tests(self, analysis: Analysis) -> tuple[tuple[float, Alternative], ...]:
        """The gain, of a test that can be about it; others decide by their interval."""
        side: Alternative = "less" if self.gain > 0.0 else "greater"
        return ((self.gain, side),) if _tests_nulls(analysis) else ()

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether the test rejects, or its limit is on the right side."""
        if _tests_nulls(analysis):
            return _rejects(results, self.alpha)
        if self.gain > 0.0:
            return _beyond(-results.high, -self.gain)
        return _beyond(results.low, self.gain)

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has what decides."""
        return _has_p(results) if _tests_nulls(analysis) else _has_interval(results)

    def words(self) -> str:
        """Say what counts as success."""
        what = "losses" if self.gain < 0.0 else "gains"
        return f"{what} of {abs(self.gain):g} or more excluded, alpha {self.alpha:.12g}"

    def to_dict(self) -> dict[str, object]:
        """Give plain data."""
        return {"kind": "excludes"} | asdict(self)


@dataclass(frozen=True, slots=True)
class Narrow:
    """The interval, at the level of the analysis, is no wider than `width`."""

    width: float

    def __post_init__(self) -> None:
        real("width", self.width, 0.0)

    @property
    def alpha(self) -> None:
        """None: nothing is tested."""
        return

    def level(self, analysis: Analysis) -> float:
        """The analysis's own."""
        return analysis.level

    def tests(self, analysis: Analysis) -> tuple[tuple[float, Alternative], ...]:
        """None."""
        return ()

    def met(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether its interval is narrow enough."""
        width = results.high - results.low
        return np.asarray(np.where(np.isnan(width), math.inf, width) <= self.width + _SLACK)

    def answered(self, results: Results, analysis: Analysis) -> Mask:
        """Say for each study whether it has an interval."""
        return _has_interval(results)

    def words(self) -> str:
        """Say what counts as success."""
        return f"interval no wider than {self.width:g}"

    def to_dict(self) -> dict[str, object]:
        """Give plain data."""
        return {"kind": "narrow"} | asdict(self)


def _check_alpha(alpha: float, most: float = 0.99) -> None:
    """Refuse levels of a test that leave no interval to decide by."""
    open_unit("alpha", alpha)
    if not _LEAST_ALPHA <= alpha <= most:
        raise InputError("alpha", f"a share from {_LEAST_ALPHA:g} to {most:g}", alpha)


def _level_for(alpha: float, ends: int) -> float:
    return round(1.0 - ends * alpha, _DIGITS)


def goal_results(
    goal: Goal, analysis: Analysis, top: Integers, bottom: Integers, weights: Floats
) -> Results:
    """Analyse studies, (R, G, T) each, as the goal needs: one test, several, or an interval.

    Of several tests, all of which have to reject, the largest p is given.
    """
    tests = goal.tests(analysis)
    if isinstance(goal, Differs | Narrow) or not tests:
        side = goal.alternative if isinstance(goal, Differs) else "two-sided"
        level = goal.level(analysis)
        return analysis.run_arrays(top, bottom, weights, alternative=side, level=level)
    level = _level_for(goal.alpha or 0.0, 1)
    found = [
        analysis.with_options(null=null).run_arrays(
            top, bottom, weights, alternative=side, level=level
        )
        for null, side in tests
    ]
    pvalue = np.max([one.pvalue for one in found], axis=0)  # NaN where any is
    return replace(found[0], pvalue=pvalue)


def _tests_nulls(analysis: Analysis) -> bool:
    """Whether its p-value can be about any null, and decides a margin: it has no interval here."""
    return analysis.method.lattice == "sign-flip"


def _rejects(results: Results, alpha: float) -> Mask:
    p = np.where(np.isnan(results.pvalue), 2.0, results.pvalue)
    return np.asarray(p <= alpha + _SLACK)


def _has_p(results: Results) -> Mask:
    return np.asarray((results.status == OK) & ~np.isnan(results.pvalue))


def _has_pvalues(results: Results) -> bool:
    """Methods that run in a loop may have both: then the p-value decides."""
    return bool((~np.isnan(results.pvalue)).any())


def _has_interval(results: Results) -> Mask:
    ends = ~np.isnan(results.low) & ~np.isnan(results.high)
    return np.asarray((results.status == OK) & ends)


def _beyond(value: NDArray[np.float64], bound: float) -> Mask:
    """Strictly above, by more than rounding; False where missing."""
    return np.asarray(np.where(np.isnan(value), -math.inf, value) > bound + _SLACK)
