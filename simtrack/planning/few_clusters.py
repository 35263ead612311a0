"""Models on the simulated studies of few clusters: intervals and tests of two arms, all at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from simtrack.agents import ClusteredAgent, PairedAgent
from simtrack.analysis.catalogue import find_method
from simtrack.counts import Totals
from simtrack.errors import InputError, SimtrackError
from simtrack.inference.models.linear_mixed import linear_mixed
from simtrack.inference.models.table import ModelTable
from simtrack.method import Ask, Layout, Method
from simtrack.planning.coverage import Coverage, Size, interval_coverage, rejection_rate

__all__ = [
    "MODEL_INTERVALS",
    "MODEL_RATES",
    "MODEL_TESTS",
    "TESTS",
    "difference_cell",
    "model_ends",
    "model_pvalues",
    "rate_cell",
]


Floats = NDArray[np.float64]
_DIFFERENCE: Final = np.array([1.0, -1.0])
#: Tests of no difference by models: the analysis, and its options.
MODEL_TESTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "linear-mixed": ("linear-mixed", {}),
    "gee": ("gee", {}),
    "gee-mancl-derouen": ("gee", {"covariance": "mancl-derouen"}),
    "gee-sandwich": ("gee", {"covariance": "sandwich"}),
    "logistic-mixed": ("logistic-mixed", {}),
}


def model_pvalues(name: str, passed: Floats, trials: Floats, level: float) -> Floats:
    """Give the two-sided p of every study, NaN where the model refuses it.

    Parameters
    ----------
    name : str
        A key of `MODEL_TESTS`.
    passed, trials : float64 arrays, shape (studies, clusters, 2)
    level : float
    """
    analysis, options = MODEL_TESTS[name]
    ask = Ask(level, options=options)
    return find_method(analysis).studies(passed, trials, _DIFFERENCE, ask).pvalue


def model_ends(name: str, passed: Floats, trials: Floats, level: float) -> Floats:
    """Give both ends of every study's interval for a difference of rates, shape (studies, 2)."""
    return MODEL_INTERVALS[name](passed, trials, level)


def _intercept(passed: Floats, trials: Floats, level: float) -> Floats:
    found = find_method("linear-mixed").studies(passed, trials, _DIFFERENCE, Ask(level))
    return np.stack([found.low, found.high], axis=1)


def _slope(passed: Floats, trials: Floats, level: float) -> Floats:
    """Fit one study after the other with a slope that differs by cluster."""
    ends = np.full((len(passed), 2), math.nan)
    design = [[1.0, 1.0], [1.0, 0.0]]
    for r, (x, n) in enumerate(zip(passed, trials, strict=True)):
        try:
            table = ModelTable.from_arrays(n, x, design, names=("intercept", "arm"))
            found = linear_mixed(table, slope="arm", level=level).coefficients
        except SimtrackError:
            continue
        ends[r] = found.low[1], found.high[1]
    return ends


def _hierarchical(totals: Totals, level: float) -> Floats:
    """Give the credible interval of the mean rate, one study (column) after the other."""
    from simtrack.inference.bayes.hierarchical_beta import hierarchical_beta

    ends = np.full((len(totals.conditions), 2), math.nan)
    for r in range(len(ends)):
        try:
            found = hierarchical_beta(totals, condition=r, other_icc_prior=None, level=level)
        except SimtrackError:
            continue
        ends[r] = found.rate.low, found.rate.high
    return ends


#: Intervals for one rate by models.
MODEL_RATES: Mapping[str, Callable[[Totals, float], Floats]] = {"hierarchical-beta": _hierarchical}
#: Intervals for a difference of rates by models.
MODEL_INTERVALS: Mapping[str, Callable[[Floats, Floats, float], Floats]] = {
    "linear-mixed": _intercept,
    "linear-mixed-slope": _slope,
}


# Every interval and test on the same simulated studies of few clusters, one cell at a time.
#: Added to the seed of arms that have clusters of their own.
_OTHER_CLUSTERS: Final = 1_000_003
_ARMS: Final = (("first",), ("second",))


def rate_cell(
    agent: ClusteredAgent,
    sizes: Sequence[int],
    methods: Mapping[str, int],
    *,
    seed: int,
    level: float = 0.95,
) -> list[Coverage]:
    """How often do intervals for one rate hold it, over simulated studies of these clusters?

    Parameters
    ----------
    agent : ClusteredAgent
    sizes : sequence of int
        Trials of each cluster.
    methods : mapping of method name to number of replicates
        The first so many of the same simulated studies; slow methods may take fewer.
    seed : int
    level : float
    """
    totals = agent.totals(sizes, max(methods.values()), seed)
    found = []
    for name, replicates in methods.items():
        part = _first_columns(totals, replicates)
        if name in MODEL_RATES:
            low, high = MODEL_RATES[name](part, level).T
        else:
            top, bottom = (a.T[:, :, None] for a in (part.numerator, part.denominator))
            ends = find_method(name).studies(top, bottom, np.ones(1), Ask(level))
            low, high = ends.low, ends.high
        found.append(interval_coverage(name, low, high, agent.rate))
    return found


