"""Exact laws of a relapse agent: shares of a cell, counts of a task, contrasts, depths."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.categories import look_up
from simtrack.agents.relapse.laws import SLICES, EpisodeLaws, cell_weights, propensities, turn_of
from simtrack.errors import InputError
from simtrack.validate import integer

__all__ = [
    "cell_shares",
    "contrast_moments",
    "joint_relapse",
    "pair_law",
]

Floats = NDArray[np.float64]
Cell = Mapping[str, str]
_STEP, _REACH = 1 / 16, 8.0


def cell_shares(agent: EpisodeLaws, cell: Cell) -> Floats:
    """How do episodes of a cell end? Shares of `OUTCOMES`, exactly.

    Depth does not enter: the chain over turns is stationary.
    """
    unparseable, relapse, miss = _endings(agent, cell)
    empty = look_up("empty", agent.empty, cell)
    parsed = (1.0 - empty) * (1.0 - unparseable)
    clear = parsed * (1.0 - relapse)
    kept = clear * (1.0 - miss)
    parts = [
        np.full(SLICES, empty),
        (1.0 - empty) * unparseable,
        parsed * relapse,
        clear * miss,
        *(kept * share for share in agent.classes),
        kept * (1.0 - sum(agent.classes)),
    ]
    return np.array([float(part.mean()) for part in parts])


def pair_law(agent: EpisodeLaws, first: Cell, second: Cell, repetitions: int) -> Floats:
    """How many relapses does a task have in each of two cells? P(i, j), shape (n + 1, n + 1).

    Cells of one slice share its kind; cells of two slices share what their task adds.
    """
    n = integer("repetitions", repetitions, 1)
    _require_independent(agent, (first, second))
    laws = [_binomial(n, _relapsed(agent, cell)) for cell in (first, second)]
    if len(_by_slice(agent, (first, second))) == 1:
        return np.asarray(np.einsum("ki,kj->ij", *laws) / SLICES)
    deviates, weights = _tasks(agent)
    kinds = cell_weights(deviates, agent.task_share)
    given = [np.einsum("tk,kn->tn", kinds, law) for law in laws]
    return np.asarray(np.einsum("t,ti,tj->ij", weights, *given))


def joint_relapse(agent: EpisodeLaws, first: Cell, second: Cell) -> Floats:
    """How often does one episode relapse in two arms? [[neither, second], [first, both]].

    Among episodes that parse in both arms, given equal other labels; the shares sum to 1.
    """
    endings = [_endings(agent, cell) for cell in (first, second)]
    p, q = endings[0][1], endings[1][1]
    defined = (1.0 - endings[0][0]) * (1.0 - endings[1][0])
    both = agent.common * np.minimum(p, q) + (1.0 - agent.common) * p * q
    cells = np.array([[1.0 - p - q + both, q - both], [p - both, both]])
    return np.asarray(np.einsum("abk,k->ab", cells, defined) / float(defined.sum()))


def contrast_moments(
    agent: EpisodeLaws, terms: Sequence[tuple[float, Cell]], repetitions: int
) -> tuple[float, float]:
    """What are mean and variance, over tasks, of Σ weight · share relapsed in a cell?

    The share is over all repetitions of a task in the cell; weights of +1/s and −1/s over the s
    slices of a task make an arm contrast. Arms of one slice covary through the slice's kind and,
    with common numbers, through their episodes.
    """
    n = integer("repetitions", repetitions, 1)
    deviates, weights = _tasks(agent)
    kinds = cell_weights(deviates, agent.task_share)
    mean, within = np.zeros(deviates.size), np.zeros(deviates.size)
    for group in _by_slice(agent, [cell for _, cell in terms]):
        mine = [(w, c, _relapsed(agent, c)) for w, c in terms if any(c is g for g in group)]
        level = sum((w * p for w, _, p in mine), np.zeros(SLICES))
        noise = np.zeros(SLICES)
        for w, a, p in mine:
            for v, b, q in mine:
                noise += w * v * _covariance(agent, a, b, p, q) / n
        expected = np.einsum("tk,k->t", kinds, level)
        mean += expected
        within += np.einsum("tk,k->t", kinds, level * level + noise) - expected * expected
    centre = float(np.einsum("t,t->", weights, mean))
    between = float(np.einsum("t,t->", weights, (mean - centre) ** 2))
    return centre, between + float(np.einsum("t,t->", weights, within))


def _endings(agent: EpisodeLaws, cell: Cell) -> tuple[Floats, Floats, Floats]:
    return agent.ending(cell, propensities(look_up("rate", agent.rate, cell), agent.icc))


def _relapsed(agent: EpisodeLaws, cell: Cell) -> Floats:
    """P(parseable and relapsed) by kind of slice."""
    unparseable, relapse, _ = _endings(agent, cell)
    empty = look_up("empty", agent.empty, cell)
    return (1.0 - empty) * (1.0 - unparseable) * relapse


def _covariance(agent: EpisodeLaws, a: Cell, b: Cell, p: Floats, q: Floats) -> Floats:
    """Covariance of one episode's two outcomes, given the kind of slice."""
    if a is b or dict(a) == dict(b):
        return p * (1.0 - p)
    if _apart(a, b) == {"arm"}:
        # outcomes that parse: the format of two arms is drawn apart
        parsed = [1.0 - _endings(agent, c)[0] for c in (a, b)]
        s, t = (x / np.maximum(f, 1e-300) for x, f in zip((p, q), parsed, strict=True))
        return agent.common * parsed[0] * parsed[1] * (np.minimum(s, t) - s * t)
    return np.zeros(SLICES)


