"""Simulated probes: the same decision table, walked by random draws, to check the exact answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.kernels.probe import run_probes
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.probe.parameters import Rule
from simtrack.probe.paths import StoppingStates, stopping_states
from simtrack.probe.states import STATES, State
from simtrack.probe.truth import rates
from simtrack.rng import Stream
from simtrack.validate import integer

__all__ = ["SimulatedProbes", "simulate", "truth_streams"]

CHUNK: Final = 20_000
_WRITTEN: Final = (
    "rule full ablated n=n_probes seed states computation guarantee counts probability "
    "probability_mcse probability_low probability_high expected_rounds expected_rounds_mcse "
    "bias_effect bias_effect_mcse"
)
#: The standard normal deviate that leaves 2.5 % above it.
Z_95: Final = 1.959963984540054


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SimulatedProbes(Plain, schema="simtrack.simulated-probes/1", names=_WRITTEN):
    """Where did simulated probes end, and what does that say of the rule?

    Attributes
    ----------
    rule : Rule
    full, ablated : tuple of Fraction
        True pass rates of each point.
    n_probes : int
        Simulated probes at each point.
    seed : int
    counts : int64 array, shape (points, 6, k_max + 1)
        Probes by state and number of rounds.
    probability, probability_mcse : arrays, shape (points, 6)
        Shares of each state and their Monte Carlo standard errors, sqrt(s (1 - s) / n). Of a state
        never or always seen that would be 0; it is then half the width of the Wilson interval
        over 1.96, about 0.98 / n.
    probability_low, probability_high : arrays, shape (points, 6)
        Wilson score interval of each probability given the simulation, at 95 %: after n probes a
        state never seen may have a probability of up to 3.84 / (n + 3.84), which is a little
        wider than the 3 / n of the one-sided rule of three.
    expected_rounds, expected_rounds_mcse : arrays, shape (points,)
    bias_effect, bias_effect_mcse : arrays, shape (points,)
        Mean of (i - j)/k less the true effect. These standard errors are 0 if all probes ended
        alike, which bounds nothing: see the intervals of the states.

    References
    ----------
    Wilson (1927), J. American Statistical Association 22, 209-212 (score interval of a share).
    """

    rule: Rule
    full: tuple[Fraction, ...]
    ablated: tuple[Fraction, ...]
    n_probes: int
    seed: int
    counts: NDArray[np.int64]
    probability: NDArray[np.float64]
    probability_mcse: NDArray[np.float64]
    probability_low: NDArray[np.float64]
    probability_high: NDArray[np.float64]
    expected_rounds: NDArray[np.float64]
    expected_rounds_mcse: NDArray[np.float64]
    bias_effect: NDArray[np.float64]
    bias_effect_mcse: NDArray[np.float64]
    computation: Computation = "monte-carlo"
    guarantee: Guarantee = "asymptotic"

    @property
    def states(self) -> tuple[State, ...]:
        """What the second axis of `counts` stands for."""
        return STATES

    def __repr__(self) -> str:
        points = f"{len(self.full)} truths x {self.n_probes} probes"
        return f"SimulatedProbes({self.rule!r}, {points}, seed={self.seed})"


def simulate(
    rule: Rule,
    full: object,
    ablated: object,
    *,
    n_probes: int,
    seed: int,
    threads: int = 1,
    chunk: int = CHUNK,
) -> SimulatedProbes:
    """What do simulated probes do at these points, as a check on the exact characteristics?

    Each probe is a replicate of two streams (`truth_streams`), so its draws do not depend on the
    rule, on the other points, nor on threads or chunks.

    Parameters
    ----------
    rule : Rule
    full, ablated : decimal or sequence of decimals
        True pass rates of the points, of one length, each in [0, 1].
    n_probes : int
        Probes at each point, at least 2: one alone has no standard error.
    seed : int
        0 to 2^63 - 1.
    threads, chunk : int
        Threads, and probes in one task: for speed alone, no number changes.

    Returns
    -------
    SimulatedProbes

    Examples
    --------
    >>> found = simulate(Rule(), "0.9", "0.1", n_probes=200, seed=1)
    >>> int(found.counts.sum())
    200
    """
    p, q = rates("full", full), rates("ablated", ablated)
    if len(p) != len(q):
        raise InputError("ablated", f"as many rates as full ({len(p)})", len(q))
    n_probes = integer("n_probes", n_probes, 2)
    threads, chunk = integer("threads", threads, 1), integer("chunk", chunk, 1)
    states = stopping_states(rule)
    stop_at = _stop_cube(rule, states)
    ends = [
        _run_point(rule, stop_at, states.k.size, one, other, seed, n_probes, threads, chunk)
        for one, other in zip(p, q, strict=True)
    ]
    return _summary(rule, states, p, q, n_probes, seed, np.array(ends))


def truth_streams(seed: int, full: Fraction, ablated: Fraction) -> tuple[Stream, Stream]:
    """Which streams give the full and the ablated draws at this truth?

    Round t of probe r is trial t of replicate r: `stream.bernoulli(p, k_max, replicates=...,
    clusters=1)` lists the same draws.

    Examples
    --------
    >>> first, second = truth_streams(1, Fraction("0.9"), Fraction("0.1"))
    >>> first.bernoulli(0.9, 5, replicates=1, clusters=1).shape
    (1, 1, 5)
    """
    labels = {"full": full, "ablated": ablated}
    first = Stream(seed, "probe draw", form="full", **labels)
    return first, Stream(seed, "probe draw", form="ablated", **labels)


def _stop_cube(rule: Rule, states: StoppingStates) -> NDArray[np.int32]:
    """Which stopping state each record (k, i, j) is, flat with j fastest; -1 if none."""
    size = rule.k_max + 1
    stop_at = np.full(size**3, -1, np.int32)
    cell = (states.k * size + states.i) * size + states.j
    stop_at[cell] = np.arange(states.k.size, dtype=np.int32)
    return stop_at


def _run_point(
    rule: Rule,
    stop_at: NDArray[np.int32],
    n_states: int,
    full: Fraction,
    ablated: Fraction,
    seed: int,
    n_probes: int,
    threads: int,
    chunk: int,
) -> NDArray[np.int64]:
    """Probes that end at each stopping state; integer sums, so no order can show."""
    first, second = truth_streams(seed, full, ablated)

    def task(start: int) -> NDArray[np.int64]:
        counts = np.zeros(n_states, np.int64)
        size = min(chunk, n_probes - start)
        run_probes(
            first.words,
            second.words,
            np.uint64(start),
            size,
            float(full),
            float(ablated),
            rule.k_max + 1,
            stop_at,
            counts,
        )
        return counts

    starts = range(0, n_probes, chunk)
    total = np.zeros(n_states, np.int64)
    if threads == 1:
        for start in starts:
            total += task(start)
        return total
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for counts in pool.map(task, starts):
            total += counts
    return total


def _summary(
    rule: Rule,
    states: StoppingStates,
    p: tuple[Fraction, ...],
    q: tuple[Fraction, ...],
    n_probes: int,
    seed: int,
    ends: NDArray[np.int64],
) -> SimulatedProbes:
    counts = np.zeros((len(p), len(STATES), rule.k_max + 1), np.int64)
    for point, row in enumerate(ends):
        np.add.at(counts[point], (states.state, states.k), row)
    share = counts.sum(axis=2) / n_probes
    rounds, rounds_se = _mean(ends, states.k.astype(np.float64), n_probes)
    effect, effect_se = _mean(ends, (states.i - states.j) / states.k, n_probes)
    truth = np.array([float(a - b) for a, b in zip(p, q, strict=True)])
    low, high = _wilson(share, n_probes)
    plain = np.sqrt(share * (1.0 - share) / n_probes)
    return SimulatedProbes(
        rule=rule,
        full=p,
        ablated=q,
        n_probes=n_probes,
        seed=seed,
        counts=counts,
        probability=share,
        probability_mcse=np.where(plain > 0.0, plain, (high - low) / (2.0 * Z_95)),
        probability_low=low,
        probability_high=high,
        expected_rounds=rounds,
        expected_rounds_mcse=rounds_se,
        bias_effect=effect - truth,
        bias_effect_mcse=effect_se,
    )


def _wilson(share: NDArray[np.float64], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the 95 % score interval of each share of n; 0 and 1 exactly where none or all are."""
    square = Z_95**2
    centre = (share + square / (2 * n)) / (1.0 + square / n)
    spread = np.sqrt(share * (1.0 - share) / n + square / (4.0 * n * n))
    half = Z_95 * spread / (1.0 + square / n)
    low = np.where(share == 0.0, 0.0, centre - half)
    return low, np.where(share == 1.0, 1.0, centre + half)


def _mean(
    ends: NDArray[np.int64], value: NDArray[np.float64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and its Monte Carlo standard error of a value of the stopping state, for each point."""
    mean = np.einsum("ps,s->p", ends.astype(np.float64), value) / n
    spread = (value[None, :] - mean[:, None]) ** 2
    variance = np.einsum("ps,ps->p", ends.astype(np.float64), spread) / (n - 1)
    return mean, np.sqrt(variance / n)
