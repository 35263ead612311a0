"""Cohen's κ of two raters, with or without weights for near misses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.agreement import Agreement, Parts, agreement_weights, linearised
from simtrack.inference.agreement_ratings import Ratings
from simtrack.options import WeightScheme

__all__ = ["cohen_kappa"]

_ONE_LABEL = "not defined: both raters use one label only, so agreement by chance is 1 and κ is 0/0"


def cohen_kappa(
    ratings: Ratings | ArrayLike,
    *,
    weights: WeightScheme = "identity",
    scores: Sequence[float] | None = None,
    level: float = 0.95,
) -> Agreement:
    """How much better than chance do two raters agree?

    κ = (p_o - p_e) / (1 - p_e), with p_o = Σ w_ij n_ij / n, p_e = Σ w_ij n_i. n_.j / n². The
    standard error is linearised over clusters; with units as clusters it is that of Fleiss, Cohen
    and Everitt times sqrt(n/(n-1)). Units that one of the two did not rate are left out.

    Coverage of the 95 % interval, measured on clusters of 10 units that differ (ICC near .3, both
    raters wrong in one of ten): .93 to .96 with half of the units positive, for 6 to 67 clusters;
    with nine of ten positive .87 at 6 clusters, .90 at 12, .92 at 20, .94 at 67 (Gwet's AC1 .92 to
    .95). 400 runs each, standard error near .012.

    Parameters
    ----------
    ratings : Ratings of two raters, or a square table of counts
        The table has the first rater's labels in rows and the second's in columns; its units are
        taken to be independent.
    weights : "identity", "linear" or "quadratic"
        See `agreement_weights`.
    scores : sequence of float, optional
        Where the categories lie; equally spaced by default.
    level : float
        Confidence level.

    References
    ----------
    Cohen (1960), Educ. Psychol. Meas. 20, 37-46; (1968), Psychol. Bull. 70, 213-220. Fleiss, Cohen
    and Everitt (1969), Psychol. Bull. 72, 323-327, eq. 8 and 13.

    Examples
    --------
    >>> found = cohen_kappa([[0, 4, 1], [0, 8, 0], [0, 1, 5]])
    >>> round(found.value, 4), round(found.observed, 4)
    (0.4842, 0.6842)
    """
    table = ratings if isinstance(ratings, Ratings) else _from_table(ratings)
    codes = table.codes
    if codes is None or codes.shape[1] != 2:
        got = "counts without raters" if codes is None else f"{codes.shape[1]} raters"
        raise InputError("ratings", "of two named raters", got, cure="Use fleiss_kappa for more.")
    matrix = agreement_weights(weights, table.categories, None if scores is None else tuple(scores))
    both = (codes >= 0).all(axis=1)
    size = len(table.categories)
    joint = np.zeros((len(codes), size, size))
    joint[np.flatnonzero(both), codes[both, 0], codes[both, 1]] = 1.0
    sums = table.by_cluster(joint).reshape(-1, size * size)

    def parts(total: NDArray[np.float64] | NDArray[np.complex128]) -> Parts:
        cells = total.reshape(*total.shape[:-1], size, size)
        n = cells.sum(axis=(-1, -2))
        rows, columns = cells.sum(axis=-1), cells.sum(axis=-2)
        seen = np.einsum("...ij,ij->...", cells, matrix) / n
        chance = np.einsum("...i,...j,ij->...", rows, columns, matrix) / (n * n)
        return Parts(seen, chance)

    return linearised(
        "Cohen κ",
        parts,
        sums,
        table,
        weights=weights,
        level=level,
        reason=_ONE_LABEL,
    )


def _from_table(table: ArrayLike) -> Ratings:
    """Write every count of a square table out as a unit of its own."""
    cells = np.asarray(table)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1]:
        raise InputError("table", "square, one row and one column a label", cells.shape)
    if cells.dtype.kind not in "iu" or (cells.size and cells.min() < 0):
        raise InputError("table", "whole numbers of at least 0", cells.dtype)
    size = len(cells)
    first, second = np.divmod(np.repeat(np.arange(size * size), cells.ravel()), size)
    codes = np.stack([first, second], axis=1).astype(np.int32)
    counts = (codes[:, :, None] == np.arange(size)).sum(axis=1).astype(np.int64)
    return Ratings(counts, tuple(map(str, range(size))), codes)
