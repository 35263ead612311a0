"""The posterior of one rate from independent trials: the conjugate Beta law."""

from __future__ import annotations

import numpy as np

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.intervals import Intervals
from simtrack.inference.pooled import independence_notes
from simtrack.inference.posterior import Posterior, describe
from simtrack.inference.posterior_law import BetaLaw
from simtrack.validate import confidence_level, integer, real

__all__ = ["UNIFORM", "beta_posterior", "beta_prior", "beta_rate", "beta_rates"]

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
