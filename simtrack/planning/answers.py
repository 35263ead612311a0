"""How likely is a study to show what it is done for?"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from simtrack.agents.agent import Agent
from simtrack.analysis.named import Analysis
from simtrack.analysis.named_results import REASONS
from simtrack.counts import Counts
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.inference import clopper_pearson
from simtrack.note import Note
from simtrack.options import Alternative, Computation, Guarantee, choice
from simtrack.planning.exact import exact_tally
from simtrack.planning.goals import Differs, Goal
from simtrack.planning.question import (
    Question,
    block_count,
    is_enough,
    is_hopeless,
    run_block,
    simulation_error,
    wanted_draws,
)
from simtrack.planning.tally import Tally

__all__ = [
    "Exactness",
    "Power",
    "Progress",
    "answer",
    "combine",
    "power",
    "power_of",
    "type_one_error",
]

#: Whether to enumerate all studies: where that is affordable, always (else refuse), or never.
Exactness = Literal["auto", "always", "never"]
Progress = Callable[[int, int, float], None]
#: A null agent must give exactly the null, up to quadrature.
_NULL_ERROR = 1e-9
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Power:
    """How likely is the study to reach its goal, and what else does it do?

    Attributes
    ----------
    power : float or None
        Share of studies that reach the goal, among those with an answer; None if there are none.
    mcse : float or None
        Its Monte Carlo standard error; None where it is exact.
    low, high : float or None
        The Clopper-Pearson interval of a simulated power, at .95: simulation error alone.
    bounds : (float, float)
        The share if every study without an answer missed the goal, and if every one reached it.
    failure_rate : float
        Share of studies without an answer.
    n_draws, n_ok, n_refused, n_failed : int
        Simulated studies; those with an answer; those whose method refused; those whose method
        broke down. 0 draws where it is exact.
    reasons : tuple of (str, float)
        Why studies have no answer, and what share of all studies that is.
    truth, null : float
        The true value of the estimand under the agent, and the value tested.
    type_s : float or None
        Share of the studies that met the goal whose estimate is on the wrong side of the null.
    type_m : float or None
        Mean |estimate - null| of the studies that met the goal, over |truth - null|.
    coverage, mean_width, sd_width : float or None
        Of the intervals, if the analysis has any, at `level`: Monte Carlo standard errors follow
        from `n_draws`.
    bias, rmse : float or None
        Of the estimate, over the studies that have one.
    level : float
        Of the intervals.
    """

    power: float | None
    mcse: float | None
    low: float | None
    high: float | None
    bounds: tuple[float, float]
    failure_rate: float
    n_draws: int
    n_ok: int
    n_refused: int
    n_failed: int
    reasons: tuple[tuple[str, float], ...]
    truth: float
    null: float
    type_s: float | None
    type_m: float | None
    coverage: float | None
    coverage_mcse: float | None
    mean_width: float | None
    sd_width: float | None
    bias: float | None
    rmse: float | None
    level: float
    analysis: str
    goal: str
    clusters: int
    repetitions: int
    seed: int | None
    block: int | None
    computation: Computation
    guarantee: Guarantee
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        plain = asdict(self) | {"reasons": dict(self.reasons), "notes": list(self.notes)}
        plain["truth"] = None if math.isnan(self.truth) else self.truth
        return {"schema": "simtrack.power/1"} | plain | {"bounds": list(self.bounds)}

    def __repr__(self) -> str:
        if self.power is None:
            return f"Power(not estimable, {self.analysis}, {self.clusters} clusters)"
        error = "exact" if self.mcse is None else f"mcse {self.mcse:.2g}, {self.n_draws} draws"
        return f"Power({self.power:.4g} ({error}), {self.analysis}, {self.clusters} clusters)"


def power(
    design: Design,
    agent: Agent,
    analysis: Analysis,
    *,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    goal: Goal | None = None,
    mcse: float = 0.005,
    max_draws: int = 100_000,
    block: int = 1_000,
    seed: int = 0,
    exact: Exactness = "auto",
    interim: Counts | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Power:
    """How likely is this study to reach its goal, if the world is like this agent?

    Exact, by enumeration of all studies, where the analysis has few enough outcomes (sign-flip
    tests of few clusters, sign tests, McNemar, pooled binomial methods) and the agent knows the
    law of a cluster; else by simulation in blocks, until the Monte Carlo standard error is `mcse`.

    Parameters
    ----------
    design : Design
    agent : Agent
    analysis : Analysis
        See `simtrack.analysis.analyses`.
    alpha, alternative
        Of the default goal: a difference is shown (`Differs`).
    goal : Goal, optional
        Another one: `Equivalent`, `Excludes`, `Narrow`; then leave `alpha` and `alternative`.
    mcse : float
    max_draws, block, seed : int
        Results are looked at after every `block` draws; block k always holds the same draws.
    exact : "auto", "always" or "never"
    interim : Counts, optional
        Clusters observed already: then it is the conditional power.
    threads : int
        The result is the same for any number.
    progress : callable (done, total, seconds left), optional
        Called after every block.

    Raises
    ------
    InputError
        Bad numbers; `exact="always"` where no enumeration is affordable; an analysis that does
        not fit the agent's outcomes or the design's conditions.

    Examples
    --------
    >>> from simtrack.agents import PairedAgent
    >>> from simtrack.analysis import analyses
    >>> design = Design(6, 4, {"arm": ("new", "old")})
    >>> agent = PairedAgent(0.7, icc=0.1, effect=2.0)
    >>> power(design, agent, analyses.sign_flip("rate", "arm", "new", "old"))
    Power(0.2264 (exact), sign-flip, 6 clusters)
    """
    aim = goal if goal is not None else Differs(alpha, alternative)
    question = Question(
        design, agent, analysis, aim, mcse, max_draws, block, seed, interim
    )  # fmt: skip
    return answer(question, exact=exact, threads=threads, progress=progress)


def answer(
    question: Question,
    *,
    exact: Exactness = "auto",
    threads: int = 1,
    progress: Progress | None = None,
) -> Power:
    """Answer a question about power, exactly where that is affordable."""
    choice("exact", exact, Exactness)
    if exact != "never":
        found = exact_tally(question)
        if isinstance(found, Tally):
            return power_of(question, found, exact=True)
        if exact == "always":
            raise InputError("exact", f"auto or never here: {found}", "'always'")
    return power_of(question, _simulated(question, threads, progress))


def type_one_error(design: Design, null_agent: Agent, analysis: Analysis, **how: Any) -> Power:
    """How often does the analysis reject a true null? Arguments as for `power`.

    Raises
    ------
    InputError
        Under this agent the null is not true.
    """
    found = power(design, null_agent, analysis, **how)
    if abs(found.truth - found.null) > _NULL_ERROR:
        rule = f"one under which {analysis.what.name} is {found.null:g}"
        raise InputError("null_agent", rule, f"{found.truth:.6g}")
    return found


def power_of(question: Question, found: Tally, *, exact: bool = False) -> Power:
    """Work out every property from the sums of all blocks (or of all possible studies)."""
    share = found.met / found.ok if found.ok else None
    low = high = None
    if share is not None and not exact:
        ends = clopper_pearson(int(found.met), int(found.ok), level=_LEVEL)
        low, high = (float(end) for end in ends)
    missing = found.n - found.ok
    truth = question.truth
    known = not math.isnan(truth)
    size = abs(truth - question.null) if known else 0.0
    width = _ratio(found.sum_width, found.intervals)
    held = _ratio(found.covered, found.intervals) if known else None
    goal = question.goal
    counts = [0 if exact else int(v) for v in (found.n, found.ok, found.refused, found.failed)]
    return Power(
        power=share,
        mcse=None if exact else simulation_error(found),
        low=low,
        high=high,
        bounds=(found.met / found.n, (found.met + missing) / found.n),
        failure_rate=missing / found.n,
        n_draws=counts[0],
        n_ok=counts[1],
        n_refused=counts[2],
        n_failed=counts[3],
        reasons=tuple(
            (why, k / found.n) for why, k in zip(REASONS, found.reasons, strict=True) if k
        ),
        truth=truth,
        null=question.null,
        type_s=_ratio(found.wrong, found.signed) if known else None,
        type_m=_ratio(found.sum_size, found.signed * size),
        coverage=held,
        coverage_mcse=_share_error(held, found.intervals, exact),
        mean_width=width,
        sd_width=_spread(found.sum_width, found.sum_width_square, found.intervals),
        bias=_ratio(found.sum_error, found.estimated) if known else None,
        rmse=_root(_ratio(found.sum_square, found.estimated)) if known else None,
        level=goal.level(question.analysis),
        analysis=question.analysis.name,
        goal=str(goal),
        clusters=question.design.clusters,
        repetitions=question.design.repetitions,
        seed=None if exact else question.seed,
        block=None if exact else question.block,
        computation="enumeration" if exact else "monte-carlo",
        guarantee="descriptive",
        notes=_notes(question, found, share, exact),
    )


def _simulated(question: Question, threads: int, progress: Progress | None) -> Tally:
    found, started = Tally(), time.monotonic()
    for index in range(block_count(question)):
        found = found + run_block(question, index, threads=threads)
        if progress is not None:
            total = wanted_draws(question, found)
            seconds = time.monotonic() - started
            progress(int(found.n), total, seconds / found.n * (total - found.n))
        if is_enough(question, found) or is_hopeless(index + 1, found):
            break
    return found


def _notes(question: Question, found: Tally, share: float | None, exact: bool) -> tuple[str, ...]:
    lines = []
    if share is None:
        none = "no possible study" if exact else f"none of {int(found.n):,} studies"
        lines.append(f"not estimable: {none} has an answer")
        lines.extend(_cures(question, found))
    elif found.ok < found.n:
        lines.append(
            f"{(found.n - found.ok) / found.n:.2%} of studies have no answer: they are in no "
            "share, and the bounds count them as misses and as hits"
        )
    if question.interim is not None:
        lines.append("coverage, bias and errors are given the observed clusters as well")
    if math.isnan(question.truth):
        lines.append("the estimand is not defined under this agent: no coverage and no bias")
    error = None if exact else simulation_error(found)
    if error is not None and question.decided_at is None and error > question.mcse:
        told = f"stopped at max_draws before the Monte Carlo error was {question.mcse:g}"
        lines.append(Note("draws-exhausted", told))
    return tuple(lines)


def _cures(question: Question, found: Tally) -> list[str]:
    """Say what would give the studies an answer, where that is known."""
    why = [reason for reason, k in zip(REASONS, found.reasons, strict=True) if k]
    told = []
    if "too few clusters to reach alpha" in why:
        sides = 2.0 if question.goal.side == "two-sided" else 1.0
        alpha = 1.0 - question.goal.level(question.analysis)
        need = next(g for g in range(1, 99) if sides * 0.5**g <= alpha + _NULL_ERROR)
        told.append(f"{question.analysis.name} can reach p ≤ {alpha:.3g} from {need} clusters on")
    if "more than one trial a cluster and arm" in why:
        told.append(f"{question.analysis.name} takes 1 repetition; sign-flip takes more")
    return told


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom > 0.0 else None


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def _spread(total: float, squares: float, n: float) -> float | None:
    if n <= 0.0:
        return None
    return math.sqrt(max(0.0, squares / n - (total / n) ** 2))


def _share_error(share: float | None, n: float, exact: bool) -> float | None:
    if share is None or exact:
        return None
    return math.sqrt(max(share * (1.0 - share), 1.0 / n) / n)


def combine(question: Question, parts: Sequence[Tally]) -> Power:
    """Answer from the tallies of blocks done elsewhere, in the order of the blocks."""
    return power_of(replace(question), Tally.total(parts))
