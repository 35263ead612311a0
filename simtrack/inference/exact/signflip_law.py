"""How many sign assignments reach a sum: by lists, by halves or on a lattice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.options import Alternative, choice

__all__ = [
    "LATTICE",
    "MOST_LISTED",
    "TIE_TOLERANCE",
    "Route",
    "as_integers",
    "bounds_on_lattice",
    "choose_route",
    "count_by_convolution",
    "count_by_lists",
    "is_typed",
    "sign_flip_pvalues",
]


Route = Literal["convolution", "enumeration", "meet-in-the-middle", "lattice-bounds", "monte-carlo"]

#: Sums of reals closer than this share of Σ|d| are ties: rounding is about 1e-16 a term.
TIE_TOLERANCE = 1e-12
#: Half of this many differences have 2^22 subset sums, which are sorted in half a second.
MOST_LISTED = 44
#: Steps of the lattice that sums of more reals are rounded to.
LATTICE = 1 << 20
#: Relative rounding of a convolution of positive doubles, with room to spare.
_SUMMED = 1e-11
#: Up to here all subsets are listed, beyond it those of two halves.
_ENUMERATED = 16
#: The polynomial of the convolution may take this many bits (16 MB).
_MOST_BITS = 1 << 27
#: Decimals with a larger denominator were computed, not typed.
_MOST_DENOMINATOR = 10**9
#: A float with more digits in its shortest decimal was computed, however large it is.
_MOST_DIGITS = 15
#: Doubled sums must stay within int64 when they are listed.
_MOST_TOTAL = 1 << 61


def as_integers(values: Sequence[int | float | Fraction]) -> list[int] | None:
    """Scale the values to whole numbers without a common factor, or give None if they are reals.

    A float is read through its shortest decimal, so 0.7 is 7/10 as typed; a computed float with
    many digits is no short decimal and stays real.

    Examples
    --------
    >>> as_integers([0.7, 0.1, -0.3]), as_integers([Fraction(1, 3), Fraction(-1, 2)])
    ([7, 1, -3], [2, -3])
    >>> as_integers([2**0.5, 1.0]) is None
    True
    """
    exact: list[int | Fraction] = []
    common = 1
    for value in values:
        if type(value) is not int:
            if isinstance(value, float) and not is_typed(value):
                return None
            typed = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
            common = math.lcm(common, typed.denominator)
            if common > _MOST_DENOMINATOR:
                return None
            exact.append(typed)
        else:
            exact.append(value)
    whole = [int(value * common) for value in exact]
    factor = math.gcd(*whole) or 1
    whole = [value // factor for value in whole]
    return whole if sum(map(abs, whole)) < _MOST_TOTAL else None


def is_typed(value: int | float | Fraction) -> bool:
    """Say whether a float is a short decimal, so that it can be taken as typed.

    Examples
    --------
    >>> is_typed(0.7), is_typed(0.1 + 0.2), is_typed(3)
    (True, False, False)
    """
    if not isinstance(value, float):
        return False
    digits = repr(value).lstrip("-").partition("e")[0].replace(".", "").strip("0")
    return len(digits) <= _MOST_DIGITS and Fraction(repr(value)).denominator <= _MOST_DENOMINATOR


def choose_route(live: int, total: int | None) -> Route:
    """Pick the quickest exact route for `live` differences that are not 0.

    `total` is Σ|d| in whole numbers, or None for reals. All exact routes give the same count.

    Examples
    --------
    >>> choose_route(67, 400), choose_route(12, None), choose_route(40, None)
    ('convolution', 'enumeration', 'meet-in-the-middle')
    """
    listed: Route = "enumeration" if live <= _ENUMERATED else "meet-in-the-middle"
    bits = None if total is None else total * (live + 1)
    if bits is None or bits > _MOST_BITS:
        return listed if live <= MOST_LISTED else "lattice-bounds"
    # Rough costs in ns: a shift and an addition over all bits a difference; building and sorting.
    convolved = live * (100.0 + bits / 40.0)
    matched = 20_000.0 + 50.0 * 2.0 ** (live / 2.0 if live > _ENUMERATED else live - 5.0)
    return "convolution" if live > MOST_LISTED or convolved <= matched else listed


def count_by_convolution(sizes: Sequence[int], twice_bound: int) -> int:
    """Count the subsets of `sizes` (whole, positive) whose doubled sum is at most `twice_bound`.

    The generating function Π (1 + x^d) is held in one Python integer with x = 2^width, wide
    enough that coefficients never meet, so a product is a shift and an addition. The sum of the
    coefficients up to the bound is that integer modulo 2^width - 1.

    Examples
    --------
    >>> count_by_convolution([7, 1, 3, 2, 3], 6)
    6
    """
    if twice_bound < 0 or not sizes:
        return int(twice_bound >= 0)
    bound = twice_bound // 2
    width = len(sizes) + 1
    packed, reach = 1, 0
    for size in sorted(sizes):
        if size > bound:
            break
        packed += packed << (width * size)
        reach += size
        if reach > bound:
            packed &= (1 << (width * (bound + 1))) - 1
            reach = bound
    return packed % ((1 << width) - 1)


def bounds_on_lattice(
    sizes: Sequence[float], twice_bound: float, steps: int = LATTICE
) -> tuple[float, float]:
    """Between which bounds does the share of subsets with doubled sum at most `twice_bound` lie?

    Sizes are rounded down to a lattice of Σ|d| / steps and the law of the rounded sum is convolved
    exactly. A true sum is at least the rounded one and less than G steps above it, which gives both
    bounds: certain ones, no estimates.

    Examples
    --------
    >>> low, high = bounds_on_lattice([7.0, 1.0, 3.0, 2.0, 3.0], 6.0)
    >>> low <= 6 / 32 <= high, high - low < 0.1
    (True, True)
    """
    total = math.fsum(sizes)
    step = total / steps
    law = np.zeros(steps + 1)
    law[0] = 1.0
    reach = 0
    for size in sorted(sizes):
        shift = int(size / step * (1.0 - 1e-15))
        grown = law[: reach + shift + 1].copy()
        grown[shift:] += law[: reach + 1]
        reach += shift
        law[: reach + 1] = 0.5 * grown
    bound = 0.5 * twice_bound / step + TIE_TOLERANCE * steps
    high = float(law[: max(0, math.floor(bound) + 1)].sum())
    low = float(law[: max(0, math.floor(bound) - len(sizes) + 1)].sum())
    return low * (1.0 - _SUMMED), min(1.0, high * (1.0 + _SUMMED))


def count_by_lists(sizes: Sequence[int] | Sequence[float], twice_bound: float) -> int:
    """Count the subsets of `sizes` whose doubled sum is at most `twice_bound`.

    Whole numbers are compared exactly; of reals, sums within `TIE_TOLERANCE` of Σ|d| are ties.
    Up to 16 values all subsets are listed; beyond that the sums of two halves are sorted and
    matched, 2^(G/2) numbers instead of 2^G.

    References
    ----------
    Horowitz and Sahni (1974), J. ACM 21, 277-292.
    """
    kind = np.int64 if all(type(s) is int for s in sizes) else np.float64
    slack = 0 if kind is np.int64 else TIE_TOLERANCE * math.fsum(sizes) / 2.0
    bound = (twice_bound // 2 if kind is np.int64 else twice_bound / 2.0) + slack
    if len(sizes) <= _ENUMERATED:
        return int(np.count_nonzero(_subset_sums(sizes, kind) <= bound))
    ordered = sorted(sizes)
    # Interleaved halves have like ranges, so both lists are searched over their whole length.
    left, right = _subset_sums(ordered[::2], kind), _subset_sums(ordered[1::2], kind)
    left.sort()
    right.sort()
    return int(np.searchsorted(left, bound - right, side="right").sum())


def _subset_sums(
    sizes: Sequence[int] | Sequence[float], kind: type[np.int64] | type[np.float64]
) -> NDArray[Any]:
    sums = np.zeros(1 << len(sizes), dtype=kind)
    for place, size in enumerate(sizes):
        half = 1 << place
        np.add(sums[:half], size, out=sums[half : 2 * half])
    return sums


# Sign-flip p-values of many simulated data sets at once, for loops over power and size.
_SIDES = {"two-sided": 0, "greater": 1, "less": -1}
#: Sums of absolute differences up to here are convolved: a row takes at most some milliseconds.
_MOST_TOTAL_OF_MANY = 1 << 20


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
    if whole is not None and _largest_total(whole) <= _MOST_TOTAL_OF_MANY:
        flip_integers(whole, _SIDES[alternative], out)
        return out
    if rows.shape[1] > MOST_LISTED:
        raise InputError(
            "differences",
            f"integers with sums of sizes up to {_MOST_TOTAL_OF_MANY}, or reals of "
            f"{MOST_LISTED} clusters",
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
    if (np.abs(filled) > _MOST_TOTAL_OF_MANY).any() or (filled != np.rint(filled)).any():
        return None
    return np.ascontiguousarray(filled, dtype=np.int64)


def _largest_total(whole: NDArray[np.int64]) -> int:
    if whole.size == 0:
        return 0
    if max(int(whole.max()), -int(whole.min())) > _MOST_TOTAL_OF_MANY:
        return _MOST_TOTAL_OF_MANY + 1
    return int(np.abs(whole).sum(axis=1).max())
