"""What a hierarchical model of one rate over clusters says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.bayes.bayes_factor import BayesFactor, log_beta
from simtrack.inference.bayes.posterior import Posterior, describe
from simtrack.inference.bayes.posterior_law import PanelLaw
from simtrack.options import Computation, Guarantee
from simtrack.validate import integer

__all__ = [
    "ClusterLaws",
    "Hierarchical",
    "Under",
    "cluster_counts",
    "differing_clusters",
    "few_clusters",
]

Floats = NDArray[np.float64]
#: With fewer clusters the prior on the spread is said to matter, whatever it did here.
_FEW = 20


class ClusterLaws(Protocol):
    """What a fit knows of single clusters."""

    def cluster_law(self, i: int) -> PanelLaw:
        """Give the law of one cluster's rate."""

    def draw(self, shares: Floats) -> dict[str, Floats]:
        """Turn uniforms (draws, 2 + clusters) into joint draws by name."""


@dataclass(frozen=True, slots=True)
class Under:
    """What comes out under another prior on the spread?

    Attributes
    ----------
    prior : str
    rate_mean, rate_low, rate_high, spread_mean, spread_low, spread_high : float
        Means and equal-tailed intervals at the level of the main result.
    """

    prior: str
    rate_mean: float
    rate_low: float
    rate_high: float
    spread_mean: float
    spread_low: float
    spread_high: float

    @classmethod
    def of(cls, prior: str, rate: PanelLaw, spread: PanelLaw, level: float) -> Under:
        """Summarise two laws."""
        tails = np.array([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
        low, high = rate.quantile(tails).tolist()
        bottom, top = spread.quantile(tails).tolist()
        return cls(prior, rate.mean, low, high, spread.mean, bottom, top)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchical:
    """What is known of the mean rate, of how clusters differ, and of each of them?

    Attributes
    ----------
    model : "beta-binomial" or "logit-normal"
    rate : Posterior
        The mean rate of the population of clusters (the marginal rate of a new trial).
    spread : Posterior
        ICC (beta-binomial) or sd of the clusters' logits (logit-normal).
    clusters : tuple of str
    hits, size : float64 arrays, shape (clusters,)
        Successes and trials.
    cluster_mean, cluster_sd : float64 arrays, shape (clusters,)
        Of each cluster's own rate; `cluster(label)` gives its whole posterior.
    log_evidence : float or None
        Log probability of the sequences of outcomes under the model; None with an improper prior.
    bayes_factor : BayesFactor or None
        For clusters that differ, against one rate for all; None with an improper prior.
    others : tuple of Under
        The same under other priors on the spread.
    level : float
    notes : tuple of str
    """

    model: Literal["beta-binomial", "logit-normal"]
    rate: Posterior
    spread: Posterior
    clusters: tuple[str, ...]
    hits: Floats
    size: Floats
    cluster_mean: Floats
    cluster_sd: Floats
    log_evidence: float | None
    bayes_factor: BayesFactor | None
    others: tuple[Under, ...]
    level: float
    fit: ClusterLaws
    notes: tuple[str, ...]
    computation: Computation = "quadrature"
    guarantee: Guarantee = "bayesian"

    def cluster(self, which: str | int) -> Posterior:
        """Give the posterior of one cluster's rate, by label or by place."""
        if isinstance(which, str):
            if which not in self.clusters:
                raise InputError("cluster", "a label of the totals", repr(which))
            place = self.clusters.index(which)
        else:
            place = integer("cluster", which, 0, len(self.clusters) - 1)
        law = self.fit.cluster_law(place)
        return describe(f"rate of {self.clusters[place]}", law, self.level, self.rate.prior)

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        return {
            "schema": "simtrack.hierarchical/1",
            "model": self.model,
            "rate": self.rate.to_dict(),
            "spread": self.spread.to_dict(),
            "clusters": [
                {"cluster": label, "successes": y, "trials": n, "mean": mean, "sd": sd}
                for label, y, n, mean, sd in zip(
                    self.clusters, self.hits.tolist(), self.size.tolist(),
                    self.cluster_mean.tolist(), self.cluster_sd.tolist(), strict=True,
                )
            ],
            "log_evidence": self.log_evidence,
            "bayes_factor": None if self.bayes_factor is None else self.bayes_factor.to_dict(),
            "others": [other.to_dict() for other in self.others],
            "level": self.level,
            "computation": self.computation,
            "guarantee": self.guarantee,
            "notes": list(self.notes),
        }  # fmt: skip

    def to_arviz(self, *, draws: int = 1000, chains: int = 4, seed: int = 0) -> Any:
        """Hand joint draws of rate, spread and clusters to the installed ArviZ.

        Draws are made one from another by conditional quantiles at the uniforms of a counter-based
        stream: spread, location given it, then each cluster.
        """
        from simtrack.inference.bayes.posterior import shares, to_arviz

        p = shares(self.model, draws, chains, seed, 2 + len(self.clusters))
        flat = self.fit.draw(p.reshape(-1, p.shape[-1]))
        shaped = {k: v.reshape(*p.shape[:2], *v.shape[1:]) for k, v in flat.items()}
        return to_arviz(
            shaped, dims={"cluster_rate": ["cluster"]}, coords={"cluster": list(self.clusters)}
        )

    to_inference_data = to_arviz

    def __repr__(self) -> str:
        return f"Hierarchical({self.model}, {len(self.clusters)} clusters: {self.rate!r})"


def cluster_counts(totals: Totals, condition: int) -> tuple[tuple[str, ...], Floats, Floats]:
    """Give labels, successes and trials of the clusters that have any, or refuse what are none."""
    here = totals.column(integer("condition", condition, 0, totals.shape[1] - 1))
    hits, size = here.numerator[:, 0], here.denominator[:, 0]
    if not hits.size:
        raise InputError("totals", "with trials in this condition", "none")
    whole = (hits == np.rint(hits)).all() and (size == np.rint(size)).all()
    if not whole or (here.square[:, 0] != hits).any() or ((hits < 0) | (hits > size)).any():
        cure = "Use a linear mixed model for scores."
        raise InputError("totals", "counts of 0/1 outcomes", "scores", cure=cure)
    return here.clusters, hits, size


def few_clusters(
    hits: Floats, size: Floats, spread: str, rate: Posterior, others: tuple[Under, ...]
) -> tuple[str, ...]:
    """Say how much the prior on the spread matters."""
    notes, clusters = [], hits.size
    if size.max() <= 1.0:
        notes.append(f"one trial a cluster says nothing of the {spread}: what is told is of priors")
    elif clusters == 1:
        notes.append(f"one cluster: what is said of the {spread} and the Bayes factor is of priors")
    elif hits.sum() in {0.0, size.sum()}:
        notes.append(
            f"all trials {'succeed' if hits.sum() else 'fail'}: what is said of the {spread} and "
            "the Bayes factor is of priors, since clusters of all or nothing suit such data too"
        )
    if clusters < _FEW:
        notes.append(f"few clusters ({clusters}): the prior on the {spread} matters")
    notes += [
        f"under {other.prior} instead: rate {other.rate_mean:.4f}, "
        f"{rate.level:.0%} {other.rate_low:.4f} to {other.rate_high:.4f}; "
        f"{spread} {other.spread_mean:.4f}"
        for other in others
        if clusters < _FEW or not math.isclose(other.rate_high, rate.high, rel_tol=0.02)
    ]
    return tuple(notes)


def differing_clusters(
    log_evidence: float, hits: Floats, size: Floats, location: tuple[float, float], words: str
) -> BayesFactor:
    """How much do the data speak for clusters that differ, against one rate for all?"""
    a, b = location
    s, f = float(hits.sum()), float((size - hits).sum())
    alike = log_beta(a + s, b + f) - log_beta(a, b)
    null = f"all clusters alike, rate Beta({a:g}, {b:g})"
    return BayesFactor(log_evidence - alike, null, words, computation="quadrature")
