"""Claim: ten thousand StageIF-like studies are drawn and analysed in a second or so.

A study has 12 scenarios, 5 checkpoints, 20 repetitions and 2 arms. Three analyses of the paired
difference: cluster t, exact sign-flip, percentile cluster bootstrap. The peer is the loop that one
would write with NumPy and SciPy: draw, `ttest_1samp`, `permutation_test` (which lists all 4,096
patterns), 10,000 resamples by multinomial weights. The answers are asserted equal on the same
studies first: t and sign-flip to rounding, the bootstrap within the peer's Monte Carlo error (ours
is exact). The peer runs a hundred studies, ours as many and then all ten thousand.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from harness import compare, heading
from scipy import stats

from simtrack.agents import PairedAgent
from simtrack.analysis import Analysis, analyses
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.planning import power

STUDIES, FEW = 10_000, 100
RESAMPLES = 10_000
TRIALS = 100  # of a scenario and arm: 5 checkpoints of 20 repetitions
DESIGN = Design(12, 20, {"checkpoint": tuple("12345"), "arm": ("new", "old")})
AGENT = PairedAgent(0.8, icc=0.1, effect=0.4, slope_sd=0.5)
LEVELS = ("rate", "arm", "new", "old")
#: Student's t by two libraries; sums of 4,096 patterns counted and added up.
CLOSE = 1e-10
Array = np.ndarray


def main() -> None:
    """Measure drawing, each analysis, and the whole loop."""
    heading("power: 12 x 5 x 20 x 2, three analyses")
    few = AGENT.counts(DESIGN, FEW, 7)
    compare(
        f"draw {FEW} studies", lambda: AGENT.counts(DESIGN, FEW, 7), lambda: drawn(FEW),
        equal=same_shape_and_mean,
    )  # fmt: skip
    for name, ours, peer, equal in (
        ("cluster t", analyses.paired_cluster_t(*LEVELS), t_tests, near),
        ("sign-flip, all 4,096 patterns", analyses.sign_flip(*LEVELS), sign_flips, near),
        (f"percentile bootstrap, exact against {RESAMPLES:,} resamples",
         analyses.bootstrap_percentile(*LEVELS), bootstraps, covers),
    ):  # fmt: skip
        timing = compare(
            f"{name}, {FEW} studies", lambda a=ours: run(a, few), lambda p=peer: p(few),
            equal=equal, pairs=3,
        )  # fmt: skip
        print(f"  ours {timing.ours_s / FEW * 1e6:.3g} µs a study")
    whole(few)


def whole(few: CountsBatch) -> None:
    """Time ours on all studies and the peer's loop on some: seconds a study."""
    tests = [make(*LEVELS) for make in (analyses.paired_cluster_t, analyses.sign_flip,
                                        analyses.bootstrap_percentile)]  # fmt: skip
    for test in tests:
        power(DESIGN, AGENT, test, max_draws=1_000, mcse=1e-6)
    ours = timed(lambda: [power(DESIGN, AGENT, test, max_draws=STUDIES, mcse=1e-6)
                          for test in tests])  # fmt: skip

    def loop() -> None:
        batch = drawn(FEW)
        for peer in (t_tests, sign_flips, bootstraps):
            peer(batch)

    peer = timed(loop)
    print(
        f"{STUDIES:,} studies, drawn and analysed three times each (three calls of power)\n"
        f"  ours {ours:.3g} s; peer {peer / FEW * STUDIES:.4g} s, from {FEW} studies\n"
        f"  peer / ours = {peer / FEW * STUDIES / ours:,.0f}"
    )


def run(analysis: Analysis, batch: CountsBatch) -> Array:
    """Ours: the ends of an interval where there is one and no p-value, else p-values."""
    found = analysis.run(batch)
    if analysis.method.has_pvalue:
        return found.pvalue
    return np.stack([found.low, found.high], axis=1)


def drawn(studies: int) -> CountsBatch:
    """The peer's draws, study by study."""
    rng = np.random.default_rng(11)
    passes = np.empty((studies, 12, 5, 2), np.int64)
    for study in range(studies):
        level, slope = rng.normal(size=12), rng.normal(size=12)
        for arm, sign in enumerate((1.0, -1.0)):
            logit = 1.6 + 0.8 * level + sign * 0.5 * (0.4 + 0.5 * slope)
            share = 1.0 / (1.0 + np.exp(-logit))
            passes[study, :, :, arm] = rng.binomial(20, share[:, None], (12, 5))
    found = passes.reshape(studies, 12, 10)
    cells = np.stack([20 - found, found], axis=3)
    return CountsBatch(cells, ("FAIL", "PASS"), DESIGN.cells)


def gaps(batch: CountsBatch) -> Array:
    """Scenario differences, shape (studies, 12)."""
    passes = batch.cells[..., 1].reshape(len(batch), 12, 5, 2).sum(axis=2)
    return (passes[..., 0] - passes[..., 1]) / TRIALS


def t_tests(batch: CountsBatch) -> Array:
    """SciPy's t test, study by study."""
    return np.array([stats.ttest_1samp(row, 0.0).pvalue for row in gaps(batch)])


def sign_flips(batch: CountsBatch) -> Array:
    """SciPy's permutation test of one sample, which lists all patterns of 12."""
    return np.array(
        [
            stats.permutation_test(
                (row,), lambda x, axis: np.sum(x, axis=axis), permutation_type="samples",
                vectorized=True, n_resamples=9_999,
            ).pvalue
            for row in gaps(batch)
        ]
    )  # fmt: skip


def bootstraps(batch: CountsBatch) -> Array:
    """NumPy's multinomial weights and a percentile; also the share at or below each end."""
    rng, ends = np.random.default_rng(3), []
    for row in gaps(batch):
        means = rng.multinomial(12, np.full(12, 1 / 12), RESAMPLES) @ row / 12
        ends.append(np.quantile(means, [0.025, 0.975], method="inverted_cdf"))
    return np.array(ends)


def near(ours: object, theirs: object) -> None:
    """The p-values are equal to rounding."""
    assert np.abs(np.asarray(ours) - np.asarray(theirs)).max() < CLOSE


def covers(ours: object, theirs: object) -> None:
    """The peer's ends lie within six of their Monte Carlo errors of the exact ones.

    The error of a .025 quantile of 10,000 resamples is about .027 of the law's SD; the width of
    the interval is about 3.9 SDs.
    """
    exact, drawn_ends = np.asarray(ours), np.asarray(theirs)
    width = exact[:, 1] - exact[:, 0]
    assert (np.abs(exact - drawn_ends) <= 6 * 0.027 / 3.9 * width[:, None] + 1e-9).all()


def same_shape_and_mean(ours: object, theirs: object) -> None:
    """The draws are of one design and, but for chance, of one rate."""
    assert isinstance(ours, CountsBatch)
    assert isinstance(theirs, CountsBatch)
    assert ours.cells.shape == theirs.cells.shape
    assert (ours.cells.sum(axis=3) == theirs.cells.sum(axis=3)).all()
    one, two = ours.cells[..., 1].mean() / 20, theirs.cells[..., 1].mean() / 20
    assert abs(one - two) < 0.05, (one, two)


def timed(call: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
