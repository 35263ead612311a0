"""How often raters agree, and what every coefficient of agreement returns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.agreement.ratings import Ratings
from simtrack.inference.numerics.special import t_critical
from simtrack.inference.rates.bounded_mean import bounded_mean
from simtrack.options import Computation, Guarantee, WeightScheme, choice
from simtrack.validate import open_unit

__all__ = ["Agreement", "Parts", "agreement_weights", "linearised", "percent_agreement"]

#: An influence below this share of 1 is rounding, not spread.
_ROUNDING = 1e-13
#: Step of the complex derivative: its error is the square of this, nothing cancels.
_STEP = 1e-100

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well do raters agree beyond what they would by chance?

    Attributes
    ----------
    name : str
        The coefficient.
    value : float or None
        None where it is not defined; `notes` say why. Leave such values out of averages.
    observed, expected : float or None
        Agreement seen (weighted, if weights are), and the agreement by chance that it is held
        against.
    se, low, high : float or None
        Linearised standard error over clusters with G/(G-1), and the interval with t(G-1).
    level : float
    df : float or None
        G - 1; None for the share that agrees.
    units, clusters, ratings : int
        Units with two ratings or more, clusters, and ratings used.
    categories : tuple of str
    weights : str
        How near misses count: "identity" (not at all), "linear", "quadratic", or the level of
        measurement for Krippendorff's α.
    notes : tuple of str
    """

    name: str
    value: float | None
    observed: float | None
    expected: float | None
    se: float | None
    low: float | None
    high: float | None
    level: float
    df: float | None
    units: int
    clusters: int
    ratings: int
    categories: tuple[str, ...]
    weights: str
    notes: tuple[str, ...] = ()
    method: str = "linearised over clusters, t(G-1)"
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        plain = asdict(self)
        lists = {"categories": list(self.categories), "notes": list(self.notes)}
        return {"schema": "simtrack.agreement/1"} | plain | lists

    def __repr__(self) -> str:
        if self.value is None:
            return f"Agreement({self.name}: not defined, {self.units} units)"
        ends = "no interval" if self.low is None else f"{self.low:.4f} to {self.high:.4f}"
        return f"Agreement({self.name} {self.value:.4f}, {ends}, {self.units} units)"


class Parts(NamedTuple):
    """Observed and expected agreement from sums over clusters, real or complex."""

    observed: Array | Complex
    expected: Array | Complex


def percent_agreement(ratings: Ratings, *, level: float = 0.95) -> Agreement:
    """How often do two raters of a unit give it the same label?

    The mean over units of the share of rater pairs that agree, with the interval of the
    bounded mean of clusters (`bounded_mean`). Units with fewer than two ratings say nothing
    and are counted in the notes.

    Examples
    --------
    >>> found = percent_agreement(Ratings.from_rows([["a", "a"], ["a", "b"], ["b", "b"]]))
    >>> round(found.value, 4), found.units
    (0.6667, 3)
    """
    open_unit("level", level)
    size = ratings.counts.sum(axis=1)
    usable = size > 1
    share = pair_agreement(ratings.counts, np.eye(len(ratings.categories)))[:, None]
    sums = ratings.by_cluster(np.concatenate([share, usable[:, None], share**2], axis=1))
    totals = Totals.from_arrays(sums[:, 0], sums[:, 1], square=sums[:, 2]).column(0)
    ends = bounded_mean(totals, level=level)
    value = real_or_none(totals.rates()[0])
    return Agreement(
        "percent agreement",
        value,
        value,
        None,
        None,
        real_or_none(ends.low[0]),
        real_or_none(ends.high[0]),
        level,
        None,
        int(usable.sum()),
        len(totals.clusters),
        int(size[usable].sum()),
        ratings.categories,
        "identity",
        (*ends.notes[0], *left_out(ratings)),
        ends.method,
        ends.computation,
        ends.guarantee,
    )


