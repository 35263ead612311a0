"""How many sign assignments reach a sum: by convolution, by lists, by halves or within bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simtrack.errors import InputError
from simtrack.inference.exact.exact_test import MOST_COINS
from simtrack.inference.numerics.ties import TIE_TOLERANCE
from simtrack.options import Alternative, choice

__all__ = [
    "FINE",
    "MOST_LISTED",
    "SIDES",
    "Route",
    "as_integers",
    "choose_route",
    "count_by_convolution",
    "count_by_lists",
    "is_counted",
    "is_typed",
    "mean_of",
    "sign_flip_pvalues",
    "tail_bounds",
]


Route = Literal["convolution", "enumeration", "meet-in-the-middle", "inversion", "monte-carlo"]

#: Half of this many differences have 2^22 subset sums, which are sorted in half a second.
MOST_LISTED = 44
#: Beyond 2^61 whole numbers are listed as Python integers: 2^12 of either half.
_MOST_LISTED_LARGE = 24
#: How far sums of more reals are smeared, in their standard deviations: a fifth of a second.
FINE: Final = 2.0**-10
#: A kernel of 24 uniform variables, and the share of it that truncation leaves out.
_ORDER, _CUT_OFF = 24, 1e-15
#: Beyond so many standard deviations lies at most 2 exp(-45) of a sum of signs (Hoeffding).
_REACH = 9.5
#: Up to here all subsets are listed, beyond it those of two halves.
_ENUMERATED = 16
#: The polynomial of the convolution may take this many bits (16 MB), and this long in ns.
_MOST_BITS, _MOST_NS = 1 << 27, 1e9
#: Additions of doubles in a convolution: two seconds.
_MOST_STEPS = 2e9
#: Decimals with a larger denominator were computed, not typed.
_MOST_DENOMINATOR = 10**9
#: Fractions are added up exactly over a common denominator of up to so much.
_MOST_COMMON = 10**60
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
    return whole


def mean_of(values: Sequence[int | float | Fraction]) -> Fraction | float:
    """Give the mean: exact where no value is a float and a common denominator is not huge.

    Examples
    --------
    >>> mean_of([1, Fraction(1, 2)]), mean_of([0.1, 0.2])
    (Fraction(3, 4), 0.15000000000000002)
    """
    common = 1
    for value in values:
        if isinstance(value, float):
            return math.fsum(map(float, values)) / len(values)
        common = math.lcm(common, value.denominator)
        if common > _MOST_COMMON:
            return math.fsum(map(float, values)) / len(values)
    return Fraction(sum(int(value * common) for value in values), common * len(values))


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

    `total` is Σ|d| in whole numbers, or None for reals. All exact routes give the same count;
    inversion gives bounds.

    Examples
    --------
    >>> choose_route(67, 400), choose_route(12, None), choose_route(40, None)
    ('convolution', 'enumeration', 'meet-in-the-middle')
    >>> choose_route(14_042, 30_000), choose_route(14_042, None)
    ('convolution', 'inversion')
    """
    most = MOST_LISTED if total is None or total < _MOST_TOTAL else _MOST_LISTED_LARGE
    listed: Route = "enumeration" if live <= _ENUMERATED else "meet-in-the-middle"
    if live > most:
        fits = total is not None and (is_counted(live, total) or live * total < 2 * _MOST_STEPS)
        return "convolution" if fits else "inversion"
    if total is None or total * (live + 1) > _MOST_BITS:
        return listed
    matched = 20_000.0 + 50.0 * 2.0 ** (live / 2.0 if live > _ENUMERATED else live - 5.0)
    return "convolution" if _convolution_ns(live, total) <= matched else listed


def is_counted(live: int, total: int) -> bool:
    """Say whether a convolution in whole numbers is affordable; else it is one in doubles."""
    fits = live <= MOST_COINS and total * (live + 1) <= _MOST_BITS
    return fits and _convolution_ns(live, total) <= _MOST_NS


def _convolution_ns(live: int, total: int) -> float:
    """Roughly: a shift and an addition over all bits a difference."""
    return live * (100.0 + total * (live + 1) / 40.0)


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


