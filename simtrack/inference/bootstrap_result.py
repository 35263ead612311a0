"""What the cluster bootstrap returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simtrack.inference.bootstrap_arms import ArmsLaw
from simtrack.inference.bootstrap_intervals import BootstrapKind
from simtrack.inference.bootstrap_law import BootstrapLaw
from simtrack.inference.bootstrap_routes import BootstrapRoute
from simtrack.options import Computation, Guarantee

__all__ = ["BootstrapInterval", "BootstrapStatus"]

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
