"""Krippendorff's α: agreement of any number of raters on any level of measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.agreement import Agreement, Parts, linearised
from simtrack.inference.agreement_ratings import Ratings
from simtrack.options import Measurement, choice

__all__ = ["krippendorff_alpha"]

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Distance = Callable[[Array | Complex], Array | Complex]


def krippendorff_alpha(
    ratings: Ratings,
    *,
    measurement: Measurement = "nominal",
    scores: Sequence[float] | None = None,
    level: float = 0.95,
) -> Agreement:
    """How reliable are ratings of which some are missing, on a nominal, ordinal or metric scale?

    α = 1 - D_o / D_e, with D_o = Σ o_ck δ²_ck / n and D_e = Σ n_c n_k δ²_ck / (n (n - 1)), where
    the coincidences o_ck add up each unit's ordered pairs of ratings over its number of ratings
    minus 1, n_c are their margins, and units with one rating are left out. δ² is 1 for unequal
    labels (nominal), (Σ_{c≤g≤k} n_g - (n_c + n_k)/2)² (ordinal), or (s_c - s_k)² (interval).

    `observed` and `expected` are written as agreement: 1 - D/D_max with D_max = max δ².

    Parameters
    ----------
    ratings : Ratings
    measurement : "nominal", "ordinal" or "interval"
        "ordinal" uses the order of `ratings.categories`.
    scores : sequence of float, optional
        The values of the categories for "interval"; by default the labels read as numbers.
    level : float
        Confidence level.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, sections C to E; (2019),
    Content Analysis, 4th ed., chapter 12.

    Examples
    --------
    >>> rows = [[1, 1], [2, 2], [3, 3], [1, 2], [4, None]]
    >>> round(krippendorff_alpha(Ratings.from_rows(rows), measurement="interval").value, 4)
    0.8205
    """
    choice("measurement", measurement, Measurement)
    counts = ratings.counts.astype(np.float64)
    categories = counts.shape[1]
    size = counts.sum(axis=1)
    pairs = np.einsum("uc,uk->uck", counts, counts)
    pairs -= np.einsum("uc,ck->uck", counts, np.eye(categories))
    pairs = np.where(
        (size > 1)[:, None, None], pairs / np.maximum(size - 1.0, 1.0)[:, None, None], 0
    )
    sums = ratings.by_cluster(pairs).reshape(-1, categories * categories)
    distance = _distance(measurement, ratings.categories, scores)

    def parts(total: Array | Complex) -> Parts:
        cells = total.reshape(*total.shape[:-1], categories, categories)
        margin = cells.sum(axis=-1)
        n = margin.sum(axis=-1)
        apart = distance(margin)
        most = np.maximum(np.real(apart).max(axis=(-1, -2)), np.finfo(float).tiny)
        seen = (cells * apart).sum(axis=(-1, -2)) / n
        chance = np.einsum("...c,...k,...ck->...", margin, margin, apart) / (n * (n - 1.0))
        return Parts(1.0 - seen / most, 1.0 - chance / most)

    return linearised(
        "Krippendorff α",
        parts,
        sums,
        ratings,
        weights=measurement,
        level=level,
        reason="not defined: one label only, so no disagreement is expected and α is 0/0",
    )


def _distance(
    measurement: Measurement, categories: tuple[str, ...], scores: Sequence[float] | None
) -> Distance:
    size = len(categories)
    if measurement == "ordinal":
        return _ordinal
    if measurement == "nominal":
        fixed = 1.0 - np.eye(size)
    else:
        place = np.array(_scores(categories, scores))
        fixed = (place[:, None] - place[None, :]) ** 2
    return lambda margin: np.broadcast_to(fixed, (*margin.shape, size))


def _ordinal(margin: Array | Complex) -> Array | Complex:
    # The ratings between the middles of c and k, counted along the margin.
    middle = np.cumsum(margin, axis=-1) - margin / 2.0
    gap: Array | Complex = middle[..., :, None] - middle[..., None, :]
    return gap * gap


def _scores(categories: tuple[str, ...], scores: Sequence[float] | None) -> list[float]:
    if scores is not None:
        if len(scores) != len(categories):
            raise InputError("scores", f"{len(categories)} numbers, one a category", len(scores))
        return [float(s) for s in scores]
    try:
        return [float(c) for c in categories]
    except ValueError:
        raise InputError(
            "scores", "given where labels are no numbers", ", ".join(categories)
        ) from None