def tail_bounds(sizes: Sequence[float], at: float, width: float = FINE) -> tuple[float, float]:
    """Between which bounds does P(Σ ±d >= at) lie, the signs being fair coins?

    A variable K of `width` standard deviations is added to the sum, whose characteristic function
    Π cos(d t) is then inverted: P(T + K >= at + width) <= P(T >= at) <= P(T + K >= at - width).
    What lies beyond the nodes, beyond their period and in the rounding is bounded too, and sums
    within 1e-12 of Σ|d| of `at` count to the upper bound alone. So the bounds are certain, and a
    thousandth of the law apart or so; far out the upper one is Chernoff's.

    References
    ----------
    Davies (1973), Biometrika 60, 415-417, equation 5 (nodes, and the error of their spacing).

    Examples
    --------
    >>> low, high = tail_bounds([0.7, 0.1, 0.3, 0.2, 0.3], 0.9)
    >>> low <= 6 / 32 <= high
    True
    """
    from simtrack.kernels.flip_inversion import smoothed_tail

    distinct, counts = np.unique(sizes, return_counts=True)
    ordered, times = distinct[::-1].copy(), counts[::-1].astype(np.float64)
    scale = math.sqrt(math.fsum(s * s for s in sizes))
    reach, slack = width * scale, TIE_TOLERANCE * math.fsum(sizes)
    spacing = 2.0 * math.pi / (abs(at) + 2.0 * (reach + slack) + _REACH * scale)
    cut = (1.0 / (math.pi * _ORDER * _CUT_OFF)) ** (1.0 / _ORDER)
    nodes = math.ceil(_ORDER / (reach * spacing) * cut)
    beyond = _CUT_OFF + 2.0 * math.exp(-0.5 * _REACH**2)
    found = np.empty((2, 2))
    for row, end in zip(found, (at + reach + slack, at - reach - slack), strict=True):
        smoothed_tail(ordered, times, end, reach, spacing, nodes, _ORDER, row)
    low, high = found[0, 0] - found[0, 1] - beyond, found[1, 0] + found[1, 1] + beyond
    return max(0.0, float(low)), min(1.0, float(high), _chernoff(np.array(sizes), at - slack))


def _chernoff(sizes: NDArray[np.float64], at: float) -> float:
    """Bound P(Σ ±d >= at) by the least of exp(-θ at) Π cosh(θ d): certain at every θ.

    The derivative Σ d tanh(θ d) - at is concave, so Newton's steps rise to its root.
    """
    if at <= 0.0:
        return 1.0
    theta = at / float((sizes * sizes).sum())
    for _ in range(30):
        bent = np.tanh(theta * sizes)
        slope = float((sizes * sizes * (1.0 - bent * bent)).sum())
        step = (at - float((sizes * bent).sum())) / slope if slope > 0.0 else 0.0
        theta += step
        if abs(step) <= 1e-6 * theta:
            break
    x = theta * sizes
    log_mean = float((x + np.log1p(np.exp(-2.0 * x)) - math.log(2.0)).sum())
    return min(1.0, math.exp(min(0.0, log_mean - theta * at)) * (1.0 + 1e-9))


def count_by_lists(sizes: Sequence[int] | Sequence[float], twice_bound: float) -> int:
    """Count the subsets of `sizes` whose doubled sum is at most `twice_bound`.

    Whole numbers are compared exactly; of reals, sums within `TIE_TOLERANCE` of Σ|d| are ties.
    Up to 16 values all subsets are listed; beyond that the sums of two halves are sorted and
    matched, 2^(G/2) numbers instead of 2^G.

    References
    ----------
    Horowitz and Sahni (1974), J. ACM 21, 277-292.
    """
    is_whole = all(type(s) is int for s in sizes)
    kind = np.float64 if not is_whole else np.int64 if sum(sizes) < _MOST_TOTAL else np.object_
    slack = 0 if is_whole else TIE_TOLERANCE * math.fsum(sizes) / 2.0
    bound = (twice_bound // 2 if is_whole else twice_bound / 2.0) + slack
    if len(sizes) <= _ENUMERATED:
        return int(np.count_nonzero(_subset_sums(sizes, kind) <= bound))
    ordered = sorted(sizes)
    # Interleaved halves have like ranges, so both lists are searched over their whole length.
    left, right = _subset_sums(ordered[::2], kind), _subset_sums(ordered[1::2], kind)
    left.sort()
    right.sort()
    return int(np.searchsorted(left, bound - right, side="right").sum())


def _subset_sums(sizes: Sequence[int] | Sequence[float], kind: type[Any]) -> NDArray[Any]:
    sums = np.zeros(1 << len(sizes), dtype=kind)
    for place, size in enumerate(sizes):
        half = 1 << place
        np.add(sums[:half], size, out=sums[half : 2 * half])
    return sums


# Sign-flip p-values of many simulated data sets at once, for loops over power and size.
SIDES: Final = {"two-sided": 0, "greater": 1, "less": -1}
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
        flip_integers(whole, SIDES[alternative], out)
        return out
    if rows.shape[1] > MOST_LISTED:
        raise InputError(
            "differences",
            f"integers with sums of sizes up to {_MOST_TOTAL_OF_MANY}, or reals of "
            f"{MOST_LISTED} clusters",
            f"{rows.shape[1]} clusters",
            cure="Multiply rates by their common denominator.",
        )
    flip_reals(np.ascontiguousarray(rows, np.float64), SIDES[alternative], TIE_TOLERANCE, out)
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
