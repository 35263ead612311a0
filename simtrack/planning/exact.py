"""Power by enumeration of all studies, where the statistic lives on a small lattice."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import Agent
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.inference.exact.many import fair_coin_pvalues
from simtrack.inference.studies import cluster_values, shifted_values, whole_values
from simtrack.planning.goals import Differs, goal_results
from simtrack.planning.question import Question, observed_totals
from simtrack.planning.tally import Tally, tally
from simtrack.results import REASONS, Results

__all__ = ["HasClusterLaw", "averaged_tally", "exact_tally", "least_pvalue"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_SIGNED: Final = ("sign-flip", "signs")
_ROUNDING: Final = 1e-12
#: Sign patterns of all multisets of cluster differences that are gone through: some seconds.
_MOST_PATTERNS: Final = 2e8
_MOST_SIGNS: Final = 27
#: Possible studies that are analysed one by one.
_MOST_STUDIES: Final = 200_000


@runtime_checkable
class HasClusterLaw(Protocol):
    """An agent that knows every table of one cluster, and its probability."""

    def cluster_law(self, design: Design) -> tuple[CountsBatch, Floats] | None:
        """Give tables and probabilities; None where clusters differ or tables are too many."""
        ...


def exact_tally(question: Question) -> Tally | str:
    """Sum up all possible studies, each with its probability; or say why that cannot be done."""
    alpha = question.goal.alpha
    if alpha is not None and least_pvalue(question) > alpha + _ROUNDING:
        return _nothing_answered()
    why = _why_not(question)
    law = None if why else cast("HasClusterLaw", question.agent).cluster_law(question.design)
    if law is None:
        return why or "the law of a cluster cannot be listed"
    tables, probabilities = law
    if question.analysis.method.lattice == "pooled":
        passes = _passes(question, tables)
        if isinstance(passes, str):
            return passes
        return _pooled(question, passes[1], _passes_law(question, *passes, probabilities))
    top, bottom, weights = question.analysis.arrays(tables)
    found = whole_values(top, bottom, weights)
    if found is None or (question.analysis.name == "mcnemar" and (bottom != 1).any()):
        return "trials are not balanced, or not one a cluster and arm"
    values, law_of = _gathered(found[0][:, 0], probabilities)
    enumerate_studies = _signs if question.analysis.method.lattice == "signs" else _flips
    return enumerate_studies(question, values, law_of, found[1])


def averaged_tally(question: Question, agents: Iterable[tuple[float, Agent]]) -> Tally | None:
    """Sum up all possible studies of all these agents, each with its weight; None where not listed.

    For methods that look at the pooled number of passes alone: given the agent its law is a
    convolution, and the laws are averaged before the studies are analysed, once.

    Parameters
    ----------
    question : Question
        Its agent decides `truth` alone.
    agents : iterable of (weight, Agent)
        The weights add up to 1.
    """
    if question.analysis.method.lattice != "pooled":
        return None
    law: Floats | None = None
    size, by_table = 0, dict[bytes, tuple[float, Integers, Floats]]()
    for weight, agent in agents:
        one = agent.cluster_law(question.design) if isinstance(agent, HasClusterLaw) else None
        passes = None if one is None else _passes(question, one[0])
        if one is None or passes is None or isinstance(passes, str):
            return None
        size = passes[1]
        # agents of one law (any ICC, where a cluster has one trial) are convolved once
        key = np.round(one[1], 15).tobytes()
        held = by_table.get(key)
        by_table[key] = (weight + (held[0] if held else 0.0), passes[0], one[1])
    for weight, hits, probabilities in by_table.values():
        part = weight * _passes_law(question, hits, size, probabilities)
        law = part if law is None else law + part
    return None if law is None else _pooled(question, size, law)


def least_pvalue(question: Question, clusters: int | None = None) -> float:
    """Which p-value can the test of so many clusters (the design's) not go below, whatever occurs?

    0 for tests whose least p does not follow from the number of clusters alone.
    """
    tests = question.goal.tests(question.analysis)
    if question.analysis.method.lattice not in _SIGNED or not tests:
        return 0.0
    g = question.design.clusters if clusters is None else clusters
    return min(1.0, (2.0 if tests[0][1] == "two-sided" else 1.0) * 0.5**g)


def _nothing_answered() -> Tally:
    """No study has an answer: the test cannot reach alpha."""
    reasons = tuple(float(r == "too few clusters to reach alpha") for r in REASONS)
    return Tally(n=1.0, refused=1.0, reasons=reasons)


def _why_not(question: Question) -> str | None:
    """Say why studies cannot be enumerated, before anything is worked out."""
    lattice = question.analysis.method.lattice
    if lattice == "none":
        return f"{question.analysis.name} has no small lattice"
    if question.interim is not None and lattice == "sign-flip":
        return "an interim of a sign-flip test is continued by simulation"
    if lattice != "pooled" and len(question.goal.tests(question.analysis)) != 1:
        return f"the goal is not one test of {question.analysis.name}"
    if not isinstance(question.agent, HasClusterLaw):
        return "the agent does not give the law of a cluster"
    if lattice == "sign-flip" and question.design.clusters > _MOST_SIGNS:
        return "too many possible studies"
    return None


def _gathered(values: Integers, probabilities: Floats) -> tuple[Integers, Floats]:
    """Add up the probabilities of equal values."""
    distinct, which = np.unique(values, return_inverse=True)
    found = np.bincount(which.ravel(), weights=probabilities, minlength=distinct.size)
    return distinct, found.astype(np.float64)


def _passes(question: Question, tables: CountsBatch) -> tuple[Integers, int] | str:
    """Give the passes of each table of a cluster, and its trials; or say what stands against it."""
    top, bottom, _ = question.analysis.arrays(tables)
    trials = bottom[:, 0, 0]
    if (trials != trials[0]).any():
        return "trials are not balanced"
    if question.design.clusters * int(trials[0]) > _MOST_STUDIES:
        return "too many possible studies"
    return top[:, 0, 0], int(trials[0])


def _passes_law(question: Question, hits: Integers, n: int, probabilities: Floats) -> Floats:
    """Give the law of the passes of the clusters to come: cluster by cluster, a convolution."""
    _, _, done = _observed_passes(question)
    single = np.bincount(hits, weights=probabilities, minlength=n + 1)
    law = np.ones(1)
    for bit in bin(question.design.clusters - done)[2:]:
        law = np.convolve(law, law)
        if bit == "1":
            law = np.convolve(law, single)
    return law


def _pooled(question: Question, n: int, law: Floats) -> Tally:
    """Analyse every number of passes that the whole study can have, with its probability."""
    before, tried, done = _observed_passes(question)
    total = tried + (question.design.clusters - done) * n
    hits = before + np.arange(law.size, dtype=np.int64)[:, None, None]
    results = goal_results(
        question.goal, question.analysis, hits, np.full_like(hits, total), np.ones(1)
    )
    return tally(results, question.goal, question.analysis, truth=question.truth,
                 null=question.null, weights=law)  # fmt: skip


def _observed_passes(question: Question) -> tuple[int, int, int]:
    """Count passes, trials and clusters of the interim."""
    if question.interim is None:
        return 0, 0, 0
    top, bottom, _ = observed_totals(question)
    return int(top.sum()), int(bottom.sum()), len(top)


def _signs(question: Question, values: Integers, law: Floats, scale: int) -> Tally | str:
    """Tests of the numbers of clusters that go up and down: their law is trinomial."""
    before = _observed_signs(question)
    if isinstance(before, str):
        return before
    clusters = question.design.clusters - before[2]
    if clusters * clusters > 2 * _MOST_STUDIES:
        return "too many possible studies"
    up, down = (float(law[mask].sum()) for mask in (values > 0, values < 0))
    tied = float(law[values == 0].sum())
    pairs = [(a, b) for a in range(clusters + 1) for b in range(clusters + 1 - a)]
    a, b = np.array(pairs, dtype=np.int64).T
    logs = [_logs(clusters, share) for share in (up, down, tied)]
    weights = np.exp(
        math.lgamma(clusters + 1) + logs[0][a] + logs[1][b] + logs[2][clusters - a - b]
    )
    a, b = a + before[0], b + before[1]
    ((_, side),) = question.goal.tests(question.analysis)
    pvalue = fair_coin_pvalues(a, b, side)
    only_signs = np.abs(values).max(initial=0) <= scale and question.analysis.name == "mcnemar"
    estimate = (a - b) / (clusters + before[3]) if only_signs else np.full(len(pairs), np.nan)
    return tally(Results.of(estimate, pvalue=pvalue), question.goal, question.analysis,
                 truth=question.truth, null=question.null, weights=weights,
                 side=np.sign(a - b).astype(np.float64))  # fmt: skip


def _observed_signs(question: Question) -> tuple[int, int, int, int] | str:
    """Count the interim's clusters that go up, go down, are there at all, and have both arms."""
    if question.interim is None:
        return 0, 0, 0, 0
    top, bottom, weights = observed_totals(question)
    if question.analysis.name == "mcnemar" and (bottom > 1).any():
        return "trials are not one a cluster and arm"
    found = cluster_values(top[None].astype(np.float64), bottom[None].astype(np.float64), weights)[
        0
    ]
    live = found[~np.isnan(found)]
    slack = _ROUNDING * np.abs(live).max(initial=0.0)
    return int((live > slack).sum()), int((live < -slack).sum()), len(top), live.size


def _logs(clusters: int, share: float) -> Floats:
    """Give log(share^k / k!) for k = 0 .. clusters."""
    k = np.arange(clusters + 1)
    factorials = np.array([math.lgamma(j + 1) for j in range(clusters + 1)])
    if share <= 0.0:
        return np.where(k == 0, 0.0, -np.inf)
    return np.asarray(k * math.log(share) - factorials)


def _flips(question: Question, values: Integers, law: Floats, scale: int) -> Tally | str:
    """The sign-flip test: all multisets of sizes of differences, and all signs of each.

    Given the sizes, signs are independent, and the test rejects the patterns with the largest
    sums: so every multiset takes one pass over its 2^G patterns.
    """
    from simtrack.kernels.flip_power import flip_power

    clusters = question.design.clusters
    ((null, alternative),) = question.goal.tests(question.analysis)
    moved = shifted_values(values, scale, null)
    if moved is None:
        return "the null shares no lattice with the differences"
    values, scale = moved
    sizes = np.unique(np.abs(np.append(values, 0)))
    patterns = math.comb(sizes.size + clusters - 1, clusters) * 2**clusters
    if patterns > _MOST_PATTERNS:
        return "too many possible studies"
    plus, minus = np.zeros(sizes.size), np.zeros(sizes.size)
    place = np.searchsorted(sizes, np.abs(values))
    plus[place[values > 0]] = law[values > 0]
    minus[place[values < 0]] = law[values < 0]
    plus[0] = minus[0] = 0.5 * float(law[values == 0].sum())
    allowed = math.floor((question.goal.alpha or 0.0) * 2.0**clusters + 1e-9)
    side = {"two-sided": 0, "greater": 1, "less": -1}[alternative]
    out = np.zeros(4)
    flip_power(sizes.astype(np.int64), plus, minus, clusters, allowed, side, out)
    above, below, size, total = out.tolist()
    met = above + below
    if not isinstance(question.goal, Differs):  # above and below the margin, not the null
        return Tally(n=total, ok=total, met=met)
    return Tally(
        n=total, ok=total, met=met, signed=met, above=above, below=below,
        sum_size=size / (scale * clusters),
    )  # fmt: skip
