"""How large is a contrast of pooled ratios, with an interval that respects clusters?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.special import t_critical
from simtrack.options import Computation, Guarantee
from simtrack.validate import confidence_level

__all__ = ["ContrastT", "contrast_t"]

#: A standard error below this is rounding, not spread.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, repr=False)
class ContrastT:
    """What is Σ weight · (Σ numerator / Σ denominator), and how far may it be off?

    Attributes
    ----------
    estimate : float or None
        None where a term has no trial.
    se, low, high : float or None
        Linearised cluster standard error, and the interval with t(K-1), where K is how many
        clusters the term with the fewest has; None where K is 1, or without spread.
    clusters : int
        Clusters with a trial in any term of weight.
    notes : tuple of str
    """

    estimate: float | None
    se: float | None
    low: float | None
    high: float | None
    clusters: int
    level: float
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        if self.estimate is None:
            return "ContrastT(not defined)"
        ends = "no interval" if self.low is None else f"{self.low:+.4f} to {self.high:+.4f}"
        return f"ContrastT({self.estimate:+.4f}, {ends}, {self.clusters} clusters)"


def contrast_t(totals: Totals, weights: ArrayLike, *, level: float = 0.95) -> ContrastT:
    """How large is a contrast of pooled ratios whose terms share their clusters?

    The influence of a cluster is Σ_c w_c (x_gc - p_c m_gc) / M_c; the variance is
    G/(G-1) Σ_g influence², so that terms which go together within clusters are paired. Degrees of
    freedom are the clusters of the term that has fewest, less one: G-1 where all have all terms.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, terms).
    weights : array_like, shape (terms,)
        As `Contrast.stacked` gives them.
    level : float

    References
    ----------
    Liang and Zeger (1986), Biometrika 73, 13-22; Woodruff (1971), JASA 66, 411-414.

    Examples
    --------
    >>> passed = [[4, 1], [3, 1], [4, 2], [2, 2], [4, 0], [3, 0], [4, 1]]
    >>> contrast_t(Totals.from_arrays(passed, [[4, 4]] * 7), [1, -1])
    ContrastT(+0.6071, +0.3129 to +0.9013, 7 clusters)
    """
    level = confidence_level("level", level)
    w = np.asarray(weights, dtype=np.float64)
    top, bottom = totals.numerator, totals.denominator
    if w.shape != (bottom.shape[1],) or not np.isfinite(w).all():
        raise InputError("weights", f"{bottom.shape[1]} finite numbers", w.tolist())
    sizes = bottom.sum(axis=0)
    here = (bottom[:, w != 0] > 0).any(axis=1)
    clusters = int(here.sum())
    if (sizes[w != 0] <= 0).any():
        empty = [str(totals.conditions[c][0]) for c in np.flatnonzero((sizes <= 0) & (w != 0))]
        note = f"not defined: no trial in {', '.join(empty)}"
        return ContrastT(None, None, None, None, clusters, level, (note,))
    used = w != 0
    rates = top[:, used].sum(axis=0) / sizes[used]
    estimate = math.fsum((w[used] * rates).tolist())
    if clusters < 2:
        note = "no standard error: one cluster"
        return ContrastT(estimate, None, None, None, clusters, level, (note,))
    fewest = int((bottom[:, used] > 0).sum(axis=0).min())
    if fewest < 2:
        note = "no standard error: a term has trials in one cluster only"
        return ContrastT(estimate, None, None, None, clusters, level, (note,))
    lacking: tuple[str, ...] = ()
    if fewest < clusters:
        lacking = (f"a term has trials in {fewest} of {clusters} clusters: t({fewest - 1})",)
    shares = w[used] * (top[:, used] - rates * bottom[:, used]) / sizes[used]
    influence = shares.sum(axis=1)[here]
    variance = clusters / (clusters - 1.0) * math.fsum((influence**2).tolist())
    se = math.sqrt(variance)
    if se <= _ROUNDING * max(1.0, abs(estimate)):
        note = "no interval: clusters show no spread, so their standard error says nothing"
        return ContrastT(estimate, 0.0, None, None, clusters, level, (note, *lacking))
    half = t_critical(level, fewest - 1.0) * se
    return ContrastT(estimate, se, estimate - half, estimate + half, clusters, level, lacking)