def linearised(
    name: str,
    parts: Callable[[Array | Complex], Parts],
    sums: Array,
    ratings: Ratings,
    *,
    weights: str,
    level: float,
    reason: str,
    notes: tuple[str, ...] = (),
) -> Agreement:
    """How precise is (observed - expected) / (1 - expected), a function of sums over clusters?

    The influence of cluster g is the derivative of the coefficient in the weight of that cluster,
    by a complex step (exact to rounding); the variance is G/(G-1) Σ (influence - mean)². With
    units as clusters this is the usual large-sample variance of κ, times n/(n-1).

    Parameters
    ----------
    parts : callable
        From sums of shape (…, statistics) to observed and expected agreement of shape (…).
    sums : float64 array, shape (clusters, statistics)
    reason : str
        What to say where the coefficient is 0/0.
    """
    open_unit("level", level)
    size = ratings.counts.sum(axis=1)
    units, total = int((size > 1).sum()), sums.sum(axis=0)
    used = sums[np.abs(sums).sum(axis=1) > 0]
    notes = (*notes, *left_out(ratings))

    def result(
        value: float | None,
        observed: float | None,
        expected: float | None,
        interval: _Interval,
        *more: str,
    ) -> Agreement:
        df = None if interval.low is None else len(used) - 1.0
        return Agreement(
            name, value, observed, expected, interval.se, interval.low, interval.high, level, df,
            units, len(used), int(size.sum()), ratings.categories, weights,
            (*more, *notes, *interval.notes),
        )  # fmt: skip

    if units == 0:
        return result(None, None, None, _Interval(), "not defined: no unit has two ratings")
    seen, chance = (float(np.real(p)) for p in parts(total))
    if abs(1.0 - chance) <= _ROUNDING:
        return result(None, seen, chance, _Interval(), reason)
    value = 1.0 - (1.0 - seen) / (1.0 - chance)
    return result(value, seen, chance, _interval(value, parts, total, used, level))


def agreement_weights(
    scheme: WeightScheme, categories: tuple[str, ...], scores: tuple[float, ...] | None = None
) -> Array:
    """Say how much two labels agree: 1 for equal ones, less for those further apart.

    With s the scores of the categories (their positions by default): "identity" 0 for unequal
    labels, "linear" 1 - |s_i - s_j| / range, "quadratic" 1 - (s_i - s_j)² / range².

    Examples
    --------
    >>> agreement_weights("quadratic", ("low", "mid", "high"))[0].tolist()
    [1.0, 0.75, 0.0]
    """
    choice("weights", scheme, WeightScheme)
    size = len(categories)
    if scores is not None and (len(scores) != size or len(set(scores)) != size):
        raise InputError("scores", f"{size} different numbers, one a category", scores)
    place = np.arange(size, dtype=np.float64) if scores is None else np.array(scores, dtype=float)
    if scheme == "identity" or size < 2:
        return np.eye(size)
    apart: Array = np.abs(place[:, None] - place[None, :]) / (place.max() - place.min())
    return np.asarray(1.0 - (apart if scheme == "linear" else apart**2))


def pair_agreement(counts: NDArray[np.int64], weights: Array) -> Array:
    """Give each unit's mean weight over its ordered pairs of ratings, 0 with fewer than two."""
    size = counts.sum(axis=1)
    near = np.einsum("uk,kl->ul", counts.astype(np.float64), weights)
    pairs = np.asarray((counts * (near - 1.0)).sum(axis=1))
    out: Array = np.zeros(len(size))
    np.divide(pairs, size * (size - 1.0), out=out, where=size > 1)
    return out


def left_out(ratings: Ratings) -> tuple[str, ...]:
    """Say how many units have fewer than two ratings."""
    few = int((ratings.counts.sum(axis=1) < 2).sum())
    return (f"{few} units with fewer than two ratings say nothing of agreement",) if few else ()


def real_or_none(number: float) -> float | None:
    """Give a float, or None for NaN."""
    return None if math.isnan(number) else float(number)


class _Interval(NamedTuple):
    se: float | None = None
    low: float | None = None
    high: float | None = None
    notes: tuple[str, ...] = ()


def _interval(
    value: float,
    parts: Callable[[Array | Complex], Parts],
    total: Array,
    used: Array,
    level: float,
) -> _Interval:
    groups = len(used)
    if groups < 2:
        why = "no interval: one cluster cannot say how much clusters differ"
        return _Interval(notes=(why,))
    seen, chance = parts(total + 1j * _STEP * used)
    influence = np.imag(1.0 - (1.0 - seen) / (1.0 - chance)) / _STEP
    influence = influence - influence.sum() / groups
    if np.abs(influence).max() <= _ROUNDING:
        why = "no interval: every cluster agrees alike, so its width would be 0"
        return _Interval(0.0, notes=(why,))
    se = math.sqrt(groups / (groups - 1.0) * float((influence * influence).sum()))
    half = t_critical(level, groups - 1.0) * se
    if value + half > 1.0:
        return _Interval(se, value - half, 1.0, ("the interval is cut off at 1",))
    return _Interval(se, value - half, value + half)
