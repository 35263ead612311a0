"""A question about a design, and the fixed blocks of draws by which simulation answers it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import Agent
from simtrack.analysis.named import Analysis
from simtrack.counts import Counts
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Estimand
from simtrack.planning.goals import Differs, Equivalent, Excludes, Goal, goal_results
from simtrack.planning.tally import Tally, tally
from simtrack.results import Results
from simtrack.validate import integer, real

__all__ = [
    "Question",
    "block_count",
    "is_enough",
    "observed_totals",
    "run_block",
    "simulation_error",
    "study_results",
    "wanted_draws",
]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
#: A share of 0 or 1 among few draws is no certainty: its error is taken as at least 1 / n.
_LEAST = 1.0
#: Trials, and cells of clusters, of the studies of one block: about a minute, and some gigabytes.
_MOST_TRIALS, _MOST_CELLS = 20_000_000_000, 40_000_000


@dataclass(frozen=True, slots=True)
class Question:
    """How likely is it that this study reaches its goal?

    Block k holds the draws k·block to (k+1)·block - 1 whatever else is drawn; results are looked
    at after whole blocks only. So threads, machines, restarts and the order in which blocks are
    done cannot show.

    Parameters
    ----------
    design : Design
    agent : Agent
    analysis : Analysis
    goal : Goal
    mcse : float
        Monte Carlo standard error of the power at which to stop.
    max_draws, block : int
    seed : int
    interim : Counts, optional
        Clusters that have been observed; the rest of the design's clusters are drawn.
    decided_at : float, optional
        Stop as soon as the power is this far from it, for certain: four standard errors.
    """

    design: Design
    agent: Agent
    analysis: Analysis
    goal: Goal = field(default_factory=Differs)
    mcse: float = 0.005
    max_draws: int = 100_000
    block: int = 1_000
    seed: int = 0
    interim: Counts | None = None
    decided_at: float | None = None

    def __post_init__(self) -> None:
        real("mcse", self.mcse, 1e-6, 0.5)
        integer("max_draws", self.max_draws, 1)
        integer("block", self.block, 1)
        integer("seed", self.seed, 0)
        aim, stated = self.goal, "null" in dict(self.analysis.options)
        if (
            isinstance(aim, Differs)
            and isinstance(self.analysis.what, Estimand)
            and not (stated or aim.null)
        ):
            cure = "Use goal=Differs(null=...), Narrow(width), Equivalent(low, high)."
            raise InputError("goal", f"about a value that {self.analysis.what.name} may have",
                             "a difference from 0", cure=cure)  # fmt: skip
        if isinstance(aim, Differs) and aim.null:
            _refuse_another_null(self.analysis, aim.null)
        if isinstance(aim, Equivalent | Excludes):
            _refuse_no_margin(self.analysis)
        if self.interim is not None:
            done = len(self.interim.cluster.compact().levels)
            if not 0 < done < self.design.clusters:
                rule = f"a table of 1 to {self.design.clusters - 1} of the design's clusters"
                raise InputError("interim", rule, f"{done} clusters")
            _refuse_silent_terms(self)

    @property
    def null(self) -> float:
        """The value that is tested: the goal's, or the option of the analysis."""
        stated = dict(self.analysis.options).get("null", getattr(self.goal, "null", 0.0))
        return float(stated)

    @property
    def truth(self) -> float:
        """The true value of what is estimated: exact."""
        return self.agent.expectation(self.analysis.what, self.design)

    def to_dict(self) -> dict[str, object]:
        """Give plain data that tells this question from every other."""
        return {
            "schema": "simtrack.planning-question/1",
            "design": self.design.to_dict(),
            "agent": self.agent.to_dict(),
            "analysis": self.analysis.to_dict(),
            "goal": self.goal.to_dict(),
            "mcse": self.mcse,
            "max_draws": self.max_draws,
            "block": self.block,
            "seed": self.seed,
            "interim": None if self.interim is None else self.interim.fingerprint,
            "decided_at": self.decided_at,
        }


