"""The exact law of one cluster's counts: every table it can have, with its probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions, expected_value, planned_trials, shuffled_records
from simtrack.agents.heterogeneity import beta_parameters, logit_normal_parameters
from simtrack.counts import CountsBatch, Totals
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.options import choice
from simtrack.plain import Document
from simtrack.records import Records
from simtrack.rng import Stream
from simtrack.rng.thresholds import beta_binomial_thresholds
from simtrack.taxonomy import PLAIN
from simtrack.validate import integer, open_unit, real

__all__ = [
    "ClusterLaw",
    "ClusteredAgent",
    "beta_moments",
    "binomial_coefficients",
    "binomial_products",
    "cluster_tables",
    "logit_normal_products",
    "plane_nodes",
]


Floats = NDArray[np.float64]
#: More tables of one cluster than this are not listed.
_MOST_TABLES: Final = 20_000
#: Trapezium rule on normal deviates: exact to 1e-13 for SDs up to 4 with the first step (the
#: integrand is analytic in a strip of half-width π / SD), beyond that with the second.
_STEPS: Final = (1 / 8, 1 / 32)
_REACH: Final = 8.5
_WIDE: Final = 4.0


def cluster_tables(design: Design, outcomes: Sequence[str]) -> CountsBatch | None:
    """List every table of failures and passes that one cluster of a design can have.

    None where factors vary between clusters, so that clusters have different laws, or where there
    are more than 20,000 tables.

    Examples
    --------
    >>> cluster_tables(Design(5, 2), ("FAIL", "PASS")).cells[:, 0, 0].tolist()
    [[2, 0], [1, 1], [0, 2]]
    """
    count, n = len(design.cells), design.repetitions
    if design.between or count * math.log(n + 1) > math.log(_MOST_TABLES):
        return None
    passes = np.array(list(product(range(n + 1), repeat=count)), dtype=np.int64)
    cells = np.stack([n - passes, passes], axis=2)[:, None]
    return CountsBatch(cells, tuple(outcomes), design.cells, design.cluster_name)


def binomial_coefficients(n: int) -> Floats:
    """Give C(n, k) for k = 0 .. n."""
    return np.array([float(math.comb(n, k)) for k in range(n + 1)])


def beta_moments(a: float, b: float, n: int) -> Floats:
    """Give E[p^k (1-p)^(n-k)] for k = 0 .. n, where p is Beta(a, b)."""

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return np.array([math.exp(log_beta(a + k, b + n - k) - log_beta(a, b)) for k in range(n + 1)])


def logit_normal_products(mean: float, sd: float, n: int) -> Floats:
    """Give E[p^k (1-p)^(n-k)] for k = 0 .. n, where the logit of p is Normal(mean, sd²)."""
    z, weight = _nodes(sd)
    products = binomial_products(mean + sd * z, n)
    return np.asarray(np.einsum("z,zk->k", weight, products))


def binomial_products(logit: Floats, n: int) -> Floats:
    """Give p^k (1-p)^(n-k), shape (nodes, n + 1), for the logits of p."""
    k = np.arange(n + 1, dtype=np.float64)
    log_p, log_q = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
    return np.asarray(np.exp(log_p[:, None] * k + log_q[:, None] * (n - k)))


def plane_nodes(first_sd: float, second_sd: float) -> tuple[Floats, Floats, Floats]:
    """Give two independent normal deviates on a grid, and the weight of each point."""
    u, a = _nodes(first_sd)
    v, b = _nodes(second_sd)
    return np.repeat(u, v.size), np.tile(v, u.size), (a[:, None] * b[None, :]).ravel()


def _nodes(sd: float) -> tuple[Floats, Floats]:
    if sd == 0.0:
        return np.zeros(1), np.ones(1)
    step = _STEPS[int(sd > _WIDE)]
    count = round(_REACH / step)
    z = np.arange(-count, count + 1, dtype=np.float64) * step
    weight = np.exp(-0.5 * z * z)
    return z, weight / weight.sum()


# An agent of one rate that varies from cluster to cluster.
ClusterLaw = Literal["beta", "logit-normal"]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ClusteredAgent(Document, schema="simtrack.agent/1", kind="clustered"):
    """An agent that passes with one rate, which varies from cluster to cluster.

    Whatever the design's conditions are, they make no difference: a null agent for any contrast.
    A cluster's probability is the same in all of its cells.

    Parameters
    ----------
    rate : float
        Mean success probability, in (0, 1).
    icc : float
        Var(p) / (rate (1 - rate)) over clusters, from 0.
    law : "beta" or "logit-normal"
        The law of a cluster's probability.

    Examples
    --------
    >>> agent = ClusteredAgent(0.9, icc=0.1)
    >>> agent.counts(Design(12, 20), draws=3, seed=7).cells.shape
    (3, 12, 1, 2)
    >>> agent.totals([20] * 12, replicates=3, seed=7).shape
    (12, 3)
    """

    rate: float
    icc: float = 0.0
    law: ClusterLaw = "beta"

    def __post_init__(self) -> None:
        open_unit("rate", self.rate)
        real("icc", self.icc, 0.0, 1.0)
        choice("law", self.law, ClusterLaw)

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw failures and passes by cluster and cell; see `Agent.counts`.

        Counts come by inversion, so other repetitions give other draws; with law "logit-normal"
        more repetitions keep the old trials. With law "beta" a cell is drawn given those before
        it: new cells leave old draws as they were where they come last.
        """
        trials = planned_trials(design)
        how: DrawOptions = {
            "replicates": draws,
            "clusters": design.clusters,
            "threads": threads,
            "chunk": chunk,
        }
        stream = Stream(seed, "clustered-agent-counts", law=self.law)
        streams = [stream.labelled(cell=tuple(cell.items())) for cell in design.cells]
        columns = list(zip(streams, trials.T, strict=True))
        if self.icc == 0.0:
            passes = [s.binomial(n, self.rate, **how) for s, n in columns]
        elif self.law == "beta":
            passes = _polya(columns, *beta_parameters(self.rate, self.icc), how)
        else:
            mean, sd = logit_normal_parameters(self.rate, self.icc)
            share = stream.labelled(part="cluster").logit_normal(mean, sd, **how)
            passes = [s.trial_counts(n, share, **how) for s, n in columns]
        found = np.stack(passes, axis=2)
        cells = np.stack([trials - found, found], axis=3)
        return CountsBatch(cells, PLAIN.codes, design.cells, design.cluster_name)

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study trial by trial: its counts are those of draw 0 of `counts`."""
        return shuffled_records(self.counts(design, 1, seed), Stream(seed, "clustered-agent-order"))

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value of an estimand: the rate, wherever it is looked at."""
        trials = planned_trials(design)[..., None]
        shares = np.array([1.0 - self.rate, self.rate])
        return expected_value(what, design, PLAIN.codes, trials * shares)

    def cluster_law(self, design: Design) -> tuple[CountsBatch, Floats] | None:
        """Give every table that one cluster can have, and its probability: exact.

        Returns
        -------
        tables, probabilities : CountsBatch of single clusters, float64 array of shape (tables,)
            None where factors vary between clusters, or where there are too many tables.
        """
        tables = cluster_tables(design, PLAIN.codes)
        if tables is None:
            return None
        passes = tables.cells[:, 0, :, 1]
        trials = design.repetitions * len(design.cells)
        if self.icc > 0.0 and self.law == "beta":
            found = beta_moments(*beta_parameters(self.rate, self.icc), trials)
        else:
            found = logit_normal_products(*logit_normal_parameters(self.rate, self.icc), trials)
        ways = binomial_coefficients(design.repetitions)[passes].prod(axis=1)
        return tables, ways * found[passes.sum(axis=1)]

    def successes(self, sizes: Sequence[int], replicates: int, seed: int) -> Integers:
        """Draw successes of clusters of these sizes: int64, shape (replicates, clusters)."""
        n = _sizes(sizes)
        stream = Stream(seed, "clustered-agent", law=self.law)
        reps = integer("replicates", replicates, 1)
        if self.icc == 0.0:
            return stream.binomial(n, self.rate, replicates=reps, clusters=n.size)
        if self.law == "beta":
            a, b = beta_parameters(self.rate, self.icc)
            return stream.beta_binomial(n, a, b, replicates=reps, clusters=n.size)
        mean, sd = logit_normal_parameters(self.rate, self.icc)
        return stream.logit_normal_binomial(n, mean, sd, replicates=reps, clusters=n.size)

    def totals(self, sizes: Sequence[int], replicates: int, seed: int) -> Totals:
        """Draw totals whose columns are replicates, as every method for one rate takes them."""
        found = self.successes(sizes, replicates, seed).T
        trials = np.broadcast_to(_sizes(sizes)[:, None], found.shape)
        columns = [(str(r),) for r in range(found.shape[1])]
        return Totals.from_arrays(found, trials, conditions=columns, by=("replicate",))