def _require_independent(agent: EpisodeLaws, cells: Sequence[Cell]) -> None:
    if len({turn_of(cell) for cell in cells}) > 1 and agent.persistence > 0.0:
        raise InputError("cells", "of one depth, since status persists over turns")
    together = [_apart(a, b) == {"arm"} for k, a in enumerate(cells) for b in cells[:k]]
    if agent.common > 0.0 and any(together):
        raise InputError("cells", "of one arm, since arms have common random numbers")


def _apart(a: Cell, b: Cell) -> set[str]:
    return {name for name in (*a, *b) if a.get(name) != b.get(name)}


def _by_slice(agent: EpisodeLaws, cells: Sequence[Cell]) -> list[list[Cell]]:
    groups: dict[tuple[str | None, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(tuple(cell.get(name) for name in agent.slices), []).append(cell)
    return list(groups.values())


def _tasks(agent: EpisodeLaws) -> tuple[Floats, Floats]:
    """Deviates of tasks and their weights; one is enough where tasks share nothing."""
    if agent.task_share == 0.0:
        return np.zeros(1), np.ones(1)
    if agent.task_share == 1.0:  # a task is a kind of slice
        from scipy.special import ndtri

        return ndtri((np.arange(SLICES) + 0.5) / SLICES), np.full(SLICES, 1.0 / SLICES)
    count = round(_REACH / _STEP)
    z = np.arange(-count, count + 1, dtype=np.float64) * _STEP
    weight = np.exp(-0.5 * z * z)
    return z, np.asarray(weight / weight.sum(), dtype=np.float64)


def _binomial(n: int, p: Floats) -> Floats:
    """P(K = k | kind), shape (kinds, n + 1)."""
    k = np.arange(n + 1)
    ways = np.array([math.comb(n, int(j)) for j in k], dtype=np.float64)
    return ways * p[:, None] ** k * (1.0 - p[:, None]) ** (n - k)


def _convolved(a: Floats, b: Floats) -> Floats:
    """Convolve row by row."""
    out = np.zeros((a.shape[0], a.shape[1] + b.shape[1] - 1))
    for k in range(b.shape[1]):
        out[:, k : k + a.shape[1]] += a * b[:, k, None]
    return out
