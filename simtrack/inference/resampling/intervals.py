"""From a bootstrap law to the ends of an interval: percentile, basic, BCa and studentized."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simtrack.inference.numerics.special import normal_cdf, normal_quantile
from simtrack.inference.resampling.arms import ArmsLaw
from simtrack.inference.resampling.law import BootstrapLaw
from simtrack.inference.resampling.routes import BootstrapRoute
from simtrack.inference.resampling.sample import Sample
from simtrack.options import Computation, Guarantee

__all__ = [
    "BootstrapInterval",
    "BootstrapKind",
    "BootstrapStatus",
    "Ends",
    "acceleration",
    "interval_ends",
]


BootstrapKind = Literal["percentile", "basic", "bca", "studentized"]
Floats: TypeAlias = NDArray[np.float64]


class Ends(NamedTuple):
    """The ends of an interval, or why there are none.

    `quantiles` are where the ends stand in the law, as (probability, variance that one random
    resample brings to the rank there), for the low end and for the high end.
    """

    low: float | None
    high: float | None
    quantiles: tuple[tuple[float, float], tuple[float, float]] | None = None
    notes: tuple[str, ...] = ()
    bias_correction: float | None = None
    acceleration: float | None = None


def interval_ends(
    kind: BootstrapKind,
    law: BootstrapLaw | ArmsLaw,
    sample: Sample,
    level: float,
    standard_error: float = math.nan,
) -> Ends:
    """Which ends does this kind of interval take from the law?

    For "studentized" the law is that of the t value and `standard_error` that of the estimate.

    References
    ----------
    Davison and Hinkley (1997), Bootstrap Methods and their Application: (5.6) basic, (5.18)
    percentile, (2.43) studentized. Efron (1987), JASA 82, 171-185, eq. 2.3 (BCa).
    """
    alpha = (1.0 - level) / 2.0
    if kind == "bca":
        return _bca(law, sample, alpha)
    low, high = law.quantiles([alpha, 1.0 - alpha]).tolist()
    spread = alpha * (1.0 - alpha)
    at = ((alpha, spread), (1.0 - alpha, spread))
    if kind == "percentile":
        return Ends(low, high, at)
    centre, scale = sample.estimate, standard_error
    if kind == "basic":
        ends = 2.0 * centre - high, 2.0 * centre - low
    else:
        ends = centre - scale * high, centre - scale * low
    return _within(Ends(*ends, (at[1], at[0])), sample.bounds)


def acceleration(jackknife: tuple[Floats, ...]) -> float:
    """How fast does the standard error change with the statistic?  NaN where not defined.

    Σ_s Σ u³/n³ / 6 (Σ_s Σ u²/n²)^{3/2} over pools s of n clusters, with u = (n-1)(mean - value)
    of the jackknife values.

    References
    ----------
    Efron (1987), eq. 6.6; several samples: Davison and Hinkley (1997), eq. 5.23 with 3.2.1.

    Examples
    --------
    >>> f"{acceleration((np.array([0.0, 0.0, 3.0]),)):.6f}"
    '-0.068041'
    """
    cubes = squares = 0.0
    for values in jackknife:
        n = values.size
        u = (n - 1.0) * (values.mean() - values)
        cubes += float((u * u * u).sum()) / n**3
        squares += float((u * u).sum()) / n**2
    return cubes / (6.0 * squares**1.5) if squares > 0.0 else math.nan


def _within(ends: Ends, bounds: tuple[float, float]) -> Ends:
    """Cut the ends off where the statistic ends; refuse an end that is infinite."""
    assert ends.low is not None
    assert ends.high is not None
    low, high = max(ends.low, bounds[0]), min(ends.high, bounds[1])
    notes: tuple[str, ...] = ()
    if (low, high) != (ends.low, ends.high):
        notes = (f"the interval is cut off at {bounds[0]:g} and {bounds[1]:g}",)
    if math.isfinite(low) and math.isfinite(high):
        return ends._replace(low=low, high=high, notes=notes)
    why = "an end is infinite: too many resamples have no spread to divide by"
    return Ends(
        low if math.isfinite(low) else None, high if math.isfinite(high) else None, None, (why,)
    )


def _bca(law: BootstrapLaw | ArmsLaw, sample: Sample, alpha: float) -> Ends:
    below, at = law.shares(sample.estimate)
    share = below + at / 2.0  # what ties with the estimate counts half
    a = acceleration(sample.jackknife())
    if math.isnan(a):
        return Ends(None, None, notes=("no BCa interval: the jackknife is not defined or flat",))
    if not 0.0 < share < 1.0:
        side = "below" if share else "above"
        return Ends(None, None, notes=(f"no BCa interval: all resamples lie {side} the estimate",))
    z0 = normal_quantile(share)
    spread = below + at / 4.0 - share * share
    found = [_bca_place(z0, a, z, (below, at, share, spread)) for z in _critical(alpha)]
    if None in found:
        return Ends(None, None, None, (f"no BCa interval: acceleration {a:.3g} is too large",))
    (low, low_rank), (high, high_rank) = (f for f in found if f is not None)
    ends = law.quantiles([low, high]).tolist()
    at_ranks = ((low, low_rank), (high, high_rank))
    return Ends(ends[0], ends[1], at_ranks, (), z0, a)


def _critical(alpha: float) -> tuple[float, float]:
    z = normal_quantile(alpha)
    return z, -z


def _bca_place(
    z0: float, a: float, z: float, masses: tuple[float, float, float, float]
) -> tuple[float, float] | None:
    """Give Φ(z0 + (z0 + z) / (1 - a (z0 + z))) and the variance of its rank under resampling.

    The place moves with the share p below the estimate, by c = φ(place) (1 + 1/(1-a(z0+z))²)/φ(z0)
    a unit of p; a resample x moves the rank by c·h(x) - 1{x ≤ end}, with h its part of p.
    """
    slope = 1.0 - a * (z0 + z)
    if slope <= 0.0:
        return None
    below, at, share, spread = masses
    shifted = z0 + (z0 + z) / slope
    place = normal_cdf(shifted)
    c = math.exp((z0 * z0 - shifted * shifted) / 2.0) * (1.0 + 1.0 / slope**2)
    # An end beyond the estimate lies above all of h; an end before it, below the rest of h.
    joint = share if place >= below + at else min(place, below)
    covariance = joint - place * share
    return place, max(place * (1.0 - place) + c * c * spread - 2.0 * c * covariance, 0.0)


# What the cluster bootstrap returns.
#: "degenerate": all resamples give one value, so that its spread says nothing.
BootstrapStatus = Literal["ok", "degenerate", "refused"]


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapInterval:
    """Which values of a statistic are compatible with the clusters, by resampling them?

    Attributes
    ----------
    estimate : float
        The statistic of the clusters as observed.
    low, high : float or None
        The ends; None where there is none, with the reason in `notes`.
    level : float
    kind : str
        "percentile", "basic", "bca" or "studentized".
    standard_error, bias : float
        Standard deviation of the law, and its mean minus the estimate.
    clusters : int
        Clusters resampled, over all pools.
    route, why : str
        How the law was computed, and why so.
    status : str
        "ok", "degenerate" or "refused".
    undefined : float
        Share of resamples in which a denominator is 0. The law is that of the others.
    law : BootstrapLaw or ArmsLaw
        All values of the statistic with their probabilities, and its quantiles.
    t_law : BootstrapLaw or None
        That of the t value, for a studentized interval.
    bias_correction, acceleration : float or None
        z0 and a, for a BCa interval.
    mcse_low, mcse_high : float or None
        Monte Carlo standard error of each end; None where the law is exact.
    n_resamples, seed : int or None
        Monte Carlo only.
    notes : tuple of str
    """

    estimate: float
    low: float | None
    high: float | None
    level: float
    kind: BootstrapKind
    standard_error: float
    bias: float
    clusters: int
    route: BootstrapRoute
    why: str
    status: BootstrapStatus
    undefined: float
    law: BootstrapLaw | ArmsLaw
    t_law: BootstrapLaw | None
    bias_correction: float | None
    acceleration: float | None
    mcse_low: float | None
    mcse_high: float | None
    n_resamples: int | None
    seed: int | None
    notes: tuple[str, ...]
    computation: Computation
    guarantee: Guarantee = "asymptotic"

    @property
    def method(self) -> str:
        """The method in words: an exact law is not an interval with exact coverage."""
        how = "estimated by Monte Carlo" if self.route == "monte-carlo" else "computed exactly"
        name = "BCa" if self.kind == "bca" else self.kind
        return f"{name} cluster bootstrap, law {how}"

    def to_dict(self) -> dict[str, object]:
        """Give plain values; the law is left out (see `law.table()`)."""
        return {
            "schema": "simtrack.cluster-bootstrap/1",
            "method": self.method,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "kind": self.kind,
            "standard_error": self.standard_error,
            "bias": self.bias,
            "clusters": self.clusters,
            "route": self.route,
            "why": self.why,
            "status": self.status,
            "undefined": self.undefined,
            "bias_correction": self.bias_correction,
            "acceleration": self.acceleration,
            "mcse_low": self.mcse_low,
            "mcse_high": self.mcse_high,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        ends = (self.low, self.high)
        shown = " to ".join("none" if e is None else f"{e:.4f}" for e in ends)
        shown = self.status if ends == (None, None) else shown
        return f"BootstrapInterval({self.estimate:.4f}, {self.level:.0%}: {shown}, {self.route})"
