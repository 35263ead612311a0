"""Power by enumeration of all studies, where the statistic lives on a small lattice."""

from __future__ import annotations

import math
from typing import Any, Final, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.named_paired import fair_coin_pvalues
from simtrack.analysis.named_results import REASONS, Results, whole_values
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.planning.goals import Differs
from simtrack.planning.question import Question
from simtrack.planning.tally import Tally, tally

__all__ = ["HasClusterLaw", "exact_tally"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
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
    why = _why_not(question)
    law = None if why else cast("HasClusterLaw", question.agent).cluster_law(question.design)
    if law is None:
        return why or "the law of a cluster cannot be listed"
    tables, probabilities = law
    top, bottom, weights = question.analysis.arrays(tables)
    lattice = question.analysis.named.lattice
    if lattice == "pooled":
        return _pooled(question, top, bottom, probabilities)
    found = whole_values(top, bottom, weights)
    if found is None or (question.analysis.name == "mcnemar" and (bottom != 1).any()):
        return "trials are not balanced, or not one a cluster and arm"
    values, law_of = _gathered(found[0][:, 0], probabilities)
    return (_signs if lattice == "signs" else _flips)(question, values, law_of, found[1])


def _why_not(question: Question) -> str | None:
    """Say why studies cannot be enumerated, before anything is worked out."""
    lattice = question.analysis.named.lattice
    if lattice == "none":
        return f"{question.analysis.name} has no small lattice"
    if question.interim is not None:
        return "an interim is continued by simulation"
    if lattice != "pooled" and not isinstance(question.goal, Differs):
        return f"{question.analysis.name} has no interval"
    if not isinstance(question.agent, HasClusterLaw):
        return "the agent does not give the law of a cluster"
    return None


def _gathered(values: Integers, probabilities: Floats) -> tuple[Integers, Floats]:
    """Add up the probabilities of equal values."""
    distinct, which = np.unique(values, return_inverse=True)
    found = np.bincount(which.ravel(), weights=probabilities, minlength=distinct.size)
    return distinct, found.astype(np.float64)


def _pooled(question: Question, top: Any, bottom: Any, probabilities: Floats) -> Tally | str:
    """Methods that look at the pooled number of passes alone: its law is a convolution."""
    trials = bottom[:, 0, 0]
    if (trials != trials[0]).any():
        return "trials are not balanced"
    clusters, n = question.design.clusters, int(trials[0])
    if clusters * n > _MOST_STUDIES:
        return "too many possible studies"
    single = np.bincount(top[:, 0, 0], weights=probabilities, minlength=n + 1)
    law = np.ones(1)
    for bit in bin(clusters)[2:]:
        law = np.convolve(law, law)
        if bit == "1":
            law = np.convolve(law, single)
    hits = np.arange(law.size, dtype=np.int64)[:, None, None]
    results = question.analysis.run_arrays(
        hits, np.full_like(hits, clusters * n), np.ones(1),
        alternative=question.goal.side, level=question.goal.level(question.analysis),
    )  # fmt: skip
    return tally(results, question.goal, question.analysis, truth=question.truth,
                 null=question.null, weights=law)  # fmt: skip


def _signs(question: Question, values: Integers, law: Floats, scale: int) -> Tally | str:
    """Tests of the numbers of clusters that go up and down: their law is trinomial."""
    clusters = question.design.clusters
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
    side = question.goal.side
    pvalue = fair_coin_pvalues(a, b, side)
    few: dict[str, NDArray[np.bool_]] = {}
    if question.analysis.name != "mcnemar":
        few = _floor(question, len(pairs))
    nothing = np.full(len(pairs), np.nan)
    only_signs = np.abs(values).max(initial=0) <= scale and question.analysis.name == "mcnemar"
    estimate = (a - b) / clusters if only_signs else nothing
    results = Results.of(estimate, pvalue=pvalue, refused=few)
    return tally(results, question.goal, question.analysis, truth=question.truth,
                 null=question.null, weights=weights)  # fmt: skip


def _logs(clusters: int, share: float) -> Floats:
    """Give log(share^k / k!) for k = 0 .. clusters."""
    k = np.arange(clusters + 1)
    factorials = np.array([math.lgamma(j + 1) for j in range(clusters + 1)])
    if share <= 0.0:
        return np.where(k == 0, 0.0, -np.inf)
    return np.asarray(k * math.log(share) - factorials)


def _floor(question: Question, count: int) -> dict[str, NDArray[np.bool_]]:
    sides = 2.0 if question.goal.side == "two-sided" else 1.0
    alpha = 1.0 - question.goal.level(question.analysis)
    few = sides * 0.5**question.design.clusters > alpha + 1e-12
    return {"too few clusters to reach alpha": np.full(count, few)}


def _flips(question: Question, values: Integers, law: Floats, scale: int) -> Tally | str:
    """The sign-flip test: all multisets of sizes of differences, and all signs of each.

    Given the sizes, signs are independent, and the test rejects the patterns with the largest
    sums: so every multiset takes one pass over its 2^G patterns.
    """
    from simtrack.kernels.flip_power import flip_power

    clusters, goal = question.design.clusters, question.goal
    assert isinstance(goal, Differs)
    few = _floor(question, 1)["too few clusters to reach alpha"]
    if few[0]:
        reasons = tuple(float(r == "too few clusters to reach alpha") for r in REASONS)
        return Tally(n=1.0, refused=1.0, reasons=reasons)
    sizes = np.unique(np.abs(np.append(values, 0)))
    if clusters > _MOST_SIGNS:
        return "too many possible studies"
    patterns = math.comb(sizes.size + clusters - 1, clusters) * 2**clusters
    if patterns > _MOST_PATTERNS:
        return "too many possible studies"
    plus, minus = np.zeros(sizes.size), np.zeros(sizes.size)
    place = np.searchsorted(sizes, np.abs(values))
    plus[place[values > 0]] = law[values > 0]
    minus[place[values < 0]] = law[values < 0]
    plus[0] = minus[0] = 0.5 * float(law[values == 0].sum())
    allowed = math.floor(goal.alpha * 2.0**clusters + 1e-9)
    side = {"two-sided": 0, "greater": 1, "less": -1}[goal.alternative]
    out = np.zeros(4)
    flip_power(sizes.astype(np.int64), plus, minus, clusters, allowed, side, out)
    sign = np.sign(question.truth - question.null)
    signed = 0.0 if sign == 0.0 else float(out[0] + out[1])
    wrong = 0.0 if sign == 0.0 else float(out[1] if sign > 0.0 else out[0])
    total = float(out[3])
    return Tally(
        n=total, ok=total, met=float(out[0] + out[1]), signed=signed, wrong=wrong,
        sum_size=float(out[2]) / (scale * clusters) if sign != 0.0 else 0.0,
    )  # fmt: skip
