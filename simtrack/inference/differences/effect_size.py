"""Cohen's d of two sets of scores and Cohen's h of two rates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.numerics.special import normal_quantile
from simtrack.options import Computation, Guarantee, choice
from simtrack.validate import open_unit, real

__all__ = ["EffectSize", "Standardizer", "cohen_d", "cohen_d_paired", "cohen_h"]

#: By which standard deviation a difference of means is divided.
Standardizer = Literal["pooled", "second", "average"]
PairedStandardizer = Literal["difference", "average"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EffectSize:
    """How large is a difference, in units that do not depend on the scale?

    Attributes
    ----------
    name : str
        "Cohen d", "Hedges g" or "Cohen h".
    value : float or None
        First minus second; None where there is no spread to divide by (see `notes`).
    difference : float
        The difference itself.
    standardizer : str
        What it was divided by, in words.
    spread : float or None
        That standard deviation.
    se, low, high : float or None
        Large-sample standard error, and the normal interval.
    level : float
    notes : tuple of str
    """

    name: str
    value: float | None
    difference: float
    standardizer: str
    spread: float | None
    se: float | None
    low: float | None
    high: float | None
    level: float
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        lists = {"notes": list(self.notes)}
        return {"schema": "simtrack.effect-size/1"} | asdict(self) | lists

    def __repr__(self) -> str:
        if self.value is None:
            return f"EffectSize({self.name}: not defined)"
        return f"EffectSize({self.name} {self.value:.4f}, by the {self.standardizer})"


def cohen_d(
    first: ArrayLike,
    second: ArrayLike,
    *,
    by: Standardizer = "pooled",
    unbiased: bool = False,
    level: float = 0.95,
) -> EffectSize:
    """How many standard deviations lie between the means of two independent samples?

    Parameters
    ----------
    first, second : array_like of float
        Scores; pass one mean a cluster where scores come in clusters.
    by : "pooled", "second" or "average"
        The pooled standard deviation; that of the second sample (Glass's Δ, with `second` the
        control); or the root of the mean of both variances.
    unbiased : bool
        Multiply by 1 - 3 / (4 df - 1): Hedges' g.
    level : float
        Confidence level. The standard error is that of the pooled version,
        sqrt(1/n1 + 1/n2 + d² / (2 (n1 + n2))), and is given for it alone.

    References
    ----------
    Cohen (1988), Statistical Power Analysis, 2nd ed., eq. 2.2.1 and 2.5.2. Hedges and Olkin
    (1985), Statistical Methods for Meta-Analysis, chapter 5, eq. 10 and 15.

    Examples
    --------
    >>> found = cohen_d([2, 4, 6], [1, 2, 3])
    >>> round(found.value, 4), found.standardizer
    (1.2649, 'pooled standard deviation')
    """
    choice("by", by, Standardizer)
    open_unit("level", level)
    x, y = _sample("first", first), _sample("second", second)
    gap = float(x.mean() - y.mean())
    n1, n2 = x.size, y.size
    v1, v2 = float(x.var(ddof=1)), float(y.var(ddof=1))
    pooled = ((n1 - 1) * v1 + (n2 - 1) * v2) / (n1 + n2 - 2)
    variance = {"pooled": pooled, "second": v2, "average": (v1 + v2) / 2.0}[by]
    words = {
        "pooled": "pooled standard deviation",
        "second": "standard deviation of the second sample",
        "average": "root mean variance of both samples",
    }[by]
    df = n2 - 1.0 if by == "second" else n1 + n2 - 2.0
    name, factor = ("Hedges g", 1.0 - 3.0 / (4.0 * df - 1.0)) if unbiased else ("Cohen d", 1.0)
    scale = max(float(np.abs(x).max()), float(np.abs(y).max()))
    if variance <= (1e-15 * scale) ** 2:
        return _flat(name, gap, words, level)
    d = gap / math.sqrt(variance)
    if by != "pooled":
        why = f"no interval: the standard error of d by the {words} is not offered"
        spread = math.sqrt(variance)
        return EffectSize(name, factor * d, gap, words, spread, None, None, None, level, (why,))
    se = factor * math.sqrt(1.0 / n1 + 1.0 / n2 + d * d / (2.0 * (n1 + n2)))
    return _normal(name, factor * d, gap, words, math.sqrt(variance), se, level)


def cohen_d_paired(
    first: ArrayLike,
    second: ArrayLike,
    *,
    by: PairedStandardizer = "difference",
    level: float = 0.95,
) -> EffectSize:
    """How many standard deviations lie between two scores of the same clusters?

    Parameters
    ----------
    first, second : array_like of float, shape (clusters,)
        Matched by position: one mean a cluster and condition.
    by : "difference" or "average"
        The standard deviation of the differences (d_z, which grows with the correlation), or the
        root of the mean of both variances (d_av, comparable with independent samples).
    level : float

    References
    ----------
    Cohen (1988), section 2.3.5; Lakens (2013), Frontiers in Psychology 4, 863, eq. 6 and 10;
    standard error of d_z: Becker (1988), sqrt(1/n + d²/(2n)).

    Examples
    --------
    >>> round(cohen_d_paired([3, 5, 7, 6], [2, 3, 6, 4]).value, 4)
    2.5981
    """
    choice("by", by, PairedStandardizer)
    open_unit("level", level)
    x, y = _sample("first", first), _sample("second", second)
    if x.size != y.size:
        raise InputError("second", f"of {x.size} scores, as the first", y.size)
    gaps = x - y
    gap, n = float(gaps.mean()), gaps.size
    average = (float(x.var(ddof=1)) + float(y.var(ddof=1))) / 2.0
    variance = float(gaps.var(ddof=1)) if by == "difference" else average
    words = (
        "standard deviation of the differences"
        if by == "difference"
        else "root mean variance of both conditions"
    )
    if variance <= (1e-15 * float(np.abs(np.concatenate([x, y])).max())) ** 2:
        return _flat("Cohen d", gap, words, level)
    d, spread = gap / math.sqrt(variance), math.sqrt(variance)
    if by == "average":
        why = "no interval: the standard error of d by the average variance is not offered"
        return EffectSize("Cohen d", d, gap, words, spread, None, None, None, level, (why,))
    se = math.sqrt(1.0 / n + d * d / (2.0 * n))
    return _normal("Cohen d", d, gap, words, spread, se, level)


def cohen_h(
    first: float,
    second: float,
    *,
    n_first: float | None = None,
    n_second: float | None = None,
    level: float = 0.95,
) -> EffectSize:
    """How far apart are two rates on the scale on which their variance is constant?

    h = 2 asin sqrt(p1) - 2 asin sqrt(p2), with standard error sqrt(1/n1 + 1/n2) where the numbers
    of trials are given: the effective ones for trials in clusters.

    Parameters
    ----------
    first, second : float in [0, 1]
    n_first, n_second : float above 0, optional
        Effective numbers of independent trials.

    References
    ----------
    Cohen (1988), section 6.2, eq. 6.2.1.

    Examples
    --------
    >>> round(cohen_h(0.5, 0.4).value, 7)
    0.2013579
    """
    open_unit("level", level)
    p, q = real("first", first, 0.0, 1.0), real("second", second, 0.0, 1.0)
    h = 2.0 * (math.asin(math.sqrt(p)) - math.asin(math.sqrt(q)))
    words = "arcsine scale"
    if n_first is None or n_second is None:
        why = "no interval: give n_first and n_second, effective numbers of trials"
        return EffectSize("Cohen h", h, p - q, words, None, None, None, None, level, (why,))
    sizes = [real("n_first", n_first, 0.0), real("n_second", n_second, 0.0)]
    if 0.0 in sizes:
        raise InputError("n_first and n_second", "above 0", sizes)
    se = math.sqrt(sum(1.0 / size for size in sizes))
    return _normal("Cohen h", h, p - q, words, None, se, level)


def _sample(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size < 2 or not np.isfinite(array).all():
        raise InputError(name, "two finite numbers or more, in a plain list", array.shape)
    return array


def _flat(name: str, gap: float, words: str, level: float) -> EffectSize:
    why = f"not defined: the {words} is 0"
    return EffectSize(name, None, gap, words, 0.0, None, None, None, level, (why,))


def _normal(
    name: str, value: float, gap: float, words: str, spread: float | None, se: float, level: float
) -> EffectSize:
    half = -normal_quantile((1.0 - level) / 2.0) * se
    return EffectSize(name, value, gap, words, spread, se, value - half, value + half, level)
