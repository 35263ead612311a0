"""Assurance and predictive power: power averaged over what is not known about the agent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Literal, Protocol, runtime_checkable

from simtrack.agents.agent import Agent
from simtrack.agents.pilot import FittedAgent
from simtrack.analysis.named import Analysis
from simtrack.counts import Counts
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.note import Note
from simtrack.options import Alternative, Computation, Guarantee, choice
from simtrack.planning.exact import averaged_tally, exact_tally
from simtrack.planning.goals import Differs, Goal
from simtrack.planning.question import Question, run_block
from simtrack.planning.tally import Tally
from simtrack.validate import integer

__all__ = ["Assurance", "CanDraw", "Direction", "assurance"]

#: On which side of the null the result lies that the study is done for.
Direction = Literal["greater", "less"]
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: An agent whose truth is this near to the null has no direction.
_NO_EFFECT = 1e-9


@runtime_checkable
class CanDraw(Protocol):
    """A fit with its uncertainty: draw i is an agent that the pilot is compatible with."""

    def draw(self, seed: int, index: int, /) -> Agent:
        """Give one agent: the same for this seed and index, always."""
        ...


@dataclass(frozen=True, slots=True)
class Assurance:
    """How likely is success, given what is known about the agent?

    Attributes
    ----------
    assurance : float or None
        The mean over the agents of the chance to reach the goal, in the intended direction where
        the goal is a difference. Studies without an answer are misses. None where a difference has
        no intended direction.
    mcse : float or None
        Its Monte Carlo standard error (of `greater` without a direction): the spread between
        agents over √n_agents. None where it is exact.
    direction : "greater", "less" or None
        On which side of the null the intended result lies; None for goals that have no side, and
        where neither the alternative nor the agents name one.
    greater, less : float or None
        The chance to show a difference above the null, and below it; None for other goals.
    quantiles : tuple of (float, float)
        Of the agents' chances, as simulated; few draws an agent widen them.
    n_agents, draws_each : int
    failure_rate : float
        Share of studies without an answer.
    """

    assurance: float | None
    mcse: float | None
    direction: Direction | None
    greater: float | None
    less: float | None
    quantiles: tuple[tuple[float, float], ...]
    n_agents: int
    draws_each: int
    failure_rate: float
    seed: int | None
    notes: tuple[Note, ...]
    computation: Computation = "monte-carlo"
    guarantee: Guarantee = "bayesian"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        lists = {"quantiles": [list(pair) for pair in self.quantiles], "notes": list(self.notes)}
        return {"schema": "simtrack.assurance/2"} | asdict(self) | lists

    def __repr__(self) -> str:
        if self.assurance is None:
            return f"Assurance(no direction: greater {self.greater:.4g}, less {self.less:.4g})"
        error = "exact" if self.mcse is None else f"mcse {self.mcse:.2g}"
        return f"Assurance({self.assurance:.4g}, {error}, {self.n_agents} agents)"


def assurance(
    design: Design,
    agents: Iterable[Agent] | CanDraw,
    analysis: Analysis,
    *,
    n_agents: int = 500,
    draws_each: int = 100,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    goal: Goal | None = None,
    direction: Direction | None = None,
    interim: Counts | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Assurance:
    """How likely is the study to reach its goal, averaged over a prior or a pilot's fit?

    A two-sided test also rejects in the wrong direction: that is no success, and is given apart.
    With `interim`, and agents fitted to it, it is the predictive power: the conditional power
    averaged over the posterior.

    Parameters
    ----------
    agents : iterable of Agent, or a fit that can draw agents
        A prior as a sequence of equally likely agents (the first `n_agents` are used).
    n_agents, draws_each : int
        Agents, and studies of each; no two agents share draws. Where the power of an agent can
        be enumerated it is, and no study is drawn. Where a fit lists its agents and the studies of
        all can be enumerated, the mean over all of them is exact.
    direction : "greater" or "less", optional
        Of the intended difference; by default that of a one-sided alternative, else the side of
        the fit's (or the mean) agent.
    interim : Counts, optional
        Clusters observed already.
    alpha, alternative, goal, seed, threads
        As for `power`.

    References
    ----------
    O'Hagan, Stevens and Campbell (2005), Pharmaceutical Statistics 4, 187-201. Spiegelhalter,
    Freedman and Blackburn (1986), Controlled Clinical Trials 7, 8-17 (predictive power).

    Examples
    --------
    >>> from simtrack.agents import PairedAgent
    >>> from simtrack.analysis import analyses
    >>> prior = [PairedAgent(0.7, 0.1, effect=e / 10) for e in range(5, 25)]
    >>> found = assurance(Design(8, 4, {"arm": ("a", "b")}), prior,
    ...                   analyses.sign_flip("rate", "arm", "a", "b"))
    >>> found.n_agents, found.direction
    (20, 'greater')
    """
    aim = goal if goal is not None else Differs(alpha, alternative)
    count = integer("n_agents", n_agents, 2)
    each = integer("draws_each", draws_each, 1)
    if direction is not None:
        choice("direction", direction, Direction)
    if isinstance(agents, FittedAgent):
        question = Question(design, agents.agent, analysis, aim, interim=interim)
        whole = averaged_tally(question, agents.possible())
        if whole is not None:
            side = _side(aim, direction, question.truth - question.null)
            notes: tuple[Note, ...] = (
                Note("exact", f"exact over all {len(agents.weights):,} agents of the fit"),
            )
            return _given([whole], side, aim, len(agents.weights), 0, None, notes)
    chosen = (
        [agents.draw(seed, i) for i in range(count)]
        if isinstance(agents, CanDraw)
        else list(itertools.islice(agents, count))
    )
    if len(chosen) < 2:
        raise InputError("agents", "at least two agents", len(chosen))
    tallies, truths, enumerated = [], [], 0
    for i, agent in enumerate(chosen):
        question = Question(
            design, agent, analysis, aim, max_draws=each * count, block=each, seed=seed,
            interim=interim,
        )  # fmt: skip
        exactly = exact_tally(replace(question, block=1, max_draws=1))
        enumerated += isinstance(exactly, Tally)
        truths.append(question.truth)
        found = exactly if isinstance(exactly, Tally) else run_block(question, i, threads=threads)
        tallies.append(found)
    centre = (
        replace(question, agent=agents.agent).truth
        if isinstance(agents, FittedAgent)
        else math.fsum(truths) / len(truths)
    )
    told = f"the power of {enumerated} of {len(chosen)} agents is exact"
    notes = (Note("exact", told),) if enumerated else ()
    side = _side(aim, direction, centre - question.null)
    return _given(tallies, side, aim, len(chosen), each, seed, notes)


def _side(aim: Goal, asked: Direction | None, gap: float) -> Direction | None:
    """On which side does the intended result lie? As asked, as tested, or as the agents say."""
    if not isinstance(aim, Differs):
        return None
    if aim.alternative != "two-sided":
        return aim.alternative
    if asked is not None or not abs(gap) > _NO_EFFECT:
        return asked
    return "greater" if gap > 0.0 else "less"


def _given(
    tallies: list[Tally],
    side: Direction | None,
    aim: Goal,
    n_agents: int,
    draws_each: int,
    seed: int | None,
    notes: tuple[Note, ...],
) -> Assurance:
    """Average over the agents, each of which counts alike."""
    above, below, met = (
        [part / t.n for part, t in zip(parts, tallies, strict=True)]
        for parts in ([t.above for t in tallies], [t.below for t in tallies],
                      [t.met for t in tallies])
    )  # fmt: skip
    differs = isinstance(aim, Differs)
    chances = sorted(above if side == "greater" or (differs and side is None) else
                     below if side == "less" else met)  # fmt: skip
    shown = _mean(chances)
    if differs and side is None:
        notes = (*notes, Note("no-direction", "neither the alternative nor the agents say which "
                              "direction is intended: both are given"))  # fmt: skip
    return Assurance(
        assurance=None if differs and side is None else shown,
        mcse=_error(chances, draws_each) if seed is not None else None,
        direction=side,
        greater=_mean(above) if differs else None,
        less=_mean(below) if differs else None,
        quantiles=_quantiles(chances) if seed is not None else (),
        n_agents=n_agents,
        draws_each=draws_each,
        failure_rate=_mean([(t.n - t.ok) / t.n for t in tallies]),
        seed=seed,
        notes=notes,
        computation="quadrature" if seed is None else "monte-carlo",
    )


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _error(values: list[float], draws_each: int) -> float:
    """Give the error of the mean; a share of 0 or 1 among few draws is no certainty."""
    mean, n = _mean(values), len(values)
    spread = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
    return max(math.sqrt(spread / n), 1.0 / (n * draws_each))


def _quantiles(ascending: list[float]) -> tuple[tuple[float, float], ...]:
    n = len(ascending)
    return tuple((q, ascending[max(math.ceil(q * n) - 1, 0)]) for q in _QUANTILES)
