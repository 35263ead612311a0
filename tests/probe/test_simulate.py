"""Simulated probes: a NumPy twin draw for draw, any threads and chunks, and the exact answer."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from simtrack.errors import InputError
from simtrack.kernels.philox import philox4x32
from simtrack.kernels.probe import run_probes
from simtrack.probe import STATES, StoppingRule, characteristics
from simtrack.probe.decisions import decision_table
from simtrack.probe.paths import stopping_states
from simtrack.probe.simulate import _stop_cube, simulate, truth_streams
from simtrack.probe.states import NOT_CONFIDENT

#: Odds of one false alarm of a |z| test of many at this bound are below 1e-5 each.
Z_BOUND = 4.6


def walk_in_numpy(rule, full, ablated, n_probes, seed):
    """Where probes end, from the streams' own Bernoulli draws and the decision table."""
    state = decision_table(rule).state
    first, second = truth_streams(seed, full, ablated)
    f = first.bernoulli(float(full), rule.k_max, replicates=n_probes, clusters=1)[:, 0, :]
    s = second.bernoulli(float(ablated), rule.k_max, replicates=n_probes, clusters=1)[:, 0, :]
    counts = np.zeros((len(STATES), rule.k_max + 1), np.int64)
    for draws in zip(f.astype(int), s.astype(int), strict=True):
        i = j = 0
        for k in range(1, rule.k_max + 1):
            i, j = i + draws[0][k - 1], j + draws[1][k - 1]
            code = state[k, i, j]
            if k == rule.k_max or (k >= rule.k_min and code != NOT_CONFIDENT):
                counts[code, k] += 1
                break
    return counts


@pytest.mark.parametrize(
    "rule", [StoppingRule(), StoppingRule(k_min=1, k_max=7), StoppingRule(k_max=61)]
)
def test_the_kernel_walks_as_numpy_does(rule):
    for full, ablated in ((Fraction("0.9"), Fraction("0.1")), (Fraction("0.8"), Fraction(1))):
        found = simulate(rule, full, ablated, n_probes=400, seed=11)
        assert np.array_equal(found.counts[0], walk_in_numpy(rule, full, ablated, 400, 11))


def test_the_kernel_in_plain_python_is_the_same():
    rule = StoppingRule()
    stop_at = _stop_cube(rule, stopping_states(rule))
    first, second = truth_streams(3, Fraction("0.7"), Fraction("0.4"))
    arguments = (first.words, second.words, np.uint64(5), 40, 0.7, 0.4, 31, stop_at)
    compiled, plain = (np.zeros(stopping_states(rule).k.size, np.int64) for _ in range(2))
    run_probes(*arguments, compiled)
    run_probes.py_func(*arguments, plain)
    assert np.array_equal(compiled, plain)
    assert compiled.sum() == 40


def test_a_tie_of_the_first_words_is_settled_by_the_second():
    # rates that share their first 32 bits with a word that is drawn: all 64 bits must decide, as
    # they do in the streams' own Bernoulli draws
    rule = StoppingRule(k_min=4, k_max=4)
    seed, truth = 8, Fraction(1, 2)
    first, second = truth_streams(seed, truth, truth)
    word = int(np.ravel(first.uniform(replicates=1, clusters=1))[0] * 2.0**32)
    for rate in (word / 2**32, (word + 0.5) / 2**32, (word + 1) / 2**32):
        f = first.bernoulli(rate, 4, replicates=300, clusters=1)[:, 0].sum(axis=1)
        s = second.bernoulli(0.5, 4, replicates=300, clusters=1)[:, 0].sum(axis=1)
        states = stopping_states(rule)
        counts = np.zeros(states.k.size, np.int64)
        stop_at = _stop_cube(rule, states)
        run_probes(first.words, second.words, np.uint64(0), 300, rate, 0.5, 5, stop_at, counts)
        expected = [
            int(((f == i) & (s == j)).sum()) for i, j in zip(states.i, states.j, strict=True)
        ]
        assert counts.tolist() == expected


