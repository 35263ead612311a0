"""Claim: a probe is calibrated exactly in less time than it is simulated badly.

Peers in their best vectorised form: NumPy Monte Carlo of the same rule through a decision table;
the decision table from SciPy's beta functions on the same exact quadrature; and, on a subset, the
way it is usually written, SciPy quadrature of the posterior at every look.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from harness import compare, heading
from scipy import integrate, special, stats

from simtrack.probe import StoppingRule, characteristics
from simtrack.probe.decisions import build_table, decision_table
from simtrack.probe.paths import build_stopping_states
from simtrack.probe.simulate import simulate
from simtrack.probe.states import NOT_CONFIDENT, STATES
from simtrack.probe.truth import grid

RULE = StoppingRule()
PROBES = 100_000
#: The peer is timed at every 49th of the 441 grid truths and its time is taken 49 times.
EVERY = 49
#: Odds below 1e-5 for each of a few hundred comparisons.
Z_BOUND = 5.0


def main() -> None:
    """Measure the table, one grid and the simulated route."""
    heading("sequential probe, frozen rule")
    compare(
        "decision table of one rule (10,416 records) against SciPy betainc on 32 exact nodes",
        lambda: build_table(RULE).state,
        scipy_table,
        equal=same_decisions,
    )
    states = build_stopping_states(RULE)
    truths = [(p, q) for p in grid(20) for q in grid(20)][::EVERY]
    timing = compare(
        f"exact 21 x 21 grid from path counts against NumPy Monte Carlo, {PROBES:,} probes at "
        f"{len(truths)} of its 441 truths",
        lambda: characteristics(RULE, grid(20), grid(20), states=states),
        lambda: [numpy_probes(float(p), float(q)) for p, q in truths],
        equal=lambda ours, peer: agree_on_grid(ours, peer, truths),
        pairs=5,
    )
    print(f"  peer / ours for the whole grid = {timing.ratio * 441 / len(truths):,.0f} (scaled)")
    compare(
        f"one rule from nothing to its 21 x 21 grid against the same peer at {len(truths)} truths",
        whole_path,
        lambda: [numpy_probes(float(p), float(q)) for p, q in truths],
        equal=lambda ours, peer: agree_on_grid(ours, peer, truths),
        pairs=5,
    )
    compare(
        f"{PROBES:,} simulated probes at (.85, .60) against NumPy vectorised with a table",
        lambda: simulate(RULE, "0.85", "0.6", n_probes=PROBES, seed=1).counts[0].sum(axis=1),
        lambda: numpy_probes(0.85, 0.60),
        equal=agree_at_one_truth,
    )
    compare(
        "the same against NumPy with 24-bit draws (its rates are rounded to 2^-24, ours are not)",
        lambda: simulate(RULE, "0.85", "0.6", n_probes=PROBES, seed=1).counts[0].sum(axis=1),
        lambda: numpy_probes(0.85, 0.60, np.float32),
        equal=agree_at_one_truth,
    )
    naive()


def whole_path() -> object:
    """Decision table, path counts and grid, with no memory of earlier calls."""
    states = build_stopping_states(RULE, build_table(RULE).state)
    return characteristics(RULE, grid(20), grid(20), states=states)


def scipy_table() -> np.ndarray:
    """The states of all records from scipy.special, whole rounds at a time."""
    x, weight = (0.5 * (a + b) for a, b in zip(special.roots_legendre(32), (1, 0), strict=True))
    s, weight = 0.8 * x, 0.8 * weight
    state = np.full((31, 31, 31), NOT_CONFIDENT)
    for k in range(31):
        i = np.arange(k + 1)[:, None]
        above = special.betaincc(1 + i, 1 + k - i, s + 0.2)
        log_density = i * np.log(s) + (k - i) * np.log1p(-s) - special.betaln(1 + i, 1 + k - i)
        positive = above @ (weight * np.exp(log_density)).T
        high = special.betaincc(1 + i[:, 0], 1 + k - i[:, 0], 0.8)[:, None]
        zero, negative = 1 - positive - positive.T, positive.T
        is_high, is_low = high >= 0.8, 1 - high >= 0.8
        here = state[k, : k + 1, : k + 1]
        for is_level, names in ((is_high, ("adopted", "redundant")), (is_low, ("weak", "dead"))):
            here[is_level & (positive >= 0.8)] = STATES.index(names[0])
            here[is_level & (zero >= 0.8)] = STATES.index(names[1])
            here[is_level & (negative >= 0.8)] = STATES.index("adverse")
    return state


_TABLE = decision_table(RULE).state.astype(np.int64)
_RANDOM = np.random.default_rng(2024)


def numpy_probes(p: float, q: float, kind: type = np.float64) -> np.ndarray:
    """Numbers of probes by state: all draws at once, one look-up a round, the stopped ones left."""
    full = _RANDOM.random((30, PROBES), dtype=kind) < p
    ablated = _RANDOM.random((30, PROBES), dtype=kind) < q
    i, j = np.zeros(PROBES, np.int64), np.zeros(PROBES, np.int64)
    alive = np.arange(PROBES)
    ends = np.zeros(len(STATES), np.int64)
    for k in range(1, 31):
        i += full[k - 1, alive]
        j += ablated[k - 1, alive]
        if k < 3:
            continue
        state = _TABLE[k, i, j]
        stops = state != NOT_CONFIDENT if k < 30 else np.ones(state.size, bool)
        ends += np.bincount(state[stops], minlength=len(STATES))
        alive, i, j = alive[~stops], i[~stops], j[~stops]
    return ends


def same_decisions(ours: object, peer: object) -> None:
    """Every record that can occur gets the same state."""
    for k in range(1, 31):
        here = (k, slice(0, k + 1), slice(0, k + 1))
        assert np.array_equal(ours[here], peer[here])


def agree_on_grid(ours, peer, truths) -> None:
    """The simulated shares lie within five standard errors of the exact probabilities."""
    for (p, q), ends in zip(truths, peer, strict=True):
        exact = ours.probability[:, round(20 * p), round(20 * q)]
        within(ends, exact)


def agree_at_one_truth(ours, peer) -> None:
    """Both simulated routes agree with the exact probabilities."""
    exact = characteristics(RULE, "0.85", "0.6").probability[:, 0, 0]
    within(ours, exact)
    within(peer, exact)


def within(ends: np.ndarray, exact: np.ndarray) -> None:
    """Counts of probes against probabilities, where at least 25 are expected."""
    usual = exact * PROBES > 25
    spread = np.sqrt(exact * (1 - exact) * PROBES) + 1e-9
    assert (np.abs(ends - exact * PROBES) / spread)[usual].max(initial=0.0) < Z_BOUND


def naive() -> None:
    """The whole table against SciPy quadrature of the posterior at 20 records."""
    records = [(k, (7 * k) // 9, (2 * k) // 5) for k in range(11, 31)]

    def by_quadrature() -> list[float]:
        out = []
        for k, i, j in records:
            full, ablated = stats.beta(1 + i, 1 + k - i), stats.beta(1 + j, 1 + k - j)
            value, _ = integrate.quad(lambda s: ablated.pdf(s) * full.sf(s + 0.2), 0, 0.8)  # noqa: B023
            out.append(value)
        return out

    def equal(_: object, peer: object) -> None:
        from simtrack.probe.decisions import exact_difference

        for (k, i, j), value in zip(records, peer, strict=True):
            full, ablated = (1 + i, 1 + k - i), (1 + j, 1 + k - j)
            assert abs(float(exact_difference(full, ablated, Fraction(1, 5))) - value) < 1e-9

    timing = compare(
        "the whole decision table against quad at 20 of its 10,416 records, one tail each",
        lambda: build_table(RULE),
        by_quadrature,
        equal=equal,
        pairs=5,
    )
    print(f"  peer / ours for all records = {timing.ratio * 10_416 / 20:,.0f} (scaled)")


if __name__ == "__main__":
    main()