def block_count(question: Question) -> int:
    """How many blocks are there at most?"""
    return -(-question.max_draws // question.block)


def run_block(question: Question, index: int, *, threads: int = 1) -> Tally:
    """Draw and analyse block `index`: a pure function of the question and the index."""
    start = question.block * integer("index", index, 0, block_count(question) - 1)
    draws = range(start, min(start + question.block, question.max_draws))
    results = study_results(question, draws, threads=threads)
    return tally(
        results, question.goal, question.analysis, truth=question.truth, null=question.null
    )


def study_results(question: Question, draws: range, *, threads: int = 1) -> Results:
    """Draw and analyse these studies: a pure function of the question and the draws."""
    _refuse_too_large(question.design, len(draws))
    batch = question.agent.counts(question.design, draws, question.seed, threads=threads)
    top, bottom, weights = question.analysis.arrays(batch)
    if question.interim is not None:
        top, bottom = _with_observed(question, top, bottom)
    return goal_results(question.goal, question.analysis, top, bottom, weights)


def is_enough(question: Question, so_far: Tally) -> bool:
    """Say whether the blocks so far, from the first on without a gap, settle the question."""
    error = simulation_error(so_far)
    if error <= question.mcse * (1.0 + 1e-12):
        return True
    aim = question.decided_at
    return aim is not None and abs(so_far.met / so_far.n - aim) > 4.0 * error


def simulation_error(found: Tally) -> float:
    """Give the Monte Carlo standard error of the share of all studies that met the goal."""
    share = found.met / found.n
    return math.sqrt(max(share * (1.0 - share), _LEAST / found.n) / found.n)


def wanted_draws(question: Question, so_far: Tally) -> int:
    """Guess how many draws it will take: for a progress bar, and for nothing else."""
    share = so_far.met / so_far.n
    needed = max(share * (1.0 - share), _LEAST / so_far.n) / question.mcse**2
    blocks = math.ceil(needed / question.block)
    return int(min(question.max_draws, max(so_far.n, blocks * question.block)))


def _refuse_another_null(analysis: Analysis, null: float) -> None:
    """Refuse a null that the test would not hear of, or that no rate can have."""
    if isinstance(analysis.what, Estimand) and not 0.0 <= null <= 1.0:
        raise InputError("null", f"from 0 to 1, as {analysis.what.name} is", null)
    if analysis.method.has_pvalue and dict(analysis.options).get("null") != null:
        takes = "null" in analysis.method.options
        cure = (f"Give it as the option null = {null:g} of the analysis." if takes else
                "Use a method that decides by its interval, or the goal excludes.")  # fmt: skip
        rule = f"left out: the p-value of {analysis.name} is about its own null"
        raise InputError("null", rule, null, cure=cure)


def _refuse_no_margin(analysis: Analysis) -> None:
    """Refuse a margin for tests of no difference alone, and a second null beside it."""
    method = analysis.method
    if method.topic == "test" and method.lattice in {"none", "signs"}:
        cure = "Use sign-flip, paired-cluster-t or tango."
        raise InputError("goal", f"a difference shown: {analysis.name} tests no margin", cure=cure)
    if method.lattice == "sign-flip" and "null" in dict(analysis.options):
        raise InputError("null", "left out where the goal states a margin")


def _refuse_silent_terms(question: Question) -> None:
    """Refuse a table in which a term has no trials at all: its levels are named otherwise.

    Where arms share no clusters, one of them may be to come: then all terms are to be silent.
    """
    analysis, interim = question.analysis, cast("Counts", question.interim)
    totals, _ = analysis.totals(interim)
    what = analysis.what
    terms = [what] if isinstance(what, Estimand) else [e for _, e in what.terms]
    seen = np.any(totals.denominator > 0, axis=0).tolist()
    empty = [term.name for term, has in zip(terms, seen, strict=True) if not has]
    if empty and (len(empty) == len(terms) or not question.design.between):
        levels = {f: interim.conditions[f].compact().levels for f in analysis.factors}
        found = "; ".join(f"{f}: {', '.join(v)}" for f, v in levels.items()) or "none"
        raise InputError("interim", f"a table with trials of {' and '.join(empty)}", found)


def _refuse_too_large(design: Design, draws: int) -> None:
    """Refuse what no memory holds or no patience waits for, before it is begun."""
    each = max(design.trials / _MOST_TRIALS, design.clusters * len(design.cells) / _MOST_CELLS)
    most = math.floor(1.0 / each)
    if most < 1:
        rule = f"of at most {_MOST_TRIALS:,} trials and {_MOST_CELLS:,} cells of clusters"
        raise InputError("design", rule, f"{design.trials:,} trials")
    if draws > most:
        cure = f"Set block = {most} where block stands, or plan fewer trials."
        rule = f"at most {most} for studies of {design.trials:,} trials"
        raise InputError("block", rule, draws, cure=cure)


def observed_totals(question: Question) -> tuple[Integers, Integers, Floats]:
    """Give numerators and denominators of the interim, (clusters, terms) each, and the weights."""
    if question.interim is None:
        raise InputError("interim", "given")
    totals, weights = question.analysis.totals(question.interim)
    whole = [np.rint(a).astype(np.int64) for a in (totals.numerator, totals.denominator)]
    return whole[0], whole[1], weights


def _with_observed(
    question: Question, top: Integers, bottom: Integers
) -> tuple[Integers, Integers]:
    """Put the observed clusters in the place of the first simulated ones."""
    *observed, _ = observed_totals(question)
    left = _clusters_to_come(question.design, observed[1] > 0, bottom)
    parts = []
    for drawn, whole in zip((top, bottom), observed, strict=True):
        fixed = np.broadcast_to(whole, (len(drawn), *whole.shape))
        parts.append(np.concatenate([fixed, drawn[:, left]], axis=1))
    return parts[0], parts[1]


def _clusters_to_come(design: Design, seen: NDArray[np.bool_], planned: Integers) -> list[int]:
    """Which planned clusters are left? Where arms share none, each takes one of its own arm."""
    left = list(range(design.clusters))
    if not design.between:
        return left[len(seen) :]
    arms, shown = (
        [tuple(row) for row in cast("list[list[bool]]", mask.tolist())]
        for mask in (np.any(planned > 0, axis=0), seen)
    )
    for arm in shown:
        place = next((k for k in left if not any(arm) or arms[k] == arm), None)
        if place is None:
            rule = "a table with no more clusters of an arm than are planned"
            raise InputError("interim", rule, f"{len(seen)} clusters")
        left.remove(place)
    return left
