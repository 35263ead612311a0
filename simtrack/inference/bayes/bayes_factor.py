"""Bayes factors with stated priors: a point null against Beta laws, equal rates against two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.inference.bayes.beta_binomial import UNIFORM, beta_prior, difference_law
from simtrack.inference.bayes.posterior_law import BetaLaw
from simtrack.inference.numerics.incomplete_beta import log_beta_cdf, stirling_error
from simtrack.options import Alternative, Computation, Guarantee, choice
from simtrack.validate import open_unit, real

__all__ = [
    "BayesFactor",
    "BayesFactorCurve",
    "bayes_factor_difference",
    "bayes_factor_rate",
    "bayes_factor_sensitivity",
]

#: From a prior that is worth half a trial to one that is worth 512.
CONCENTRATIONS = tuple(2.0**k for k in range(-1, 10))
#: Probabilities of a side below this are summed in logarithms, out to e^-40 of the top.
_TOO_SMALL, _LOST, _FARTHEST, _THIRDS, _SUMMED = 1e-6, 40.0, 60.0, 90, 400


@dataclass(frozen=True, slots=True)
class BayesFactor:
    """How much more probable are the data under the alternative than under the null?

    Attributes
    ----------
    log_bf10 : float
        Natural logarithm of p(data | alternative) / p(data | null).
    null, alternative : str
        Both hypotheses with their priors.
    notes : tuple of str
    """

    log_bf10: float
    null: str
    alternative: str
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "bayesian"

    @property
    def bf10(self) -> float:
        """The Bayes factor for the alternative; infinite beyond what a float holds."""
        return math.exp(self.log_bf10) if self.log_bf10 < 709.0 else math.inf

    @property
    def bf01(self) -> float:
        """The Bayes factor for the null."""
        return math.exp(-self.log_bf10) if self.log_bf10 > -709.0 else math.inf

    def null_probability(self, prior: float = 0.5) -> float:
        """How probable is the null after the data, if it was `prior` before?"""
        share = open_unit("prior", prior)
        log_odds = math.log1p(-share) - math.log(share) + self.log_bf10
        small = math.exp(-abs(log_odds))
        return small / (1.0 + small) if log_odds > 0.0 else 1.0 / (1.0 + small)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        return {
            "schema": "simtrack.bayes-factor/1",
            "log_bf10": self.log_bf10,
            "bf10": self.bf10 if math.isfinite(self.bf10) else "inf",
            "null": self.null,
            "alternative": self.alternative,
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"BayesFactor(10: {self.bf10:.4g}; {self.alternative} against {self.null})"


@dataclass(frozen=True, slots=True, eq=False)
class BayesFactorCurve:
    """How does a Bayes factor depend on how wide the prior of the alternative is?

    Attributes
    ----------
    concentration : float64 array
        a + b of the Beta prior of the alternative: the trials that it is worth.
    prior_sd : float64 array
        Its standard deviation.
    log_bf10 : float64 array
    notes : tuple of str
    """

    concentration: NDArray[np.float64]
    prior_sd: NDArray[np.float64]
    log_bf10: NDArray[np.float64]
    null: str
    alternative: str
    notes: tuple[str, ...] = ()
    computation: Computation = "closed-form"
    guarantee: Guarantee = "bayesian"

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        return {
            "schema": "simtrack.bayes-factor-curve/1",
            "concentration": self.concentration.tolist(),
            "prior_sd": self.prior_sd.tolist(),
            "log_bf10": self.log_bf10.tolist(),
            "null": self.null,
            "alternative": self.alternative,
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        low, high = np.exp(np.clip([self.log_bf10.min(), self.log_bf10.max()], -700.0, 700.0))
        return f"BayesFactorCurve({self.log_bf10.size} priors: 10 from {low:.4g} to {high:.4g})"


def bayes_factor_rate(
    successes: float,
    n: float,
    null: float,
    *,
    prior: tuple[float, float] = UNIFORM,
    alternative: Alternative = "two-sided",
) -> BayesFactor:
    """How much do independent trials speak against a rate of exactly `null`?

    BF10 = B(a + s, b + n - s) / B(a, b) / (null^s (1 - null)^(n - s)). One-sided alternatives hold
    the prior's part on their side only: times P(side | data) / P(side).

    Parameters
    ----------
    successes, n : float
        0 <= successes <= n.
    null : float
        Strictly between 0 and 1.
    prior : pair of float
        Beta law of the rate under the alternative. Uniform by default: the factor then depends on
        the data alone, and is mild, since wide priors speak for the null. See
        `bayes_factor_sensitivity`.
    alternative : "two-sided", "greater" or "less"

    References
    ----------
    Kass and Raftery (1995), JASA 90, 773-795; Morey and Wagenmakers (2014), Statistics and
    Probability Letters 92, 121-124 (one-sided).

    Examples
    --------
    >>> found = bayes_factor_rate(115, 200, 0.5)
    >>> round(found.bf01, 3), round(found.null_probability(), 3)
    (1.197, 0.545)
    """
    a, b = beta_prior("prior", prior)
    p = open_unit("null", null)
    choice("alternative", alternative, Alternative)
    s, f = _split("successes", successes, "n", n)
    value = log_beta(a + s, b + f) - log_beta(a, b) - s * math.log(p) - f * math.log1p(-p)
    if alternative != "two-sided":
        if alternative == "greater":
            before, after = (log_beta_cdf(1 - p, p, *law) for law in ((b, a), (b + f, a + s)))
        else:
            before, after = (log_beta_cdf(p, 1 - p, *law) for law in ((a, b), (a + s, b + f)))
        value += after - before
    sign = {"two-sided": "not", "greater": "above", "less": "below"}[alternative]
    return BayesFactor(value, f"rate {p:g}", f"rate {sign} {p:g}, Beta({a:g}, {b:g})")


def bayes_factor_difference(
    successes: tuple[float, float],
    n: tuple[float, float],
    *,
    prior: tuple[float, float] = UNIFORM,
    prior_common: tuple[float, float] | None = None,
    alternative: Alternative = "two-sided",
) -> BayesFactor:
    """How much do two groups of independent trials speak against one common rate?

    Parameters
    ----------
    successes, n : pairs of float
        First and second group.
    prior : pair of float
        Beta law of each rate under the alternative, independent of each other.
    prior_common : pair of float, optional
        Beta law of the common rate under the null; the same by default.
    alternative : "two-sided", "greater" or "less"
        The first rate above or below the second; one-sided ones by quadrature.

    Notes
    -----
    Independent rates are a bold alternative: differences of any size are expected. Where small
    ones are, the factor speaks for the null too soon; `bayes_factor_sensitivity` shows it.

    References
    ----------
    Gunel and Dickey (1974), Biometrika 61, 545-557 (independent binomial sampling).

    Examples
    --------
    >>> round(bayes_factor_difference((6, 0), (10, 10)).bf10, 4)
    32.0331
    """
    a, b = beta_prior("prior", prior)
    c, d = (a, b) if prior_common is None else beta_prior("prior_common", prior_common)
    choice("alternative", alternative, Alternative)
    groups = [_split("successes", s, "n", m) for s, m in zip(successes, n, strict=True)]
    if len(groups) != 2:
        raise InputError("n", "a pair", f"{len(groups)} numbers")
    own = sum(log_beta(a + s, b + f) - log_beta(a, b) for s, f in groups)
    s, f = sum(g[0] for g in groups), sum(g[1] for g in groups)
    value = own - (log_beta(c + s, d + f) - log_beta(c, d))
    computation: Computation = "closed-form"
    if alternative != "two-sided":
        computation = "quadrature"
        one, two = (BetaLaw(a + s, b + f) for s, f in groups)
        pair = (one, two) if alternative == "less" else (two, one)
        below = float(difference_law(*pair).cdf(np.array([0.0]))[0])
        share = math.log(below) if below > _TOO_SMALL else _log_probability_below(*pair)
        value += share - math.log(0.5)
    words = {"two-sided": "two rates", "greater": "first above", "less": "first below"}
    return BayesFactor(
        value,
        f"one rate, Beta({c:g}, {d:g})",
        f"{words[alternative]}, each Beta({a:g}, {b:g})",
        computation=computation,
    )


def bayes_factor_sensitivity(
    successes: float | tuple[float, float],
    n: float | tuple[float, float],
    null: float | None = None,
    *,
    centre: float | None = None,
    concentrations: Sequence[float] = CONCENTRATIONS,
    alternative: Alternative = "two-sided",
) -> BayesFactorCurve:
    """How does the Bayes factor change with the width of the alternative's prior?

    Priors are Beta(c m, c (1 - m)) for every concentration c: centred (m) at `null` for one rate,
    at `centre` (one half by default) for two.

    Examples
    --------
    >>> curve = bayes_factor_sensitivity(115, 200, 0.5, concentrations=(2, 50, 500))
    >>> np.exp(curve.log_bf10).round(3).tolist()
    [0.835, 2.726, 1.609]
    """
    if isinstance(successes, tuple) != isinstance(n, tuple) or isinstance(n, tuple) != (
        null is None
    ):
        rule = "one rate with a null, or a pair of counts without"
        raise InputError("successes, n and null", rule)
    middle = open_unit("centre", centre) if centre is not None else 0.5 if null is None else null
    sizes = [real("concentrations", c, 1e-2, 1e6) for c in concentrations]
    if not sizes:
        raise InputError("concentrations", "at least one number")
    found = []
    for c in sizes:
        prior = (c * middle, c * (1.0 - middle))
        if isinstance(successes, tuple) and isinstance(n, tuple):
            found.append(
                bayes_factor_difference(successes, n, prior=prior, alternative=alternative)
            )
        elif not isinstance(successes, tuple) and not isinstance(n, tuple) and null is not None:
            found.append(
                bayes_factor_rate(successes, n, null, prior=prior, alternative=alternative)
            )
    size, value = np.array(sizes), np.array([f.log_bf10 for f in found])
    notes: tuple[str, ...] = ()
    if value.min() < 0.0 < value.max():
        notes = ("the prior decides which hypothesis the data speak for",)
    return BayesFactorCurve(
        size, np.sqrt(middle * (1.0 - middle) / (size + 1.0)), value,
        found[0].null.partition(", Beta")[0], found[0].alternative.partition(", ")[0],
        notes, found[0].computation,
    )  # fmt: skip


def log_beta(a: float, b: float) -> float:
    """Give log B(a, b), without cancellation where both are large."""
    n = a + b
    errors = stirling_error(a) + stirling_error(b) - stirling_error(n)
    centre = -a * math.log1p(b / a) - b * math.log1p(a / b)
    return errors + centre + 0.5 * (math.log(n / a) - math.log(b)) + 0.5 * math.log(2.0 * math.pi)


def _split(name: str, successes: float, size_name: str, n: float) -> tuple[float, float]:
    size, hits = real(size_name, n, 0.0), real(name, successes, 0.0)
    if hits > size:
        raise InputError(name, f"between 0 and {size_name}", successes)
    return hits, size - hits


def _log_probability_below(first: BetaLaw, second: BetaLaw) -> float:
    """Give log P(first < second) where it is next to nothing, summed in logarithms.

    On the logit scale u of the second, its density times P(first < u) is log-concave: the top is
    found by thirds, and a trapezoidal sum goes out to where it is lost.
    """

    def height(u: float) -> float:
        x, y = 1.0 / (1.0 + math.exp(-u)), 1.0 / (1.0 + math.exp(u))
        own = -second.a * math.log1p(math.exp(-u)) - second.b * math.log1p(math.exp(u))
        return own - log_beta(second.a, second.b) + log_beta_cdf(x, y, first.a, first.b)

    low, high = -_FARTHEST, _FARTHEST
    for _ in range(_THIRDS):
        third = (high - low) / 3.0
        if height(low + third) < height(high - third):
            low += third
        else:
            high -= third
    top = 0.5 * (low + high)
    peak, ends = height(top), []
    for sign in (-1.0, 1.0):
        reach = 1e-6
        while reach < _FARTHEST and height(top + sign * reach) > peak - _LOST:
            reach *= 1.5
        ends.append(top + sign * reach)
    step = (ends[1] - ends[0]) / _SUMMED
    total = math.fsum(math.exp(height(ends[0] + k * step) - peak) for k in range(_SUMMED + 1))
    return peak + math.log(step * total)
