"""Claim: stage and paired agents decide every trial faster than NumPy draws their counts.

Clustered agents are faster too (those alike by inversion, a count at once), but slower with the
Beta law; gate agents are as fast, relapse and recall agents slower. A trial takes its own word of a
counter-based stream, so that more trials or conditions keep the old ones. The peer is the best
NumPy form that one would write (PCG64): cluster effects by `normal` and expit or by `beta`, then
`binomial` or `multinomial` over cells, a count at once. "Equal answers" means the same law: before
anything is timed, means, variances and covariances of all counts of a cluster are held, on both
sides, within 5 standard errors of the exact ones; the exact means are those of `agent.expectation`,
the rest is quadrature. Beside them: the bare generators, and two threads, of the same bytes.
"""

from __future__ import annotations

import functools
import timeit
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import compare, heading
from scipy import special

from simtrack import agents
from simtrack._jit import kernel
from simtrack.agents.gate.chain import absorption, events
from simtrack.agents.heterogeneity import logit_mean
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.estimands import Estimand, where
from simtrack.kernels.philox import philox4x32
from simtrack.taxonomy import GATE, PLAIN, RECALL, RELAPSE, STAGEIF, STAGES, Taxonomy

Array = np.ndarray
SEED, Z_HIGHEST, PAIRS = 7, 5.0, 3
#: Two quadratures of one mean; a count of trials times a rate.
CLOSE = 1e-8
BLOCKS = 40_000
ENCODINGS = ("marker", "tool")
CHECKPOINTS = (*STAGES, "mid_chain")
#: transport, speaks, emits by encoding, well formed, right, false alarm.
CHAIN = (0.02, 0.9, (0.7, 0.85), 0.95, 0.9, 0.15)
SD, SLOPE_SD = 0.8, 0.5
#: So few turns that every end of a rollout is common enough to be checked.
CAP = 6


@dataclass(frozen=True)
class Case:
    """One agent, and its law written a second time.

    `shares` gives P(slot) in every cell, (..., cells, slots), for effects (..., d), or P(pass),
    (..., cells), where outcomes are FAIL and PASS; `effects` draws those of clusters of this shape,
    and `nodes` are points and weights that integrate over them.
    """

    title: str
    agent: Any
    design: Design
    draws: int
    taxonomy: Taxonomy
    shares: Callable[[Array], Array]
    effects: Callable[[np.random.Generator, tuple[int, int]], Array] | None = None
    nodes: tuple[Array, Array] = (np.zeros((1, 1)), np.ones(1))
    split: tuple[str, ...] | None = None

    @functools.cached_property
    def one(self) -> CountsBatch:
        """One study: the labels and outcomes of every study."""
        return self.counts(1)

    def counts(self, draws: int, threads: int = 1) -> CountsBatch:
        """Ours."""
        how = {} if self.split is None else {"split": self.split}
        return self.agent.counts(self.design, draws, SEED, threads=threads, **how)


def main() -> None:
    """Measure the bare generators, then agent by agent."""
    heading("outcomes of agents, per second and core")
    generators()
    for case in (*stage_cases(), *binary_cases(), *gate_cases(), *other_cases()):
        measure(case)


def measure(case: Case) -> None:
    """Hold both sides to the exact law, then time them; then two threads."""

    def ours(threads: int = 1) -> Array:
        return case.counts(case.draws, threads).cells

    rng = np.random.default_rng(SEED)
    mean, covariance = moments(case)
    equal = functools.partial(same_law, mean=mean, covariance=covariance)
    outcomes = case.draws * case.design.trials
    timing = compare(
        f"{case.title}, {case.draws:,} studies, {outcomes / 1e6:.3g} million outcomes",
        ours, lambda: peer_counts(case, rng), equal=equal, pairs=PAIRS,
    )  # fmt: skip
    two = compare(
        "  the same with two threads, the same bytes (peer: ours with one)",
        lambda: ours(2), ours, equal=same_bytes, pairs=PAIRS,
    )  # fmt: skip
    rates = [outcomes / s / 1e6 for s in (timing.ours_s, timing.peer_s, two.ours_s)]
    print(
        f"  million outcomes/s: ours {rates[0]:,.3g}, NumPy {rates[1]:,.3g}, ours with two threads "
        f"{rates[2]:,.3g}; NumPy / ours {timing.ratio:.2f}, one / two threads {two.ratio:.2f}\n"
        f"  an outcome takes as long as {timing.ours_s / outcomes / word_s():.3g} bare words\n"
    )