def difference_cell(
    agent: PairedAgent,
    sizes: Sequence[int],
    methods: Mapping[str, int],
    tests: Mapping[str, int],
    *,
    seed: int,
    level: float = 0.95,
    paired: bool = True,
) -> tuple[list[Coverage], list[Size]]:
    """How often do intervals for a difference hold it, and tests reject, at these clusters?

    With `agent.effect` 0 the rejections are the size of the tests. Both arms have clusters of the
    same sizes: the same clusters if `paired`, else others drawn alike. Parameters: `rate_cell`.
    """
    wanted = max(*methods.values(), *tests.values())
    first, second = agent.successes(sizes, wanted, seed)
    if not paired:
        _, second = agent.successes(sizes, wanted, seed + _OTHER_CLUSTERS)
    trials = np.array(sizes, dtype=np.float64)
    rates = agent.rates()
    truth = rates[0] - rates[1]
    make = _pair if paired else _apart
    pairs = [make(first[r], second[r], trials) for r in range(wanted)]
    covered = []
    both = np.stack([first, second], axis=2).astype(np.float64)
    shared = np.broadcast_to(trials[None, :, None], both.shape)
    for name, replicates in methods.items():
        if name in MODEL_INTERVALS:
            _only_paired(name, paired)
            ends = model_ends(name, both[:replicates], shared[:replicates], level)
        else:
            method = find_method(name)
            ends = np.array([_ends(method, pair, level) for pair in pairs[:replicates]])
        covered.append(interval_coverage(name, ends[:, 0], ends[:, 1], truth))
    sized = []
    for name, replicates in tests.items():
        if name in MODEL_TESTS:
            _only_paired(name, paired)
            pvalues = model_pvalues(name, both[:replicates], shared[:replicates], level)
        else:
            pvalues = np.array([_pvalue(TESTS[name], pair) for pair in pairs[:replicates]])
        sized.append(rejection_rate(name, pvalues, 1.0 - level))
    return covered, sized


def _only_paired(name: str, paired: bool) -> None:
    if not paired:
        raise InputError("methods", "of arms with clusters of their own", name)


def _cluster_t(pair: Totals) -> float | None:
    from simtrack.inference import paired_difference

    return paired_difference(pair).t_pvalue


def _sign_flip(pair: Totals) -> float | None:
    from simtrack.inference import paired_difference

    test = paired_difference(pair).test  # from counts, so on a lattice
    return None if test is None else test.pvalue


def _sign_test(pair: Totals) -> float | None:
    from simtrack.inference import sign_test

    return sign_test(_differences(pair)).pvalue


def _permutation(pair: Totals) -> float | None:
    from simtrack.inference import permutation_totals

    return permutation_totals(pair).pvalue


def _unpaired_t(pair: Totals) -> float | None:
    from simtrack.inference import cluster_difference

    return cluster_difference(pair).pvalue


def _pooled_z(pair: Totals) -> float | None:
    """Pretend that all trials are independent: two proportions, z by the score."""
    top, bottom = pair.numerator.sum(axis=0), pair.denominator.sum(axis=0)
    pooled = top.sum() / bottom.sum()
    spread = pooled * (1.0 - pooled) * (1.0 / bottom).sum()
    if spread == 0.0:
        return 1.0
    z = float(top[0] / bottom[0] - top[1] / bottom[1]) / math.sqrt(spread)
    return math.erfc(abs(z) / math.sqrt(2.0))


#: Two-sided tests of no difference, by name; "pooled-z" treats trials as independent.
TESTS: dict[str, Callable[[Totals], float | None]] = {
    "paired-cluster-t": _cluster_t,
    "sign-flip": _sign_flip,
    "sign-test": _sign_test,
    "permutation": _permutation,
    "cluster-t-difference": _unpaired_t,
    "pooled-z": _pooled_z,
}


def _first_columns(totals: Totals, count: int) -> Totals:
    if count >= len(totals.conditions):
        return totals
    return Totals(
        totals.numerator[:, :count],
        totals.denominator[:, :count],
        totals.square[:, :count],
        totals.clusters,
        totals.conditions[:count],
        totals.by,
        totals.name,
    )


def _pair(first: NDArray[np.int64], second: NDArray[np.int64], trials: Floats) -> Totals:
    top = np.stack([first, second], axis=1).astype(np.float64)
    bottom = np.stack([trials, trials], axis=1)
    clusters = tuple(str(g) for g in range(trials.size))
    return Totals(top, bottom, top, clusters, _ARMS, ("arm",))


def _apart(first: NDArray[np.int64], second: NDArray[np.int64], trials: Floats) -> Totals:
    """Arms that have clusters of their own."""
    zero = np.zeros_like(trials)
    top = np.concatenate([np.stack([first, zero], axis=1), np.stack([zero, second], axis=1)])
    bottom = np.concatenate([np.stack([trials, zero], axis=1), np.stack([zero, trials], axis=1)])
    clusters = tuple(f"{arm}{g}" for arm in "ab" for g in range(trials.size))
    return Totals(top, bottom, top, clusters, _ARMS, ("arm",))


def _differences(pair: Totals) -> Floats:
    rates = pair.numerator / pair.denominator
    gaps: Floats = rates[:, 0] - rates[:, 1]
    return gaps


def _ends(method: Method, pair: Totals, level: float) -> tuple[float, float]:
    """Give both ends, NaN where the method gives none or refuses."""
    try:
        found = method.one(Layout.of_totals(pair, (1.0, -1.0), method.pairing), Ask(level))
    except SimtrackError:
        return math.nan, math.nan
    low, high = found.low, found.high
    return (math.nan, math.nan) if low is None or high is None else (float(low), float(high))


def _pvalue(test: Callable[[Totals], float | None], pair: Totals) -> float:
    try:
        found = test(pair)
    except SimtrackError:
        return math.nan
    return math.nan if found is None else found
