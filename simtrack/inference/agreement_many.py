"""Agreement of two raters or more: Fleiss' κ and Gwet's AC1 and AC2."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.inference.agreement import (
    Agreement,
    Parts,
    agreement_weights,
    linearised,
    pair_agreement,
)
from simtrack.inference.agreement_ratings import Ratings
from simtrack.options import WeightScheme

__all__ = ["fleiss_kappa", "gwet_ac"]

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Chance = Callable[[Array | Complex], Array | Complex]


def fleiss_kappa(
    ratings: Ratings | ArrayLike,
    *,
    weights: WeightScheme = "identity",
    scores: Sequence[float] | None = None,
    level: float = 0.95,
) -> Agreement:
    """How much better than chance do several raters agree, who need not be the same for all units?

    κ = (P - P_e) / (1 - P_e): P is the mean over units of the share of rater pairs that agree, and
    P_e = Σ w_kl π_k π_l, with π_k the mean share of category k. Units may have different numbers
    of ratings (those with one count in π only).

    Parameters
    ----------
    ratings : Ratings, or a table of units by categories
        The table holds how many raters chose each category, and all its rows must add up to the
        number of raters.
    weights, scores, level
        As in `cohen_kappa`.

    References
    ----------
    Fleiss (1971), Psychol. Bull. 76, 378-382, eq. 3, 5, 7. Missing ratings, weights and
    standard error: Gwet (2014), Handbook of Inter-Rater Reliability, 4th ed., chapters 2 and 5.

    Examples
    --------
    >>> round(fleiss_kappa([[2, 1, 0], [0, 3, 0], [0, 0, 3], [3, 0, 0]]).value, 10)
    0.7446808511
    """
    table = _as_ratings(ratings)
    matrix = agreement_weights(weights, table.categories, None if scores is None else tuple(scores))

    def chance(share: Array | Complex) -> Array | Complex:
        return np.asarray(np.einsum("...k,...l,kl->...", share, share, matrix))

    reason = "not defined: one label only, so agreement by chance is 1 and κ is 0/0"
    return _from_shares("Fleiss κ", table, matrix, chance, weights, level, reason)


def gwet_ac(
    ratings: Ratings | ArrayLike,
    *,
    weights: WeightScheme = "identity",
    scores: Sequence[float] | None = None,
    level: float = 0.95,
) -> Agreement:
    """How much better than chance do raters agree, where one label is far more common?

    AC1 (AC2 with weights) holds agreement against
    P_e = Σ w_kl / (q (q - 1)) · Σ π_k (1 - π_k) over q categories, which stays small where κ's
    grows towards 1. It depends on q: declare the categories that could have been used.

    Parameters
    ----------
    ratings, weights, scores, level
        As in `fleiss_kappa`.

    References
    ----------
    Gwet (2008), Br. J. Math. Stat. Psychol. 61, 29-48, eq. 8 and 9; (2014), Handbook, 4th ed.,
    chapters 4 and 5.

    Examples
    --------
    >>> found = gwet_ac(Ratings.from_rows([["ok", "ok"]] * 9 + [["ok", "bad"]]))
    >>> round(found.value, 4), round(found.observed, 4)
    (0.8895, 0.9)
    """
    table = _as_ratings(ratings)
    matrix = agreement_weights(weights, table.categories, None if scores is None else tuple(scores))
    q = len(table.categories)
    scale = float(matrix.sum()) / (q * (q - 1.0)) if q > 1 else np.nan

    def chance(share: Array | Complex) -> Array | Complex:
        if q < 2:
            return np.ones_like(share[..., 0])
        return np.asarray(scale * (share * (1.0 - share)).sum(axis=-1))

    reason = "not defined: one category; declare the others that raters could have used"
    name = "Gwet AC1" if weights == "identity" else "Gwet AC2"
    return _from_shares(name, table, matrix, chance, weights, level, reason)


def _as_ratings(ratings: Ratings | ArrayLike) -> Ratings:
    return ratings if isinstance(ratings, Ratings) else Ratings.from_counts(ratings)


def _from_shares(
    name: str,
    table: Ratings,
    matrix: Array,
    chance: Chance,
    weights: str,
    level: float,
    reason: str,
) -> Agreement:
    size = table.counts.sum(axis=1)
    share = table.counts / np.maximum(size, 1)[:, None]
    agree = pair_agreement(table.counts, matrix)
    columns = [agree[:, None], (size > 1)[:, None], (size > 0)[:, None], share]
    sums = table.by_cluster(np.concatenate(columns, axis=1))

    def parts(total: Array | Complex) -> Parts:
        seen = total[..., 0] / total[..., 1]
        return Parts(seen, chance(total[..., 3:] / total[..., 2:3]))

    return linearised(name, parts, sums, table, weights=weights, level=level, reason=reason)