def peer_counts(case: Case, rng: np.random.Generator) -> Array:
    """NumPy's draws: (draws, clusters, cells, outcomes)."""
    shape, n = (case.draws, case.design.clusters), case.design.repetitions
    if case.effects is None:
        shares = case.shares(np.zeros(1))
        size: Any = (*shape, len(shares))
    else:
        shares, size = case.shares(case.effects(rng, shape)), None
    if case.taxonomy is PLAIN:
        passes = rng.binomial(n, shares, size=size)
        return np.stack([n - passes, passes], axis=-1)
    return rng.multinomial(n, shares, size=size).reshape(*shape, -1, len(case.one.outcomes))


def moments(case: Case) -> tuple[Array, Array]:
    """Exact mean (slots,) and covariance (slots, slots) of the counts of a cluster."""
    points, weight = case.nodes
    n, shares = case.design.repetitions, case.shares(points)
    if case.taxonomy is PLAIN:
        shares = np.stack([1 - shares, shares], axis=-1)
    cells, slots = shares.shape[-2:]
    flat = shares.reshape(len(weight), -1)
    mean = np.einsum("k,ki->i", weight, flat)
    product = np.einsum("k,ki,kj->ij", weight, flat, flat)
    same_cell = np.kron(np.eye(cells), np.ones((slots, slots)))
    within = np.diag(mean) - same_cell * product
    covariance = n * within + n * n * (product - np.outer(mean, mean))
    assert np.abs(n * mean - expected(case)).max() < CLOSE
    return n * mean, covariance


def expected(case: Case) -> Array:
    """The agent's own expectation of every count: (slots,)."""
    own = [name for name, _ in case.design.conditions]
    found = []
    for label in case.one.labels:
        here = where(**{k: v for k, v in label.items() if k in own})
        among = where(**{k: v for k, v in label.items() if k not in own})
        for code in case.one.outcomes:
            what = Estimand(code, frozenset({code}), frozenset(), here, among,
                            taxonomy=case.taxonomy)  # fmt: skip
            found.append(case.design.repetitions * case.agent.expectation(what, case.design))
    return np.array(found)


def same_law(ours: object, peer: object, *, mean: Array, covariance: Array) -> None:
    """Hold both sides to the exact means, variances and covariances."""
    for counts in (np.asarray(ours), np.asarray(peer)):
        off = counts.reshape(-1, len(mean)) - mean
        count, square = len(off), off * off
        spread = covariance.diagonal().clip(0.0)
        assert (np.abs(off.mean(axis=0)) <= Z_HIGHEST * np.sqrt(spread / count) + CLOSE).all()
        found = off.T @ off / count
        normal = np.outer(spread, spread) + covariance**2  # counts too rare to show their own
        errors = np.sqrt(np.maximum(square.T @ square / count - found**2, normal) / count)
        assert (np.abs(found - covariance) <= Z_HIGHEST * errors + CLOSE).all()
    assert np.shape(ours) == np.shape(peer)


def same_bytes(ours: object, peer: object) -> None:
    """Threads do not show."""
    assert np.array_equal(np.asarray(ours), np.asarray(peer))


