"""The bootstrap law by Monte Carlo: random resamples of cluster sums."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack import _jit
from simtrack.inference.resampling.law import BootstrapLaw, law_of_cells
from simtrack.kernels.bootstrap import draw_place, resample_sums
from simtrack.kernels.philox import MASK, SHIFT, philox4x32
from simtrack.rng import Stream
from simtrack.rng.plan import Plan

__all__ = ["drawn_laws", "drawn_sums", "quantile_error", "sums_in_numpy"]

Floats: TypeAlias = NDArray[np.float64]

#: From so many draws times columns on the kernel is worth its second of start-up.
_WORTH_COMPILING = 200_000_000
_KERNEL_CHUNK = 1024
#: Whole numbers of so many bits are exact in a float.
_FLOAT_BITS = 53
_NUMPY_CHUNK = 8192


def drawn_laws(
    pools: tuple[Floats, ...],
    evaluate: Callable[[Floats], tuple[Floats, ...]],
    ties: Sequence[float],
    n_resamples: int,
    seed: int,
    threads: int = 1,
) -> tuple[BootstrapLaw, ...]:
    """Which laws have some statistics over random resamples? Arguments as in `multiset_law`."""
    sums = drawn_sums(pools, n_resamples, seed, threads=threads)
    found = evaluate(np.ascontiguousarray(sums.T))
    laws = []
    for cells, tie in zip(found, ties, strict=True):
        ordered = np.sort(cells)  # NaN to the end
        law = law_of_cells(ordered, np.ones(n_resamples), tie)
        laws.append(BootstrapLaw(law.cells, law.weights, law.undefined, tie, ascending=True))
    return tuple(laws)


def drawn_sums(
    pools: tuple[Floats, ...],
    n_resamples: int,
    seed: int,
    *,
    threads: int = 1,
    chunk: int | None = None,
    compiled: bool | None = None,
) -> Floats:
    """Draw resamples and give their column sums, shape (resamples, columns).

    The same bytes for any threads and chunks, and with or without the compiled kernel: by default
    it is used where Numba is loaded already or the work is worth loading it.
    """
    places = _places_in_words(pools)
    packed = pools if places is None else tuple(_packed(rows, places) for rows in pools)
    out = np.zeros((n_resamples, packed[0].shape[1]))
    work = n_resamples * sum(rows.size for rows in packed)
    if compiled is None:
        compiled = _jit.enabled() and ("numba" in sys.modules or work > _WORTH_COMPILING)
    draw: Callable[..., None] = resample_sums if compiled else sums_in_numpy
    size = chunk or (_KERNEL_CHUNK if compiled else _NUMPY_CHUNK)
    words = Stream(seed, "cluster bootstrap").words
    for number, rows in enumerate(packed):
        plan = Plan.of(words, n_resamples, [number], threads, size)
        columns = np.ascontiguousarray(rows.T)
        plan.fill(draw, out, columns, _draws_per_number(len(rows)))
    return out if places is None else _unpacked(out, places)


def sums_in_numpy(
    k0: Any,
    k1: Any,
    first: Any,
    indices: NDArray[np.uint64],
    columns: Floats,
    per_number: int,
    out: Floats,
) -> None:
    """Do what the kernel `resample_sums` does, to the byte, with arrays over the resamples."""
    clusters = np.uint64(columns.shape[1])
    replicates = first + np.arange(len(out), dtype=np.uint64)
    sums = np.zeros((len(columns), len(out)))
    for d in range(columns.shape[1]):
        number = d // per_number
        if d % (2 * per_number) == 0:
            words = list(
                philox4x32.py_func(
                    np.uint64(number // 2),
                    indices[0],
                    replicates & MASK,
                    replicates >> SHIFT,
                    k0,
                    k1,
                )
            )
        h = 2 * (number % 2)
        place, words[h], words[h + 1] = draw_place.py_func(words[h], words[h + 1], clusters)
        for c, column in enumerate(columns):
            sums[c] += column[place.astype(np.int64)]
    out += sums.T


def quantile_error(ordered: Floats, probability: float, rank_variance: float) -> float:
    """How far would a quantile of random resamples move if they were drawn anew?

    Parameters
    ----------
    ordered : float64 array, shape (resamples,)
        The values, ascending.
    probability : float
        Which quantile.
    rank_variance : float
        Variance of one resample's part in the quantile's rank: p(1-p) for a fixed p.

    Returns
    -------
    float
        The standard deviation of the order statistic when its rank is normal around p·R with
        variance R · `rank_variance`. It is 0 where the quantile stands on a large mass.

    References
    ----------
    Maritz and Jarrett (1978), JASA 73, 194-196, with the normal for the binomial law of the rank.
    """
    n = ordered.size
    centre, sd = probability * n - 0.5, math.sqrt(n * rank_variance)
    if sd == 0.0:
        return 0.0
    low, high = int(centre - 6.0 * sd), int(centre + 6.0 * sd) + 2
    edges = [math.erf((k - 0.5 - centre) / (sd * math.sqrt(2.0))) for k in range(low, high + 1)]
    weights = np.diff(np.array(edges))
    values = ordered[np.clip(np.arange(low, high), 0, n - 1)]
    if not np.isfinite(values).all():
        return math.nan
    mean = (weights * values).sum() / weights.sum()
    return float(((weights * (values - mean) ** 2).sum() / weights.sum()) ** 0.5)


class _Place(NamedTuple):
    """Which bits of which packed column a column takes."""

    word: int
    shift: int
    bits: int


def _places_in_words(pools: tuple[Floats, ...]) -> list[_Place] | None:
    """Give each column its bits in a packed one, or None where columns are not whole numbers.

    Sums of counts are small: several fit side by side into the 53 bits that a float keeps exactly,
    and are drawn and added as one.
    """
    if not all(bool(((rows >= 0) & (rows == np.rint(rows))).all()) for rows in pools):
        return None
    most = sum(len(rows) * rows.max(axis=0) for rows in pools)
    found: list[_Place] = []
    word = used = 0
    for largest in np.asarray(most).tolist():
        bits = max(1, int(largest).bit_length())
        if bits > _FLOAT_BITS:
            return None
        if used + bits > _FLOAT_BITS:
            word, used = word + 1, 0
        found.append(_Place(word, used, bits))
        used += bits
    return found


def _packed(rows: Floats, places: list[_Place]) -> Floats:
    found = np.zeros((len(rows), places[-1].word + 1))
    for column, place in zip(rows.T, places, strict=True):
        found[:, place.word] += column * 2.0**place.shift
    return found


def _unpacked(sums: Floats, places: list[_Place]) -> Floats:
    whole = sums.astype(np.int64)
    found = np.empty((len(sums), len(places)))
    for c, (word, shift, bits) in enumerate(places):
        found[:, c] = (whole[:, word] >> shift) & ((1 << bits) - 1)
    return found


def _draws_per_number(clusters: int) -> int:
    """Give the largest k with clusters^k ≤ 2^32.

    Examples
    --------
    >>> _draws_per_number(12), _draws_per_number(67), _draws_per_number(70_000)
    (8, 5, 1)
    """
    k = 1
    while clusters ** (k + 1) <= 2**32:
        k += 1
    return k