def test_a_tie_of_an_ablated_word_is_settled_by_the_ablated_stream():
    # rates halfway within the first 32 bits of an ablated draw: its second word decides, and that
    # of the full stream would decide otherwise in some of these eight probes
    rule = StoppingRule(k_min=4, k_max=4)
    states = stopping_states(rule)
    stop_at = _stop_cube(rule, states)
    first, second = truth_streams(8, Fraction(1, 2), Fraction(1, 2))
    numbers = np.ravel(second.uniform(replicates=8, clusters=1))
    differs = []
    for probe, number in enumerate(numbers):
        rate = (int(number * 2.0**32) + 0.5) / 2**32
        where = {"replicates": range(probe, probe + 1), "clusters": 1}
        i = int(first.bernoulli(0.5, 4, **where).sum())
        j = int(second.bernoulli(rate, 4, **where).sum())
        counts = np.zeros(states.k.size, np.int64)
        words = (first.words, second.words, np.uint64(probe), 1)
        run_probes(*words, 0.5, rate, 5, stop_at, counts)
        ended = int(counts.argmax())
        assert (states.i[ended], states.j[ended]) == (i, j)
        low = [tie_word(stream, probe) < 2**31 for stream in (first, second)]
        differs.append(low[0] != low[1])
    assert any(differs)


def tie_word(stream, probe):
    """The word that settles a tie of trial 0: lane 0 of block 2^31."""
    zero = np.uint64(0)
    block = np.uint64(1 << 31)
    return int(philox4x32.py_func(block, zero, np.uint64(probe), zero, *stream.words)[0])


def digest(**how):
    found = simulate(StoppingRule(), ("0.9", "0.3"), ("0.1", "0.3"), n_probes=3000, seed=5, **how)
    return hashlib.sha256(found.counts.tobytes()).hexdigest()


def test_threads_and_chunks_change_nothing():
    expected = digest()
    for how in ({"threads": 2}, {"chunk": 7}, {"chunk": 1000}, {"threads": 2, "chunk": 7}):
        assert digest(**how) == expected


def test_more_probes_and_other_points_leave_the_old_ones_as_they_were():
    rule = StoppingRule()
    alone = simulate(rule, "0.9", "0.1", n_probes=500, seed=5)
    among = simulate(rule, ("0.2", "0.9"), ("0.2", "0.1"), n_probes=500, seed=5)
    assert np.array_equal(alone.counts[0], among.counts[1])
    more = simulate(rule, "0.9", "0.1", n_probes=600, seed=5)
    assert (more.counts >= alone.counts).all()


def chi_square(found, exact):
    """p of a chi-square over (state, rounds) cells expected at least 5 times, the rest pooled."""
    points, _, _ = found.counts.shape
    total, freedom = 0.0, 0
    for point in range(points):
        expected = exact[point] * found.n_probes
        seen = found.counts[point].astype(float)
        large = expected >= 5.0
        cells = [*zip(seen[large], expected[large], strict=True)]
        cells.append((seen[~large].sum(), expected[~large].sum()))
        total += sum((o - e) ** 2 / e for o, e in cells if e > 0.5)
        freedom += sum(e > 0.5 for _, e in cells) - 1
    return float(stats.chi2.sf(total, freedom)), freedom


def exact_cells(rule, p, q):
    """P(state, rounds) at one truth, from the path counts."""
    states = stopping_states(rule)
    p, q = float(p), float(q)
    weight = (
        states.paths
        * p ** states.i.astype(float)
        * (1 - p) ** (states.k - states.i).astype(float)
        * q ** states.j.astype(float)
        * (1 - q) ** (states.k - states.j).astype(float)
    )
    cells = np.zeros((len(STATES), rule.k_max + 1))
    np.add.at(cells, (states.state, states.k), weight)
    return cells


PAIRS = """
0.95 0.05, 0.9 0.1, 0.9 0.9, 0.8 0.6, 0.983 0.2, 0.3 0.7, 0.7 0.3, 0.8 0.55, 0.75 0.75, 0.5 0.5,
0.99 0.97, 0.6 0.3, 0.2 0.9, 0.85 0.6, 0.85 0.65, 0.1 0.1, 0.4 0.1, 0.82 0.8, 0.65 0.85, 0.05 0.4
"""
TRUTHS = [tuple(map(Fraction, pair.split())) for pair in PAIRS.split(",")]


def compare(n_probes, truths, seed):
    rule = StoppingRule()
    p, q = [t[0] for t in truths], [t[1] for t in truths]
    found = simulate(rule, p, q, n_probes=n_probes, seed=seed, threads=2)
    exact = characteristics(rule, p, q, paired=True)
    spread = np.sqrt(exact.probability * (1 - exact.probability) / n_probes).T
    expected = exact.probability.T
    testable = expected * n_probes > 25  # where a normal z means something
    z_state = ((found.probability - expected) / spread)[testable]
    z_rounds = (found.expected_rounds - exact.expected_rounds) / (
        exact.sd_rounds / np.sqrt(n_probes)
    )
    z_bias = (found.bias_effect - exact.bias_effect) / found.bias_effect_mcse
    cells = [exact_cells(rule, *truth) for truth in truths]
    pvalue, freedom = chi_square(found, cells)
    return z_state, z_rounds, z_bias, pvalue, freedom


