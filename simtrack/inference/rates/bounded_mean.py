"""A mean of independent scores in [0, 1] tested without a shape: Gaffke's test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["bounded_mean_p"]


def bounded_mean_p(scores: Sequence[float] | NDArray[np.float64], null: float) -> float:
    """How unusual is this mean of independent scores in [0, 1], if their common mean were `null`?

    Twice the smaller of P(Σ w_i x_i <= null) with a 0 put beside the scores, and the same of
    1 - x against 1 - null; the n + 1 weights are flat Dirichlet. A greater score never makes the
    upper tail greater, so evidence does not reverse. Of zeros and ones both tails are binomial.

    Notes
    -----
    Neither symmetry nor a shape is assumed. That each tail is valid for every law on [0, 1] is
    proved for 0/1 scores and has been conjectured since 2005 for others, without a counterexample:
    of 6000 random laws on two to four values, two to nine clusters, all outcomes enumerated, none
    erred above .047 at .05 (tests list some). Sign flips about a null far from .5 are no choice, as
    cluster means are skewed there: of eight clusters about .9 they can err above .2. Student's t
    is none either, as its p grows when a lone cluster that failed joins the others. The price is
    caution near a null of .5 with even scores.

    References
    ----------
    Gaffke (2005), Mathematical Methods of Statistics 14, 451-467; Learned-Miller and Thomas
    (2019), arXiv 1905.06208.

    Examples
    --------
    >>> bounded_mean_p([1, 1, 1, 1, 1], 0.5), round(bounded_mean_p([1, 1, 1, 1, 2 / 3], 0.5), 12)
    (0.0625, 0.09375)
    """
    x = np.asarray(scores, dtype=np.float64)
    return min(1.0, 2.0 * min(_tail(x, null), _tail(1.0 - x, 1.0 - null)))


def _tail(x: NDArray[np.float64], null: float) -> float:
    """Give P(Σ w_i x_i <= null) by the recurrence of de Boor: convex steps, so nothing cancels."""
    n = x.size
    if null >= x.max():
        return 1.0
    inner = np.sort(np.append(x, 0.0))
    knots = np.concatenate([np.full(n, inner[0]), inner, np.full(n, inner[-1])])
    place = int(np.searchsorted(inner, null, side="right")) - 1 + n
    law = (np.arange(place - n, place + 1) >= n).astype(np.float64)
    for degree in range(1, n + 1):
        at = np.arange(degree, n + 1)
        low, high = knots[at + place - n], knots[at + 1 + place - degree]
        share = (null - low) / (high - low)
        law = (1.0 - share) * law[:-1] + share * law[1:]
    return min(1.0, float(law[0]))
