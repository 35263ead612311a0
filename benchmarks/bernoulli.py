"""Claim: simulated trials and counts come faster than NumPy's, from a counter-based stream.

The two sides draw different numbers, so "equal answers" means the same law: before anything is
timed, the mean and the variance of both are held within 5 standard errors of the exact ones.
Single thread unless the title says otherwise; NumPy in its best vectorised form (PCG64).
"""

from __future__ import annotations

import functools
import time

import numpy as np
from harness import compare, heading

from simtrack.rng import Stream

R, G = 50_000, 12
WHERE = {"replicates": R, "clusters": G}
Z_HIGHEST = 5.0
# E[P] and Var(P) / (E[P] (1 - E[P])) of expit(1 + Z), by quadrature.
LOGIT_MEAN, LOGIT_ICC = 0.6967346701, 0.1578457383


def main() -> None:
    """Measure trials, then counts of a cell, then counts of clusters that differ."""
    heading("simulated trials and counts")
    stream = Stream(7, "benchmark")
    numpy_rng = np.random.default_rng(7)
    trials(stream, numpy_rng)
    for n in (20, 200):
        compare(
            f"binomial counts, n = {n}, p = 0.8 (peer: Generator.binomial)",
            lambda n=n: stream.binomial(n, 0.8, **WHERE),
            lambda n=n: numpy_rng.binomial(n, 0.8, size=(R, G)),
            equal=functools.partial(same_law, mean=0.8 * n, variance=0.16 * n),
        )
    compare(
        "Beta-Binomial counts, n = 20, Beta(9, 1) (peer: Generator.beta, then binomial)",
        lambda: stream.beta_binomial(20, 9.0, 1.0, **WHERE),
        lambda: numpy_rng.binomial(20, numpy_rng.beta(9.0, 1.0, size=(R, G))),
        equal=functools.partial(same_law, mean=18.0, variance=count_variance(20, 0.9, 1 / 11)),
    )
    for threads in (1, 2):
        compare(
            f"logit-normal counts, n = 20, {threads} thread(s) (peer: normal, expit, binomial)",
            lambda threads=threads: stream.logit_normal_binomial(
                20, 1.0, 1.0, threads=threads, **WHERE
            ),
            lambda: numpy_rng.binomial(20, 1 / (1 + np.exp(-1 - numpy_rng.normal(size=(R, G))))),
            equal=functools.partial(
                same_law, mean=20 * LOGIT_MEAN, variance=count_variance(20, LOGIT_MEAN, LOGIT_ICC)
            ),
        )


def trials(stream: Stream, numpy_rng: np.random.Generator) -> None:
    """Count successes trial by trial, and say how near that comes to the generator's own rate."""
    n = 100
    timing = compare(
        f"successes among {n} trials, p = 0.3 (peer: Generator.random() < p, summed)",
        lambda: stream.trial_counts(n, 0.3, replicates=R // 5, clusters=G),
        lambda: (numpy_rng.random((R // 5, G, n)) < 0.3).sum(axis=2),
        equal=functools.partial(same_law, mean=0.3 * n, variance=0.21 * n),
    )
    stream.uniform(**WHERE)
    start = time.perf_counter()
    stream.uniform(**WHERE)  # one block each, of which one number is kept
    block_s = (time.perf_counter() - start) / (R * G)
    trial_s = timing.ours_s / (R // 5 * G * n)
    word_ns = block_s / 4 * 1e9
    print(f"  a trial {trial_s * 1e9:.2f} ns; a word of a block of four {word_ns:.2f} ns\n")


def count_variance(n: int, mean: float, icc: float) -> float:
    """Variance of a count whose share varies between clusters."""
    return n * mean * (1 - mean) * (1 + (n - 1) * icc)


def same_law(ours: np.ndarray, peer: np.ndarray, *, mean: float, variance: float) -> None:
    """Hold both sides to the exact mean and variance."""
    assert ours.shape == peer.shape
    for counts in (ours, peer):
        square = (counts - mean) ** 2
        for values, expected in ((counts, mean), (square, variance)):
            standard_error = values.std() / np.sqrt(values.size)
            assert abs(values.mean() - expected) < Z_HIGHEST * standard_error


if __name__ == "__main__":
    main()