def _polya(
    columns: Sequence[tuple[Stream, Integers]], a: float, b: float, how: DrawOptions
) -> list[Integers]:
    """Draw cell after cell given the cluster's passes so far: one Beta share for all of them."""
    passes: list[Integers] = []
    for stream, n in columns:
        uniform = stream.uniform(**how)[:, :, 0]
        word = np.ldexp(uniform, 64).astype(np.uint64)
        before = sum(passes, np.zeros(word.shape, dtype=np.int64))
        tried = sum((m for _, m in columns[: len(passes)]), np.zeros_like(n))
        found = np.empty(word.shape, dtype=np.int64)
        for trials, m in {*zip(n.ravel().tolist(), tried.ravel().tolist(), strict=True)}:
            columns_alike = np.flatnonzero((n.ravel() == trials) & (tried.ravel() == m))
            words, seen = word[:, columns_alike], before[:, columns_alike]
            drawn = np.empty(words.shape, dtype=np.int64)
            for s in np.flatnonzero(np.bincount(seen.ravel())).tolist():
                law = beta_binomial_thresholds(trials, a + s, b + m - s)
                here = seen == s
                drawn[here] = law.lowest + np.searchsorted(law.values, words[here], side="right")
            found[:, columns_alike] = drawn
        passes.append(found)
    return passes


def _sizes(sizes: Sequence[int]) -> Integers:
    found = np.array([integer("size", size, 1) for size in sizes], dtype=np.int64)
    if found.size == 0:
        raise InputError("sizes", "one number of trials for each cluster", "none")
    return found
