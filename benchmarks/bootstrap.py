"""Claim: the bootstrap law in full costs less than SciPy's 10,000 random resamples, or little more.

SciPy gets cluster sums and a vectorised statistic: its best form. Its ends are random, so they are
held to stand within six of their Monte Carlo standard errors of the right place in our law. Ours
have no Monte Carlo error but in the last two comparisons, where both draw 10,000 resamples (with
the compiled kernel, whose start-up is not in them: processes that draw so little do without it).

Targets (peer / ours): 1-D 100, 2-D 2, multisets of 12 clusters 0.1, Monte Carlo 8.
"""

from __future__ import annotations

import numpy as np
from harness import compare, heading
from scipy.stats import bootstrap as scipy_bootstrap

from simtrack.counts import Totals
from simtrack.inference.resampling.bootstrap import bootstrap
from simtrack.inference.resampling.convolution import law_of_line
from simtrack.inference.resampling.draws import drawn_sums
from simtrack.inference.resampling.lattice import as_line
from simtrack.inference.resampling.sample import checked_sample

RESAMPLES = 10_000
#: Draws of SciPy, and of ours where it draws too, share the error.
STANDARD_ERRORS = 6.0


def main() -> None:
    """Measure each route against SciPy on the same clusters."""
    heading("cluster bootstrap, percentile, 95 %")
    rng = np.random.default_rng(20260)
    drawn_sums((np.ones((2, 1)),), 1, 0, compiled=True)  # load the kernel
    size, few = rng.integers(1, 7, 67), rng.integers(15, 26, 12)
    twelve = rng.binomial(12, 0.6, 67)[:, None], np.full((67, 1), 12)
    tasks = rng.binomial(size, rng.beta(4, 1, 67))[:, None], size[:, None]
    scenarios = rng.binomial(few, 0.8)[:, None], few[:, None]
    six = rng.binomial(6, 0.6, (67, 2)), np.full((67, 2), 6)
    against_scipy("67 clusters of 6 and 6, paired difference", *six, parts="law alone")
    against_scipy("67 clusters of 6 and 6, paired difference", *six)
    against_scipy("67 clusters of 12, mean of cluster rates", *twelve, parts="law alone")
    against_scipy("67 clusters of 12, mean of cluster rates", *twelve)
    against_scipy("67 clusters of 1 to 6, one ratio", *tasks)
    against_scipy("12 clusters of 15 to 25, one ratio", *scenarios)
    against_scipy("12 clusters, the same by multisets", *scenarios, "multisets")
    pair = rng.integers(15, 26, (12, 2))
    arms = rng.binomial(pair, [0.8, 0.6]), pair
    against_scipy("12 clusters of 15 to 25, paired difference", *arms)
    against_scipy("67 clusters of 1 to 6, one ratio, both draw", *tasks, "monte-carlo")
    pair = rng.integers(5, 13, (67, 2))
    arms = rng.binomial(pair, [0.8, 0.6]), pair
    against_scipy("67 clusters of 5 to 12, paired difference, both draw", *arms)


def against_scipy(
    title: str, top: np.ndarray, bottom: np.ndarray, method: str = "auto", parts: str = "all"
) -> None:
    """Compare one data set, of shape (clusters, columns): the public call, or its law alone."""
    totals = Totals.from_arrays(top, bottom)
    sums = [*top.T.astype(float), *bottom.T.astype(float)]
    constant = (bottom == bottom[0]).all() and len(sums) == 2
    rate = sums[0] / sums[1]
    sample = checked_sample(totals, None, "contrast", None, None)

    def ours() -> object:
        if parts == "all":
            return bootstrap(totals, method=method, n_resamples=RESAMPLES)
        law = law_of_line(as_line(sample), sample.tie)
        law.quantiles([0.025, 0.975])
        return law

    def theirs() -> object:
        if constant:  # the mean of cluster rates: what SciPy is quickest at
            return scipy_ends((rate,), np.mean, paired=False)
        return scipy_ends(sums, difference if len(sums) == 4 else ratio, paired=True)

    what = "law and quantiles alone" if parts != "all" else ours().route
    compare(f"{title} ({what})", ours, theirs, equal=near)


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
    law = getattr(ours, "law", ours)
    error = STANDARD_ERRORS * (2 * 0.025 * 0.975 / RESAMPLES) ** 0.5
    for end, p in zip(theirs, (0.025, 0.975), strict=True):
        below, at = law.shares(end)
        # SciPy interpolates between order statistics: its end may lie between two values.
        assert below - error <= p <= below + at + error, (end, below, at, p)


if __name__ == "__main__":
    main()