def test_simulation_agrees_with_the_exact_answer():
    z_state, z_rounds, z_bias, pvalue, _ = compare(20_000, TRUTHS[:5], seed=1)
    assert max(np.abs(z_state).max(), np.abs(z_rounds).max(), np.abs(z_bias).max()) < Z_BOUND
    assert pvalue > 1e-4


@pytest.mark.slow
def test_twenty_truths_of_a_million_probes_agree_with_the_exact_answer():
    # 20 truths x (5 states + not confident) and E[rounds]: about 120 z values; a largest |z| above
    # 4.6 has odds below 1e-3, a chi-square p below 1e-3 odds of 1e-3; the seed is fixed
    z_state, z_rounds, z_bias, pvalue, freedom = compare(1_000_000, TRUTHS, seed=20)
    largest = max(np.abs(z_state).max(), np.abs(z_rounds).max(), np.abs(z_bias).max())
    print(f"largest |z| {largest:.3f} of {z_state.size + 40}; chi2 p {pvalue:.4f}, df {freedom}")
    assert largest < Z_BOUND
    assert pvalue > 1e-3


def test_standard_errors_are_those_of_the_draws():
    found = simulate(StoppingRule(), "0.85", "0.6", n_probes=5000, seed=2)
    k = np.repeat(np.arange(31), found.counts[0].sum(axis=0))
    assert found.expected_rounds[0] == pytest.approx(k.mean(), rel=1e-13)
    assert found.expected_rounds_mcse[0] == pytest.approx(stats.sem(k), rel=1e-10)
    share = found.probability[0]
    seen = (share > 0) & (share < 1)
    expected = np.sqrt(share * (1 - share) / 5000)
    assert found.probability_mcse[0][seen] == pytest.approx(expected[seen])


def test_a_state_never_seen_is_not_impossible():
    # adverse has a probability of 1.8e-6 at (.9, .1): 200 probes do not see it
    found = simulate(StoppingRule(), ("0.9", "1"), ("0.1", "0"), n_probes=200, seed=2)
    adverse, adopted = STATES.index("adverse"), STATES.index("adopted")
    assert found.probability[0, adverse] == 0.0
    # z = 1.96: the score interval of 0 in 200 ends at z^2 / (200 + z^2) = .018845; half of that
    # over z is .0048076
    assert found.probability_high[0, adverse] == pytest.approx(0.0188453, abs=5e-8)
    assert found.probability_mcse[0, adverse] == pytest.approx(0.00480757, abs=5e-9)
    assert found.probability_low[0, adverse] == 0.0
    # at (1, 0) every probe ends adopted
    assert (found.probability[1, adopted], found.probability_high[1, adopted]) == (1.0, 1.0)
    assert found.probability_low[1, adopted] == pytest.approx(1 - 0.0188453, abs=5e-8)
    assert found.probability_mcse[1, adopted] == pytest.approx(0.00480757, abs=5e-9)


def test_intervals_of_the_states_are_those_of_scipy():
    found = simulate(StoppingRule(), "0.85", "0.6", n_probes=400, seed=2)
    seen = found.counts[0].sum(axis=1)
    for state, times in enumerate(seen.tolist()):
        wilson = stats.binomtest(times, 400).proportion_ci(method="wilson")
        assert found.probability_low[0, state] == pytest.approx(wilson.low, abs=1e-12)
        assert found.probability_high[0, state] == pytest.approx(wilson.high, abs=1e-12)


def test_plain_data_names_seed_and_size():
    found = simulate(StoppingRule(), "0.9", "0.1", n_probes=10, seed=3)
    data = found.to_dict()
    assert (data["schema"], data["n"], data["seed"]) == ("simtrack.simulated-probes/1", 10, 3)
    assert (data["computation"], data["guarantee"]) == ("monte-carlo", "asymptotic")
    assert repr(found).endswith("1 truths x 10 probes, seed=3)")


def test_bad_sizes_are_refused():
    with pytest.raises(InputError, match="n_probes must be an integer"):
        simulate(StoppingRule(), 0.1, 0.1, n_probes=1, seed=1)
    with pytest.raises(InputError, match="ablated must be as many rates"):
        simulate(StoppingRule(), (0.1, 0.2), 0.1, n_probes=5, seed=1)
