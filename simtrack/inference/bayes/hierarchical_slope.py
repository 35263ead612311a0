"""A paired difference with cluster-level effects: a hierarchical logit-normal contrast slope."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.bayes.bayes_factor import BayesFactor
from simtrack.inference.bayes.beta_binomial import UNIFORM, beta_prior
from simtrack.inference.bayes.posterior import Posterior, describe
from simtrack.inference.bayes.slope_grid import (
    PairedPatterns,
    SlopeGrid,
    SlopePriors,
    slope_grid,
)
from simtrack.inference.bayes.slope_law import marginal_difference
from simtrack.inference.differences.two_rates import two_columns
from simtrack.options import Computation, Guarantee
from simtrack.validate import confidence_level, real

__all__ = ["HierarchicalSlope", "hierarchical_slope"]

Floats = NDArray[np.float64]
_FEW, _MOST_TRIALS = 20, 2000


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalSlope:
    """How do two conditions differ, if clusters differ in level and in effect?

    Attributes
    ----------
    difference : Posterior
        First minus second mean rate of the population of clusters.
    contrast : Posterior
        The mean log odds ratio within clusters.
    sd_level, sd_contrast : Posterior
        Between clusters, on the logit scale.
    rate_first, rate_second : float
        Posterior means of both mean rates.
    bayes_factor : BayesFactor
        Against a mean contrast of 0 (effects of single clusters may still differ).
    others : tuple of Posterior
        The difference under other priors of the sd of the contrast.
    clusters, shared : int
        How many there are, and how many with trials in both conditions.
    log_evidence : float
    notes : tuple of str
    """

    difference: Posterior
    contrast: Posterior
    sd_level: Posterior
    sd_contrast: Posterior
    rate_first: float
    rate_second: float
    bayes_factor: BayesFactor
    others: tuple[Posterior, ...]
    clusters: int
    shared: int
    log_evidence: float
    level: float
    notes: tuple[str, ...]
    computation: Computation = "quadrature"
    guarantee: Guarantee = "bayesian"

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        parts = ("difference", "contrast", "sd_level", "sd_contrast", "bayes_factor")
        plain = ("rate_first", "rate_second", "clusters", "shared", "log_evidence", "level")
        return {
            "schema": "simtrack.hierarchical-slope/1",
            **{name: getattr(self, name).to_dict() for name in parts},
            **{name: getattr(self, name) for name in plain},
            "others": [other.to_dict() for other in self.others],
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }

    def to_arviz(self, *, draws: int = 1000, chains: int = 4, seed: int = 0) -> Any:
        """Hand draws to the installed ArviZ: each quantity from its own posterior, not jointly."""
        from simtrack.inference.bayes.posterior import law_draws, to_arviz

        parts = ("difference", "contrast", "sd_level", "sd_contrast")
        return to_arviz(
            {name: law_draws(getattr(self, name).law, name, draws, chains, seed) for name in parts}
        )

    to_inference_data = to_arviz

    def __repr__(self) -> str:
        return f"HierarchicalSlope({self.clusters} clusters: {self.difference!r})"


def hierarchical_slope(
    totals: Totals,
    *,
    first: int = 0,
    second: int = 1,
    prior: tuple[float, float] = UNIFORM,
    sd_scale: float = 1.0,
    contrast_sd: float = 1.0,
    slope_scale: float = 0.5,
    other_slope_scale: float | None = 1.0,
    level: float = 0.95,
) -> HierarchicalSlope:
    """Which paired differences are credible, if both level and effect differ between clusters?

    A cluster's logits are a + e/2 and a - e/2 with a from Normal(m, t²) and e from Normal(d, o²),
    independent; the posterior of (m, t, d, o) is integrated on panels in four dimensions.

    Parameters
    ----------
    totals : Totals
        Successes and trials by cluster, in two columns; a cluster may lack one of them.
    first, second : int
        Columns.
    prior : pair of float
        Beta law of expit(m), the rate between both conditions; uniform by default.
    sd_scale : float
        t is half-normal with this scale; see `hierarchical_logit`.
    contrast_sd : float
        d is Normal(0, contrast_sd²). At 1 the odds ratio is within a factor of 7 with probability
        .95: large effects are allowed, not expected. The Bayes factor depends on it.
    slope_scale : float
        o is half-normal with this scale: at .5 clusters' effects differ less than their levels.
    other_slope_scale : float or None
        What the difference is shown under as well.
    level : float

    Notes
    -----
    A fit takes from a few seconds (four clusters) to half a minute (many different counts): each
    prior that is shown costs one. Its numbers are exact to about 1e-7.

    Examples
    --------
    >>> totals = Totals.from_arrays([[9, 6], [5, 3]], [[10, 10]] * 2)
    >>> hierarchical_slope(totals, other_slope_scale=None).difference
    Posterior(difference: mean 0.1450, 95%: -0.0863 to 0.3795)
    """
    two = two_columns(totals, first, second)
    hits, size = two.totals.numerator, two.totals.denominator
    here = size.sum(axis=1) > 0.0
    hits, size = hits[here], size[here]
    whole = (hits == np.rint(hits)).all() and (size == np.rint(size)).all()
    if not whole or (two.totals.square != two.totals.numerator).any():
        raise InputError("totals", "counts of 0/1 outcomes", "scores")
    if not (size > 0.0).any(axis=0).all():
        raise InputError("totals", "with trials in both conditions", "none in one of them")
    if size.max() > _MOST_TRIALS:
        raise InputError("trials of a cluster", f"at most {_MOST_TRIALS}", float(size.max()))
    priors = SlopePriors(
        beta_prior("prior", prior),
        real("sd_scale", sd_scale, 1e-2, 10.0),
        real("contrast_sd", contrast_sd, 1e-2, 10.0),
        real("slope_scale", slope_scale, 1e-2, 10.0),
    )
    confidence_level("level", level)
    patterns = PairedPatterns.of(hits, size)
    grid = slope_grid(patterns, priors)
    others: tuple[Posterior, ...] = ()
    if other_slope_scale is not None:
        wider = real("other_slope_scale", other_slope_scale, 1e-2, 10.0)
        again = SlopePriors(priors.location, priors.sd_scale, priors.contrast_sd, wider)
        law, _, _ = marginal_difference(slope_grid(patterns, again))
        others = (describe("difference", law, level, again.words()),)
    observed = float(two.hits[0] / two.n[0] - two.hits[1] / two.n[1])
    return _found(grid, priors, others, two.shared, int(here.sum()), level, observed)


def _found(
    grid: SlopeGrid,
    priors: SlopePriors,
    others: tuple[Posterior, ...],
    shared: int,
    clusters: int,
    level: float,
    observed: float,
) -> HierarchicalSlope:
    words = priors.words()
    law, rate_first, rate_second = marginal_difference(grid)
    contrast = grid.law(2)
    spreads = [grid.law(k, (0.0, math.inf)) for k in (1, 3)]
    # Savage and Dickey: the null's density after the data, over that before.
    at_null = float(contrast.density(np.array([0.0]))[0])
    before = 1.0 / (priors.contrast_sd * math.sqrt(2.0 * math.pi))
    notes = []
    if at_null > 0.0:
        factor = math.log(before) - math.log(at_null)
    else:
        factor = math.inf
        notes.append("the posterior of the contrast does not reach 0: the Bayes factor is huge")
    if shared < _FEW:
        notes.append(
            f"few clusters with both conditions ({shared}): the prior on the sd of the contrast "
            "matters"
        )
    difference = describe("difference", law, level, words)
    if not difference.low <= observed <= difference.high:
        notes.append(
            f"the observed difference, {observed:.4f}, is outside the interval: the prior on the "
            "contrast holds effects so large to be improbable (contrast_sd)"
        )
    notes += [
        f"under sd half-normal({o.prior.rpartition('(')[2]} instead: difference {o.mean:.4f}, "
        f"{level:.0%} {o.low:.4f} to {o.high:.4f}"
        for o in others
    ]
    return HierarchicalSlope(
        difference,
        describe("log odds ratio", contrast, level, words),
        describe("sd of levels", spreads[0], level, words),
        describe("sd of contrasts", spreads[1], level, words),
        rate_first, rate_second,
        BayesFactor(factor, "mean contrast 0", words, computation="quadrature"),
        others, clusters, shared, grid.log_evidence, level, tuple(notes),
    )  # fmt: skip
