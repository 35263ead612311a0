"""The exact sign-flip test on cluster differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.exact.signflip_law import (
    FINE,
    SIDES,
    Route,
    as_integers,
    choose_route,
    count_by_convolution,
    count_by_lists,
    is_counted,
    mean_of,
    tail_bounds,
)
from simtrack.inference.numerics.ties import TIE_TOLERANCE, as_pvalue
from simtrack.options import Alternative, Computation, Guarantee, choice
from simtrack.validate import integer, open_unit

__all__ = ["Reals", "SignFlip", "checked_differences", "sign_flip"]

Reals: TypeAlias = NDArray[np.float64] | NDArray[np.int64]
Value: TypeAlias = int | float | Fraction
#: Sums of a million differences are still floats.
_TOO_LARGE = 10**300


@dataclass(frozen=True, slots=True)
class SignFlip:
    """How unusual is the mean difference if every cluster's sign were a fair coin's?

    Attributes
    ----------
    statistic : float
        The equal-weight mean of the cluster differences.
    clusters, zeros : int
        Cluster differences, and how many of them are 0 (a flip does nothing to those).
    alternative : str
        "two-sided", "greater" (mean above 0) or "less".
    floor : Fraction
        The smallest p-value that this many clusters can give: 2 / 2^(clusters - zeros), half of
        that one-sided.
    pvalue : float
    exact : Fraction or None
        The p-value as sign patterns over 2^(clusters - zeros); None by inversion and Monte Carlo,
        and where patterns are counted in doubles, right to 2^-52 a cluster.
    route : str
        "convolution", "enumeration", "meet-in-the-middle", "inversion" or "monte-carlo".
    mcse, n_resamples, seed
        Monte Carlo only: standard error of the p-value, draws and seed.
    notes : tuple of str
    """

    statistic: float
    clusters: int
    zeros: int
    alternative: Alternative
    floor: Fraction
    pvalue: float
    exact: Fraction | None
    route: Route
    computation: Computation
    notes: tuple[str, ...] = ()
    mcse: float | None = None
    n_resamples: int | None = None
    seed: int | None = None
    guarantee: Guarantee = "finite-sample"

    def refusal(self, alpha: float = 0.05) -> str | None:
        """Say why this test cannot reach `alpha`, or None if it can.

        Examples
        --------
        >>> sign_flip([0.3, 0.1, 0.4, 0.2]).refusal()
        'the smallest two-sided p of 4 differences that are not 0 is 2/16 = 0.125, above 0.05'
        """
        open_unit("alpha", alpha)
        if self.floor <= Fraction(str(alpha)):
            return None
        live = self.clusters - self.zeros
        sides = 2 if self.alternative == "two-sided" else 1
        shown = f"{min(sides, 2**live)}/{2**live} = {float(self.floor):g}"
        return (
            f"the smallest {'two' if sides == 2 else 'one'}-sided p of {live} differences "
            f"that are not 0 is {shown}, above {alpha:g}"
        )

    def to_dict(self) -> dict[str, object]:
        """Give plain values, with the p-value as a fraction where it is exact."""
        return {
            "schema": "simtrack.sign-flip/1",
            "statistic": self.statistic,
            "clusters": self.clusters,
            "zeros": self.zeros,
            "alternative": self.alternative,
            "pvalue": self.pvalue,
            "pvalue_exact": None if self.exact is None else str(self.exact),
            "floor": float(self.floor),
            "route": self.route,
            "mcse": self.mcse,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"SignFlip(p={self.pvalue:.6g}, {self.clusters} clusters, {self.route})"


def sign_flip(
    differences: Sequence[int | float | Fraction] | Reals,
    *,
    alternative: Alternative = "two-sided",
    n_resamples: int | None = None,
    seed: int = 0,
) -> SignFlip:
    """How unusual is the mean of these differences if their signs were fair coins?

    The p-value is the share of the 2^G sign patterns whose sum is at least as extreme as the one
    observed. Integers, Fractions and short decimals (as typed) are counted exactly by convolution,
    as long as Σ|d| in whole numbers is not huge; other reals by enumeration or, up to 44, by
    meeting in the middle, sums within 1e-12 of Σ|d| being ties. Of more reals the characteristic
    function of the sum is inverted: the p-value given is a certain upper bound, about a thousandth
    above the exact one, and a note gives the lower one. 14,042 differences take a second at most.
    Monte Carlo, with (b + 1) / (m + 1), is used only where `n_resamples` asks for it.

    It speaks of the equal-weight mean of the differences, and it assumes that under the null they
    are symmetric about 0: randomised or exchangeable within clusters.

    Raises
    ------
    InputError
        No difference at all, or one that is not finite.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21. Monte Carlo: Phipson and Smyth (2010),
    Stat. Appl. Genet. Mol. Biol. 9, 39.

    Examples
    --------
    >>> test = sign_flip([-5, 3, -8, -2, -7, -1, -4, -6, -9, 2, -3, -5])
    >>> test.exact, test.route
    (Fraction(5, 512), 'convolution')
    >>> sign_flip([0.7, 0.1, -0.3, 0.2, 0.3]).pvalue
    0.375
    """
    choice("alternative", alternative, Alternative)
    values = checked_differences(differences)
    live, whole = _live(values)
    total = None if whole is None else sum(map(abs, whole))
    route = choose_route(len(live), total)
    sides = 2 if alternative == "two-sided" else 1
    about = _About(
        float(mean_of(values)),
        len(values),
        len(values) - len(live),
        alternative,
        min(Fraction(1), Fraction(sides, 2 ** len(live))),
    )
    if n_resamples is not None:
        return _by_monte_carlo(about, live, n_resamples, seed)
    if route == "inversion":
        return _by_bounds(about, live)
    if route == "convolution" and whole and not is_counted(len(whole), sum(map(abs, whole))):
        return SignFlip(*about, _in_doubles(whole, alternative), None, route, "convolution")
    sizes = [float(v) for v in live] if whole is None else whole
    exact = Fraction(_extreme(sizes, alternative, route), 2 ** len(live))
    notes = () if live else ("every difference is 0: there is nothing to test",)
    how: Computation = "convolution" if route == "convolution" else "enumeration"
    return SignFlip(*about, float(exact), exact, route, how, notes)


def _live(values: Sequence[Value]) -> tuple[list[Value], list[int] | None]:
    """Leave out the zeros, and what only rounding kept from being zero; as whole numbers if so."""
    live = [v for v in values if v != 0]
    whole = as_integers(live)
    if whole is None:
        least = TIE_TOLERANCE * math.fsum(abs(float(v)) for v in values)
        live = [v for v in live if not isinstance(v, float) or abs(v) > least]
        whole = as_integers(live)
    return live, whole


def _in_doubles(whole: Sequence[int], alternative: Alternative) -> float:
    """Convolve in doubles: all terms are positive, so a step costs 2^-52 of each and no more."""
    from simtrack.kernels.signflip import flip_integers

    out = np.empty(1)
    flip_integers(np.array([whole], dtype=np.int64), SIDES[alternative], out)
    return as_pvalue(float(out[0]))


def _by_bounds(about: _About, live: Sequence[Value]) -> SignFlip:
    """Give the upper bound of the p-value as the p-value: valid, and hardly above the exact one."""
    low, high = sign_flip_bounds(live, about.alternative)
    high = max(high, float(about.floor))
    note = (
        f"{len(live)} differences are too many to count: the exact p lies between {low:.6g} and "
        f"{high:.6g}, the one given"
    )
    return SignFlip(*about, high, None, "inversion", "quadrature", (note,))


def sign_flip_bounds(
    live: Sequence[Value], alternative: Alternative, width: float = FINE
) -> tuple[float, float]:
    """Between which bounds does the p-value lie? The narrower `width`, the closer; certain always.

    Examples
    --------
    >>> low, high = sign_flip_bounds([0.7, 0.1, -0.3, 0.2, 0.3], "two-sided", width=0.1)
    >>> low <= 0.375 <= high
    True
    """
    real = [float(v) for v in live]
    observed = math.fsum(real)
    sides = 2.0 if alternative == "two-sided" else 1.0
    at = {"two-sided": abs(observed), "greater": observed, "less": -observed}[alternative]
    low, high = tail_bounds([abs(v) for v in real], at, width)
    return min(1.0, sides * low), as_pvalue(sides * high)


class _About(NamedTuple):
    statistic: float
    clusters: int
    zeros: int
    alternative: Alternative
    floor: Fraction


def checked_differences(
    differences: Sequence[Value] | Reals,
) -> list[Value]:
    """Give the differences as plain numbers, or refuse what is none or not finite."""
    if isinstance(differences, np.ndarray) and differences.dtype.kind not in "iuf":
        raise InputError("differences", "numbers", differences.dtype)
    values = np.ravel(differences).tolist() if isinstance(differences, np.ndarray) else differences
    if len(values) == 0:
        raise InputError("differences", "at least one number", "none")
    listed: Sequence[Any] = values
    found = [v.item() if isinstance(v, np.number) else v for v in listed]
    for place, value in enumerate(found):
        if type(value) is int and -_TOO_LARGE < value < _TOO_LARGE:
            continue
        where = f"position {place + 1}"
        if isinstance(value, bool) or not isinstance(value, (float, Fraction, int)):
            raise InputError("differences", "numbers", repr(value), where=where)
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError("differences", "finite", value, where=where)
        if not -_TOO_LARGE < value < _TOO_LARGE:
            raise InputError("differences", "within 1e300 of 0", "a larger one", where=where)
    return found


def _extreme(values: Sequence[int] | Sequence[float], alternative: str, route: Route) -> int:
    """Count the sign patterns at least as extreme as the observed one."""
    sizes, observed = [abs(v) for v in values], sum(values)
    if alternative == "two-sided":
        slack = TIE_TOLERANCE * sum(sizes) if isinstance(observed, float) else 0
        if abs(observed) <= slack:
            return int(2 ** len(sizes))
        return int(min(2 * _at_least(sizes, abs(observed), route), 2 ** len(sizes)))
    return _at_least(sizes, observed if alternative == "greater" else -observed, route)


def _at_least(sizes: list[int] | list[float], threshold: float, route: Route) -> int:
    count = count_by_convolution if route == "convolution" else count_by_lists
    return count(sizes, sum(sizes) - threshold)  # type: ignore[arg-type]


def _by_monte_carlo(about: _About, live: Sequence[Value], n_resamples: int, seed: int) -> SignFlip:
    from simtrack.rng import Stream

    draws = integer("n_resamples", n_resamples, 1)
    sizes = np.array([abs(float(v)) for v in live])
    observed = math.fsum(float(v) for v in live)
    flips = Stream(seed, "sign-flip").bernoulli(0.5, sizes.size, replicates=draws, clusters=1)
    sums = np.einsum("rg,g->r", 1.0 - 2.0 * flips[:, 0, :], sizes)
    slack = TIE_TOLERANCE * sizes.sum()
    if about.alternative == "two-sided":
        sums, observed = np.abs(sums), abs(observed)
    elif about.alternative == "less":
        observed = -observed
    p = (int(np.count_nonzero(sums >= observed - slack)) + 1) / (draws + 1)
    notes = (f"{draws} random sign patterns, (b + 1) / (m + 1)",)
    about = about._replace(floor=max(about.floor, Fraction(1, draws + 1)))
    mcse = math.sqrt(p * (1.0 - p) / draws)
    return SignFlip(*about, p, None, "monte-carlo", "monte-carlo", notes, mcse, draws, seed)
