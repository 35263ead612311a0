"""Sign-flip p-values of many simulated data sets at once, for loops over power and size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.signflip_law import MOST_LISTED, TIE_TOLERANCE
from simtrack.options import Alternative, choice

__all__ = ["sign_flip_pvalues"]

_SIDES = {"two-sided": 0, "greater": 1, "less": -1}
#: Sums of absolute differences up to here are convolved: a row takes at most some milliseconds.
_MOST_TOTAL = 1 << 20


def sign_flip_pvalues(
    differences: ArrayLike, *, alternative: Alternative = "two-sided"
) -> NDArray[np.float64]:
    """What is the exact sign-flip p-value of each of many vectors of cluster differences?

    The same numbers as `sign_flip` one by one, to 2^-52 a cluster, some thousand times quicker.
    Integers of any number of clusters are convolved; reals are counted up to 44 clusters by
    matching two halves, sums within 1e-12 of Σ|d| being ties. Multiply rates by their common
    denominator to stay with integers.

    Parameters
    ----------
    differences : array_like, shape (replicates, clusters)
        Integers or floats. NaN is a cluster that is missing in that replicate.

    Returns
    -------
    float64, shape (replicates,)
        1 where every difference is 0 or missing.

    Raises
    ------
    InputError
        Reals of more than 44 clusters, integers with a sum beyond 2^20, infinite values.

    References
    ----------
    Pagano and Tritchler (1983), JASA 78, 435-440; Horowitz and Sahni (1974), J. ACM 21, 277-292.

    Examples
    --------
    >>> sign_flip_pvalues([[7, 1, -3, 2, 3], [1, 1, 1, 1, 1]]).tolist()
    [0.375, 0.0625]
    """
    from simtrack.kernels.signflip import flip_integers, flip_reals

    choice("alternative", alternative, Alternative)
    rows = np.asarray(differences)
    if rows.ndim != 2 or rows.dtype.kind not in "iuf":
        raise InputError("differences", "numbers, replicates by clusters", rows.shape)
    if rows.dtype.kind != "f":
        whole: NDArray[np.int64] | None = np.ascontiguousarray(rows, dtype=np.int64)
    else:
        whole = _as_whole(rows)
    out = np.empty(len(rows))
    if whole is not None and _largest_total(whole) <= _MOST_TOTAL:
        flip_integers(whole, _SIDES[alternative], out)
        return out
    if rows.shape[1] > MOST_LISTED:
        raise InputError(
            "differences",
            f"integers with sums of sizes up to {_MOST_TOTAL}, or reals of {MOST_LISTED} clusters",
            f"{rows.shape[1]} clusters",
            cure="Multiply rates by their common denominator.",
        )
    flip_reals(np.ascontiguousarray(rows, np.float64), _SIDES[alternative], TIE_TOLERANCE, out)
    return out


def _as_whole(rows: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Give floats that are whole numbers as such, missing ones as 0 (which no flip moves)."""
    if np.isinf(rows).any():
        raise InputError("differences", "finite or NaN", "infinity")
    filled = np.where(np.isnan(rows), 0.0, rows)
    if (np.abs(filled) > _MOST_TOTAL).any() or (filled != np.rint(filled)).any():
        return None
    return np.ascontiguousarray(filled, dtype=np.int64)


def _largest_total(whole: NDArray[np.int64]) -> int:
    if whole.size == 0:
        return 0
    if int(whole.max()) > _MOST_TOTAL or int(whole.min()) < -_MOST_TOTAL:
        return _MOST_TOTAL + 1
    return int(np.abs(whole).sum(axis=1).max())