def generators() -> None:
    """Time words that nobody keeps, in one thread and in two."""
    size = 64 * BLOCKS
    for name, bits in (("Philox", np.random.Philox(SEED)), ("PCG64", np.random.PCG64(SEED))):
        timing = compare(
            f"{4 * size / 1e6:.3g} million 32-bit words (peer: NumPy's {name}, random_raw)",
            lambda: folded(np.uint64(1), np.uint64(2), BLOCKS),
            lambda bits=bits: bits.random_raw(2 * size, output=False), equal=same_words,
            pairs=PAIRS,
        )  # fmt: skip
        rates = [4 * size / s / 1e6 for s in (timing.ours_s, timing.peer_s)]
        print(f"  ours {rates[0]:,.0f} million words/s, peer {rates[1]:,.0f}\n")
    run = functools.partial(folded, k1=np.uint64(2), blocks=10 * BLOCKS)
    both = [np.uint64(1), np.uint64(3)]

    def two() -> object:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(run, both))

    found = compare(
        "two threads of bare words: what this machine has of its second core now (peer: in turn)",
        two, lambda: [run(key) for key in both], equal=same_bytes, pairs=PAIRS,
    )  # fmt: skip
    print(f"  one / two threads {found.ratio:.2f}\n")


def word_s() -> float:
    """Seconds a 32-bit word of ours, now: the median of a few."""
    call = functools.partial(folded, np.uint64(1), np.uint64(2), BLOCKS)
    return float(np.median(timeit.repeat(call, number=1, repeat=7))) / (4 * 64 * BLOCKS)


def same_words(ours: object, _: object) -> None:
    """The words are those of the NumPy form of Philox4x32-10, all of them xored."""
    replicate, zero = np.arange(64 * BLOCKS, dtype=np.uint64), np.uint64(0)
    words = philox4x32.py_func(zero, zero, replicate, zero, np.uint64(1), np.uint64(2))
    assert ours == np.bitwise_xor.reduce(np.concatenate(words))


@kernel
def folded(k0: Any, k1: Any, blocks: Any) -> Any:
    """Xor the words of consecutive replicates, 64 at a time as agents' kernels take them."""
    total, zero = np.uint64(0), np.uint64(0)
    for b in range(blocks):
        for i in range(64):
            at = np.uint64(b) * np.uint64(64) + np.uint64(i)
            w0, w1, w2, w3 = philox4x32(zero, zero, at, zero, k0, k1)
            total ^= w0 ^ w1 ^ w2 ^ w3
    return total


def stage_cases() -> list[Case]:
    """12 scenarios x 5 checkpoints x 20 repetitions x 2 encodings."""
    design = Design(12, 20, {"checkpoint": CHECKPOINTS, "encoding": ENCODINGS})
    transport, speaks, emits, formed, right, alarm = CHAIN
    encoded = {f"encoding={e}": p for e, p in zip(ENCODINGS, emits, strict=True)}
    agent = agents.StageAgent(
        speaks=speaks, emits=encoded, well_formed=formed, right=right, false_alarm=alarm,
        transport=transport,
    )  # fmt: skip
    slope: Any = {"slope_sd": SLOPE_SD, "slope_on": ("encoding", "tool")}
    unlike = agent.with_(effects=(agents.ClusterEffect("adherence", sd=SD, **slope),))
    means = [
        logit_mean(speaks * e * formed * right, sd)
        for e, sd in zip(emits, (SD, np.hypot(SD, SLOPE_SD)), strict=True)
    ]
    spread = functools.partial(_stage_shares, spread=means)
    rest = design, 10_000, STAGEIF
    return [
        Case("StageAgent (multinomial)", agent, *rest,
             functools.partial(_stage_shares, spread=None), split=()),
        Case("StageAgent, clusters differ (normal, expit, multinomial)", unlike, *rest, spread,
             normals(2), plane(), ()),
    ]  # fmt: skip


