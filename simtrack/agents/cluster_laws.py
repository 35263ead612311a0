"""The exact law of one cluster's counts: every table it can have, with its probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import CountsBatch
from simtrack.design import Design

__all__ = [
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
