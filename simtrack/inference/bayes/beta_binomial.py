"""Posteriors of one rate and of two under Beta priors, without clusters."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.bayes.posterior import Posterior, describe
from simtrack.inference.bayes.posterior_law import BetaLaw, Law, PanelLaw
from simtrack.inference.differences.two_rates import two_columns
from simtrack.inference.intervals import Intervals
from simtrack.inference.numerics.panels import settled_panels
from simtrack.inference.rates.pooled import independence_notes
from simtrack.validate import confidence_level, integer, real

__all__ = [
    "UNIFORM",
    "beta_difference",
    "beta_posterior",
    "beta_prior",
    "beta_rate",
    "beta_rates",
    "difference_law",
    "posterior_difference",
]


#: The default prior of a rate: every rate as probable as every other, worth two trials.
UNIFORM = (1.0, 1.0)


def beta_posterior(
    successes: float,
    n: float,
    *,
    prior: tuple[float, float] = UNIFORM,
    level: float = 0.95,
    name: str = "rate",
) -> Posterior:
    """Which rates are credible after `successes` in `n` independent trials?

    Beta(a, b) before, Beta(a + successes, b + failures) after.

    Parameters
    ----------
    successes, n : float
        0 <= successes <= n; n may be 0, then the prior is given back.
    prior : pair of float
        a and b. The default (1, 1) is uniform: it is worth two trials, one of each outcome.
        (1/2, 1/2) is Jeffreys' prior, worth one trial, with more mass near 0 and 1: take it for
        rates that are expected to be extreme.
    level : float
    name : str
        Of the quantity.

    Examples
    --------
    >>> beta_posterior(8, 10)
    Posterior(rate: mean 0.7500, 95%: 0.4822 to 0.9398)
    """
    a, b = beta_prior("prior", prior)
    size = real("n", n, 0.0)
    hits = real("successes", successes, 0.0)
    if hits > size:
        raise InputError("successes", "between 0 and n", successes)
    notes = ("no trial: this is the prior",) if size == 0.0 else ()
    law = BetaLaw(a + hits, b + size - hits)
    return describe(name, law, confidence_level("level", level), f"Beta({a:g}, {b:g})", notes)


def beta_rate(
    totals: Totals,
    *,
    condition: int = 0,
    prior: tuple[float, float] = UNIFORM,
    level: float = 0.95,
) -> Posterior:
    """Which rates of a condition are credible, if all trials are independent?

    Pools over clusters: with more than one trial in a cluster it is too sure, and says so. Use
    `hierarchical_beta` or `hierarchical_logit` then.

    Examples
    --------
    >>> found = beta_rate(Totals.from_arrays([3, 1, 4], [4, 4, 4]))
    >>> round(found.mean, 4), found.notes
    (0.6429, ('treats trials as independent: several come from one cluster',))
    """
    column = integer("condition", condition, 0, totals.shape[1] - 1)
    hits, size = totals.numerator[:, column], totals.denominator[:, column]
    if ((hits < 0.0) | (hits > size)).any():
        raise InputError("scores", "between 0 and 1", cure="A Beta law is of rates.")
    found = beta_posterior(float(hits.sum()), float(size.sum()), prior=prior, level=level)
    notes = (*found.notes, *independence_notes(totals, column))
    return describe(totals.name, found.law, found.level, found.prior, notes)


def beta_rates(
    totals: Totals, *, level: float = 0.95, prior: tuple[float, float] = UNIFORM
) -> Intervals:
    """Which rates are credible in each condition, with equal tails, if trials are independent?

    Examples
    --------
    >>> beta_rates(Totals.from_arrays([[3, 4], [1, 2]], [[4, 4], [4, 4]]))
    Intervals(2 at 0.95, Beta posterior on pooled trials)
    """
    found = [
        beta_rate(totals, condition=c, prior=prior, level=level) for c in range(totals.shape[1])
    ]
    size = totals.denominator.sum(axis=0)
    return Intervals(
        np.array([f.low for f in found]),
        np.array([f.high for f in found]),
        level,
        "Beta posterior on pooled trials",
        np.full(size.shape, np.nan),
        size,
        tuple((f"prior {f.prior}", *f.notes) for f in found),
        "closed-form",
        "bayesian",
    )


def beta_prior(name: str, prior: tuple[float, float]) -> tuple[float, float]:
    """Check the two numbers of a Beta prior."""
    try:
        a, b = (float(value) for value in prior)
    except (TypeError, ValueError):
        raise InputError(name, "a pair of positive numbers", repr(prior)) from None
    return real(f"{name} a", a, 1e-3, 1e6), real(f"{name} b", b, 1e-3, 1e6)


# The posterior of a difference of two independent rates.
Floats = NDArray[np.float64]
#: So many sds from the mean hold all of a law that counts, heavy ends included.
_REACH = 40.0
_SPAN, _STABLE = 4.0, 1e-13
_CENTRED_FROM, _LOG_MAX = 50.0, 700.0
_FIRST_STEP, _HALVINGS = 1.0 / 8.0, 9


def beta_difference(
    totals: Totals,
    *,
    first: int = 0,
    second: int = 1,
    prior_first: tuple[float, float] = UNIFORM,
    prior_second: tuple[float, float] = UNIFORM,
    level: float = 0.95,
) -> Posterior:
    """Which differences of two rates, first minus second, are credible if trials are independent?

    Parameters
    ----------
    totals : Totals
        Pooled over clusters; clusters that have both conditions are taken as independent all the
        same, with a note. `hierarchical_slope` keeps them together.
    first, second : int
        Columns.
    prior_first, prior_second : pair of float
        Beta laws; see `beta_posterior`.
    level : float

    Notes
    -----
    Two uniform priors already hold the difference within ±.2 with probability .36.

    Examples
    --------
    >>> totals = Totals.from_arrays([[12, 6]], [[14, 14]])
    >>> found = beta_difference(totals)
    >>> found, round(found.rope(-0.2, 0.2).above, 10)
    (Posterior(difference: mean 0.3750, 95%: 0.0597 to 0.6561), 0.8697798511)
    """
    two = two_columns(totals, first, second)
    parts = [
        beta_posterior(float(hits), float(n), prior=prior)
        for hits, n, prior in zip(two.hits, two.n, (prior_first, prior_second), strict=True)
    ]
    return posterior_difference(*parts, level=level, notes=two.independence_notes())


def posterior_difference(
    first: Posterior, second: Posterior, *, level: float = 0.95, notes: tuple[str, ...] = ()
) -> Posterior:
    """Which differences of two rates are credible, if what is known of them is independent?

    Parameters
    ----------
    first, second : Posterior
        Of rates: Beta posteriors or marginal rates of two hierarchical fits.

    Examples
    --------
    >>> d = posterior_difference(beta_posterior(5, 8), beta_posterior(2, 6))
    >>> round(d.probability(low=0.0), 10)
    0.8426573427
    """
    law = difference_law(first.law, second.law)
    prior = f"first {first.prior}; second {second.prior}, independent"
    notes = tuple(dict.fromkeys((*notes, *first.notes, *second.notes)))
    return describe("difference", law, confidence_level("level", level), prior, notes)


def difference_law(first: Law, second: Law) -> PanelLaw:
    """Give the law of first minus second for independent laws on [0, 1]."""
    if first.support != (0.0, 1.0) or second.support != (0.0, 1.0):
        raise InputError("first and second", "posteriors of rates", "others")
    middle, spread = first.mean - second.mean, math.hypot(first.sd, second.sd)
    marks = [middle + k * spread for k in (-_REACH, -8.0, -4.0, 0.0, 4.0, 8.0, _REACH)]
    edges = sorted({-1.0, 0.0, 1.0, *(m for m in marks if -1.0 < m < 1.0)})
    panels, values = settled_panels(lambda x: _density(first, second, x), np.array(edges))
    return PanelLaw(panels, values, "identity", (-1.0, 1.0))


def _density(first: Law, second: Law, x: Floats) -> Floats:
    """Integrate f1(s + x) f2(s) over s by the double-exponential rule, its step halved."""
    bottom, top = np.maximum(0.0, -x), np.minimum(1.0, 1.0 - x)
    low, high = bottom.copy(), top.copy()
    for law, shift in ((second, 0.0), (first, x)):
        low = np.maximum(low, law.mean - _REACH * law.sd - shift)
        high = np.minimum(high, law.mean + _REACH * law.sd - shift)
    width = np.maximum(high - low, 0.0)
    one, two = _on_pairs(first), _on_pairs(second)

    def part(t: Floats) -> Floats:
        left = 1.0 / (1.0 + np.exp(-math.pi * np.sinh(t)))
        right = 1.0 / (1.0 + np.exp(math.pi * np.sinh(t)))
        slope = math.pi * np.cosh(t) * left * right
        from_bottom = (low - bottom)[:, None] + width[:, None] * left
        to_top = (top - high)[:, None] + width[:, None] * right
        s, rest = bottom[:, None] + from_bottom, (1.0 - top)[:, None] + to_top
        up, over = (
            np.maximum(x, 0.0)[:, None] + from_bottom,
            np.maximum(-x, 0.0)[:, None] + to_top,
        )
        found: Floats = (slope * one(up, over) * two(s, rest)).sum(axis=1) * width
        return found

    step: float = _FIRST_STEP
    count = round(_SPAN / step)
    total = part(step * np.arange(-count, count + 1.0))
    for _ in range(_HALVINGS):
        old = step * total
        total = total + part(step * (np.arange(-count + 0.5, count)))
        step, count = 0.5 * step, 2 * count
        if np.abs(step * total - old).max(initial=0.0) <= _STABLE * np.abs(old).max(initial=0.0):
            break
    return step * total


def _on_pairs(law: Law) -> Callable[[Floats, Floats], Floats]:
    """Give a density as a function of x and 1 - x, neither of which is computed from the other."""
    if not isinstance(law, BetaLaw):
        return lambda x, _: law.density(x)
    a, b, middle = law.a - 1.0, law.b - 1.0, law.mean
    peak = math.log(law.density(np.array([middle]))[0])
    at_peak = a * math.log(middle) + b * math.log1p(-middle)

    def density(x: Floats, rest: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            if min(a, b) < _CENTRED_FROM:
                found = a * np.log(x) + b * np.log(rest) - at_peak
            else:  # one difference for both terms, so that its rounding cancels
                gap = x - middle
                found = a * np.log1p(gap / middle) + b * np.log1p(-gap / (1.0 - middle))
            found = np.exp(np.minimum(found + peak, _LOG_MAX))
        return np.where((x > 0.0) & (rest > 0.0) & ~np.isnan(found), found, 0.0)

    return density