def _stage_shares(effects: Array, spread: list[float] | None) -> Array:
    transport, speaks, emits, formed, right, alarm = CHAIN
    place = {code: k for k, code in enumerate(STAGEIF.codes)}
    out = np.zeros((*effects.shape[:-1], len(CHECKPOINTS), 2, len(place)))
    out[..., place["TRANSPORT"]] = transport
    out[..., -1, :, place["CLEAN"]] = (1 - transport) * (1 - alarm)
    out[..., -1, :, place["APP_FALSE_ALARM"]] = (1 - transport) * alarm
    for k, emit in enumerate(emits):
        ends = {"APP_DIVERGENCE": 1 - speaks, "APP_MISS": speaks * (1 - emit),
                "MALFORMED": speaks * emit * (1 - formed),
                "STATE_WRONG": speaks * emit * formed * (1 - right)}  # fmt: skip
        rate = speaks * emit * formed * right
        clean = np.full(effects.shape[:-1], rate)
        if spread is not None:
            moved = spread[k] + SD * effects[..., 0] + k * SLOPE_SD * effects[..., 1]
            clean = 1 / (1 + np.exp(-moved))
        due = out[..., :-1, k, :]
        due[..., place["CLEAN"]] = ((1 - transport) * clean)[..., None]
        for code, end in ends.items():
            due[..., place[code]] = ((1 - transport) * end / (1 - rate) * (1 - clean))[..., None]
    return out.reshape(*effects.shape[:-1], -1, len(place))


def binary_cases() -> list[Case]:
    """PairedAgent on 10 cells, ClusteredAgent on 2: passes by `binomial`."""
    paired = Design(12, 20, {"checkpoint": tuple("12345"), "arm": ("new", "old")})
    two = Design(12, 20, {"arm": ("new", "old")})
    mean, sd = agents.logit_normal_parameters(0.8, 0.1)
    a, b = 0.8 * 9, 0.2 * 9  # ICC = 1 / (a + b + 1)
    x, w = beta_nodes(a, b)

    def arms(effects: Array) -> Array:
        half = 0.5 * (0.4 + 0.5 * effects[..., 1])
        logits = [mean + sd * effects[..., 0] + sign * half for sign in (1, -1)]
        share = 1 / (1 + np.exp(-np.stack(logits, axis=-1)))
        return np.tile(share, 5)

    def same(effects: Array) -> Array:
        return np.repeat(1 / (1 + np.exp(-mean - sd * effects)), 2, axis=-1)

    return [
        Case("PairedAgent (normal, expit, binomial)",
             agents.PairedAgent(0.8, icc=0.1, effect=0.4, slope_sd=0.5), paired, 5_000, PLAIN, arms,
             normals(2), plane()),
        Case("ClusteredAgent, alike (binomial)", agents.ClusteredAgent(0.8), two, 20_000, PLAIN,
             lambda e: np.full((*e.shape[:-1], 2), 0.8)),
        Case("ClusteredAgent, Beta (beta, binomial)", agents.ClusteredAgent(0.8, icc=0.1), two,
             5_000, PLAIN, lambda e: np.repeat(e, 2, axis=-1),
             lambda rng, shape: rng.beta(a, b, (*shape, 1)), (x[:, None], w)),
        Case("ClusteredAgent, logit-normal (normal, expit, binomial)",
             agents.ClusteredAgent(0.8, icc=0.1, law="logit-normal"), two, 20_000, PLAIN, same,
             normals(1), line()),
    ]  # fmt: skip


def gate_cases() -> list[Case]:
    """GateAgent: the peer takes the chain's ends from the same algebra, and draws with NumPy."""
    speak, omit, early, valid, transport = np.array([0.9, 0.9, 0.3, 0.3, 0.3]), 0.1, 0.05, 0.9, 0.01
    gates = ("B1", "B2", "A", "A_matched")
    design = Design(12, 20, {"gate": gates})

    def ends(effects: Array, sd: float) -> Array:
        moved = np.broadcast_to(speak, (*effects.shape[:-1], 5)).copy()
        moved[..., 2:] = special.expit(special.logit(speak[2:]) + sd * effects)
        chances = events(moved, omit, early, valid, transport)
        return np.stack([absorption(chances, gate, 0.8, CAP) for gate in gates], axis=-2)

    return [
        Case(f"GateAgent{title}multinomial)",
             agents.GateAgent(tuple(speak), omit, early, valid, transport, 0.8, CAP, sd), design,
             draws, GATE, functools.partial(ends, sd=sd), draw, line())
        for title, sd, draws, draw in (
            (" (", 0.0, 5_000, None),
            (", scenarios differ (normal, chain, ", 0.5, 1_000, normals(1)),
        )
    ]  # fmt: skip


