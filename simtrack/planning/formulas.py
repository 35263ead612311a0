"""Textbook formulas for power, to start from and to check simulation against."""

from __future__ import annotations

import math
from collections.abc import Callable

from simtrack.agents.heterogeneity import design_effect
from simtrack.errors import InputError
from simtrack.inference.numerics.special import normal_cdf, normal_quantile, t_quantile
from simtrack.options import Alternative, choice
from simtrack.validate import open_unit, real

__all__ = ["arcsine_effect", "arcsine_power", "arcsine_size", "clusters_per_arm",
           "two_arm_cluster_power"]  # fmt: skip

_LARGEST = 1e12
_MOST_CLUSTERS = 1e6


def arcsine_effect(first: float, second: float) -> float:
    """How far apart are two rates on the scale on which their variance is constant (Cohen's h)?

    Examples
    --------
    >>> round(arcsine_effect(0.5, 0.4), 7)
    0.2013579
    """
    return 2.0 * math.asin(math.sqrt(first)) - 2.0 * math.asin(math.sqrt(second))


def arcsine_power(
    effect: float,
    n_first: float,
    n_second: float | None = None,
    *,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> float:
    """How likely is a z test of rates, on the arcsine scale, to reject?

    For independent trials; leave `n_second` out to test one rate against a fixed one.

    References
    ----------
    Cohen (1988), Statistical Power Analysis, chapter 6.

    Examples
    --------
    >>> round(arcsine_power(arcsine_effect(0.5, 0.4), 60), 7)
    0.3447014
    """
    choice("alternative", alternative, Alternative)
    n = n_first if n_second is None else n_first * n_second / (n_first + n_second)
    shift = effect * math.sqrt(real("n", n, 0.0))
    if alternative == "two-sided":
        z = -normal_quantile(0.5 * open_unit("alpha", alpha))
        return normal_cdf(shift - z) + normal_cdf(-shift - z)
    z = -normal_quantile(open_unit("alpha", alpha))
    return normal_cdf((shift if alternative == "greater" else -shift) - z)


def arcsine_size(
    effect: float,
    power: float,
    *,
    n_first: float | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> float:
    """How many trials (not rounded) give this power: of one sample, or of the second of two?

    With `n_first` given, the answer is the size of the other sample.

    Examples
    --------
    >>> round(arcsine_size(0.2, 0.95), 4)
    324.8677
    """
    open_unit("power", power)

    def reached(n: float) -> bool:
        pair = (n, None) if n_first is None else (n_first, n)
        return arcsine_power(effect, *pair, alpha=alpha, alternative=alternative) >= power

    if not reached(_LARGEST):
        raise InputError("power", "one that some number of trials gives", power)
    return _smallest(reached, 1e-9, _LARGEST)


def two_arm_cluster_power(
    first: float, second: float, clusters: float, trials: float, icc: float, *, alpha: float = 0.05,
) -> float:  # fmt: skip
    """How likely is a z test of two arms with clusters of their own to reject?

    `clusters` of each arm, `trials` of each cluster; normal, unpooled variance, both sides' nearer
    tail only.

    References
    ----------
    Donner and Klar (2000), Design and Analysis of Cluster Randomization Trials, chapter 5.

    Examples
    --------
    >>> round(two_arm_cluster_power(0.1, 0.2, 13, 150, 0.05), 7)
    0.8595398
    """
    error = math.sqrt(_variance(first, second, trials, icc) / clusters)
    return normal_cdf(abs(first - second) / error + normal_quantile(0.5 * alpha))


def clusters_per_arm(
    first: float,
    second: float,
    trials: float,
    icc: float,
    power: float,
    *,
    alpha: float = 0.05,
    is_t: bool = True,
) -> float:
    """How many clusters an arm (not rounded) give this power, arms having clusters of their own?

    By the noncentral t with 2 (k - 1) degrees of freedom, or by the normal law.

    References
    ----------
    Donner and Klar (2000), chapter 5.

    Examples
    --------
    >>> round(clusters_per_arm(0.1, 0.2, 150, 0.05, 0.8), 4)
    12.0938
    """
    open_unit("power", power)
    unit = _variance(first, second, trials, icc) / (first - second) ** 2

    def reached(k: float) -> bool:
        shift = math.sqrt(k / unit)
        if not is_t:
            return normal_cdf(shift + normal_quantile(0.5 * alpha)) >= power
        from scipy.special import nctdtr

        df = 2.0 * (k - 1.0)
        return bool(1.0 - nctdtr(df, shift, t_quantile(1.0 - 0.5 * alpha, df)) >= power)

    return _smallest(reached, 1.01, _MOST_CLUSTERS)


def _variance(first: float, second: float, trials: float, icc: float) -> float:
    inside = first * (1.0 - first) + second * (1.0 - second)
    return inside * design_effect(icc, trials) / trials


def _smallest(reached: Callable[[float], bool], low: float, high: float) -> float:
    """Bisect for the smallest number at which a monotone condition holds."""
    for _ in range(200):
        middle = math.sqrt(low * high)
        if reached(middle):
            high = middle
        else:
            low = middle
        if high - low <= 1e-10 * high:
            break
    return high
