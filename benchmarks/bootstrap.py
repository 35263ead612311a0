"""Claim: the bootstrap law in full costs less than SciPy's 10,000 random resamples, or little more.

SciPy gets cluster sums and a vectorised statistic: its best form. Its ends are random, so they are
held to stand within six of their Monte Carlo standard errors of the right place in our law. Ours
have no Monte Carlo error but in the last two comparisons, where both draw 10,000 resamples.

Targets (peer / ours): 1-D 100, 2-D 2, multisets of 12 clusters 0.1, Monte Carlo 8.
"""

from __future__ import annotations

import numpy as np
from harness import compare, heading
from scipy.stats import bootstrap as scipy_bootstrap

from simtrack.counts import Totals
from simtrack.inference.bootstrap import bootstrap

RESAMPLES = 10_000
#: Draws of SciPy, and of ours where it draws too, share the error.
STANDARD_ERRORS = 6.0


def main() -> None:
    """Measure each route against SciPy on the same clusters."""
    heading("cluster bootstrap, percentile, 95 %")
    rng = np.random.default_rng(20260)
    size, few = rng.integers(1, 7, 67), rng.integers(15, 26, 12)
    tasks = rng.binomial(size, rng.beta(4, 1, 67)), size
    scenarios = rng.binomial(few, 0.8), few
    cases = [
        ("67 clusters of 12, one rate", (rng.binomial(12, 0.6, 67), np.full(67, 12)), "auto"),
        ("67 clusters of 1 to 6, one ratio", tasks, "auto"),
        ("12 clusters of 15 to 25, one ratio", scenarios, "auto"),
        ("12 clusters, the same by multisets", scenarios, "multisets"),
        ("67 clusters of 1 to 6, both draw 10,000", tasks, "monte-carlo"),
    ]
    for title, (top, bottom), method in cases:
        against_scipy(title, top[:, None], bottom[:, None], method)
    pair = rng.integers(15, 26, (12, 2))
    title = "12 clusters of 15 to 25, difference of two paired arms"
    against_scipy(title, rng.binomial(pair, [0.8, 0.6]), pair, "auto")
    pair = rng.integers(5, 13, (67, 2))
    title = "67 clusters of 5 to 12, difference of paired arms, both draw 10,000"
    against_scipy(title, rng.binomial(pair, [0.8, 0.6]), pair, "auto")


def against_scipy(title: str, top: np.ndarray, bottom: np.ndarray, method: str) -> None:
    """Compare one data set, of shape (clusters, columns)."""
    totals = Totals.from_arrays(top, bottom)
    parts = [*top.T.astype(float), *bottom.T.astype(float)]
    constant = (bottom == bottom[0]).all() and len(parts) == 2
    rate = parts[0] / parts[1]

    def ours() -> object:
        return bootstrap(totals, method=method, n_resamples=RESAMPLES)

    def theirs() -> object:
        if constant:  # the mean of cluster rates: what SciPy is quickest at
            return scipy_ends((rate,), np.mean, paired=False)
        return scipy_ends(parts, difference if len(parts) == 4 else ratio, paired=True)

    compare(f"{title} ({ours().route})", ours, theirs, equal=near)


def scipy_ends(parts, statistic, *, paired: bool) -> tuple[float, float]:
    found = scipy_bootstrap(
        parts,
        statistic,
        n_resamples=RESAMPLES,
        vectorized=True,
        paired=paired,
        method="percentile",
        rng=np.random.default_rng(1),
    )
    return tuple(found.confidence_interval)


def ratio(x, m, axis=-1):
    return x.sum(axis=axis) / m.sum(axis=axis)


def difference(x, y, m, n, axis=-1):
    return ratio(x, m, axis) - ratio(y, n, axis)


def near(ours: object, theirs: object) -> None:
    """Each random end stands where it should in our law, within Monte Carlo error."""
    law = ours.law
    error = STANDARD_ERRORS * (2 * 0.025 * 0.975 / RESAMPLES) ** 0.5
    for end, p in zip(theirs, (0.025, 0.975), strict=True):
        below, at = law.shares(end)
        # SciPy interpolates between order statistics: its end may lie between two values.
        assert below - error <= p <= below + at + error, (end, below, at, p)


if __name__ == "__main__":
    main()