def other_cases() -> list[Case]:
    """RelapseAgent: a Beta propensity for each slice; RecallAgent: scenarios that differ or not."""
    loads = Design(67, 3, {"load": ("2", "8")}, cluster_name="task")
    laws = [(r * (1 / 0.3 - 1), (1 - r) * (1 / 0.3 - 1)) for r in (0.1, 0.4)]
    relapse = agents.RelapseAgent(
        [({"load": "2"}, 0.1), ({"load": "8"}, 0.4)], icc=0.3, unparseable=0.05, empty=0.05,
        miss=0.1, classes=(0.1, 0.1, 0.1),
    )  # fmt: skip
    (x, w), (y, v) = (beta_nodes(*law) for law in laws)
    grid = np.stack([g.ravel() for g in np.meshgrid(x, y)], axis=-1), np.outer(v, w).ravel()
    probes = Design(25, 5, {"depth": ("3", "12"), "arm": ("bare", "full")})
    return [
        Case("RelapseAgent (beta, multinomial)", relapse, loads, 2_000, RELAPSE, _relapse_shares,
             lambda rng, shape: rng.beta(*np.transpose(laws), (*shape, 2)), grid),
        *(Case(f"RecallAgent{title}multinomial)",
               agents.RecallAgent((0.6, 0.2, 0.1, 0.1), task=0.9, cluster_sd=sd), probes, draws,
               RECALL, functools.partial(_recall_shares, sd=sd,
                                         means=[logit_mean(r, sd) for r in (0.75, 0.5)]),
               draw, line())
          for title, sd, draws, draw in ((" (", 0.0, 5_000, None),
                                         (", scenarios differ (normal, expit, ", 0.8, 2_000,
                                          normals(1)))),
    ]  # fmt: skip


def _relapse_shares(p: Array) -> Array:
    parsed = 0.95 * 0.95
    rest = parsed * (1 - p)
    parts = [np.full_like(p, 0.05), np.full_like(p, 0.95 * 0.05), parsed * p, 0.1 * rest,
             *[0.09 * rest] * 3, 0.63 * rest]  # fmt: skip
    return np.stack(parts, axis=-1)


def _recall_shares(effects: Array, means: list[float], sd: float) -> Array:
    kept = [special.expit(m + sd * effects[..., 0]) for m in means]
    r1b1, r0b1 = 0.8 * kept[0], 0.2 * kept[1]
    r1b0, r0b0, none = 0.8 - r1b1, 0.2 - r0b1, np.zeros_like(r1b1)
    done = [r1b1, none, r0b1, none, none, r1b0, none, r0b0]
    parts = [0.9 * s for s in done] + [0.1 * s for s in (r1b1, r1b0, r0b1, r0b0)]
    return np.repeat(np.stack(parts, axis=-1)[..., None, :], 4, axis=-2)


def normals(d: int) -> Callable[[np.random.Generator, tuple[int, int]], Array]:
    """Draw d standard normal effects a cluster."""
    return lambda rng, shape: rng.normal(size=(*shape, d))


def line() -> tuple[Array, Array]:
    """The trapezium rule over a normal deviate."""
    z = np.arange(-8.5, 8.6, 1 / 8)
    weight = np.exp(-z * z / 2)
    return z[:, None], weight / weight.sum()


def plane() -> tuple[Array, Array]:
    """The same over two."""
    z, w = line()
    u, v = np.meshgrid(z.ravel(), z.ravel())
    return np.stack([u.ravel(), v.ravel()], axis=-1), np.outer(w, w).ravel()


def beta_nodes(a: float, b: float) -> tuple[Array, Array]:
    """Gauss-Jacobi nodes of a Beta law."""
    x, w = special.roots_jacobi(12, b - 1, a - 1)
    return (1 + x) / 2, w / w.sum()


if __name__ == "__main__":
    main()
