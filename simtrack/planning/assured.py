"""Assurance: power averaged over what is not known about the agent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, runtime_checkable

from simtrack.agents.agent import Agent
from simtrack.analysis.named import Analysis
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.options import Alternative, Computation, Guarantee
from simtrack.planning.exact import exact_tally
from simtrack.planning.goals import Differs, Goal
from simtrack.planning.question import Question, run_block
from simtrack.planning.tally import Tally
from simtrack.validate import integer

__all__ = ["Assurance", "CanDraw", "assurance"]

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


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
        The mean power over the agents; None where no study has an answer.
    mcse : float or None
        Its Monte Carlo standard error: the spread of the agents' powers over √n_agents.
    bounds : (float, float)
        With every study without an answer as a miss, and as a hit.
    quantiles : tuple of (float, float)
        Of the agents' powers, as simulated; few draws an agent widen them.
    """

    assurance: float | None
    mcse: float | None
    bounds: tuple[float, float]
    quantiles: tuple[tuple[float, float], ...]
    n_agents: int
    draws_each: int
    failure_rate: float
    seed: int
    notes: tuple[str, ...]
    computation: Computation = "monte-carlo"
    guarantee: Guarantee = "bayesian"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        lists = {
            "bounds": list(self.bounds),
            "quantiles": [list(pair) for pair in self.quantiles],
            "notes": list(self.notes),
        }
        return {"schema": "simtrack.assurance/1"} | asdict(self) | lists

    def __repr__(self) -> str:
        if self.assurance is None:
            return "Assurance(not estimable)"
        return f"Assurance({self.assurance:.4g}, mcse {self.mcse:.2g}, {self.n_agents} agents)"


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
    seed: int = 0,
    threads: int = 1,
) -> Assurance:
    """How likely is the study to reach its goal, averaged over a prior or a pilot's fit?

    Parameters
    ----------
    agents : iterable of Agent, or a fit that can draw agents
        A prior as a sequence of equally likely agents (the first `n_agents` are used).
    n_agents, draws_each : int
        Agents, and studies of each; no two agents share draws. Where the power of an agent can
        be enumerated it is, and no study is drawn.
    alpha, alternative, goal, seed, threads
        As for `power`.

    References
    ----------
    O'Hagan, Stevens and Campbell (2005), Pharmaceutical Statistics 4, 187-201.

    Examples
    --------
    >>> from simtrack.agents import PairedAgent
    >>> from simtrack.analysis import analyses
    >>> prior = [PairedAgent(0.7, 0.1, effect=e / 10) for e in range(5, 25)]
    >>> found = assurance(Design(8, 4, {"arm": ("a", "b")}), prior,
    ...                   analyses.sign_flip("rate", "arm", "a", "b"))
    >>> found.n_agents
    20
    """
    aim = goal if goal is not None else Differs(alpha, alternative)
    count = integer("n_agents", n_agents, 2)
    each = integer("draws_each", draws_each, 1)
    if isinstance(agents, CanDraw):
        drawn = agents.draw
        chosen: Iterable[Agent] = (drawn(seed, i) for i in range(count))
    else:
        chosen = itertools.islice(agents, count)
    tallies, enumerated = [], 0
    for i, agent in enumerate(chosen):
        question = Question(
            design, agent, analysis, aim, max_draws=each * count, block=each, seed=seed
        )
        exactly = exact_tally(replace(question, block=1, max_draws=1))
        enumerated += isinstance(exactly, Tally)
        found = exactly if isinstance(exactly, Tally) else run_block(question, i, threads=threads)
        tallies.append(found)
    if len(tallies) < 2:
        raise InputError("agents", "at least two agents", len(tallies))
    return _assured(tallies, each, seed, enumerated)


def _assured(tallies: list[Tally], each: int, seed: int, enumerated: int) -> Assurance:
    n = len(tallies)
    powers = sorted(t.met / t.ok for t in tallies if t.ok)
    low = sum(t.met / t.n for t in tallies) / n
    high = sum((t.met + t.n - t.ok) / t.n for t in tallies) / n
    failing = sum((t.n - t.ok) / t.n for t in tallies) / n
    notes = [f"the power of {enumerated} of {n} agents is exact"] if enumerated else []
    if len(powers) < n:
        notes.append(f"{n - len(powers)} agents without any answer are in the bounds alone")
    if not powers:
        return Assurance(None, None, (low, high), (), n, each, failing, seed, tuple(notes))
    mean = math.fsum(powers) / len(powers)
    spread = math.fsum((p - mean) ** 2 for p in powers) / max(len(powers) - 1, 1)
    places = [min(len(powers) - 1, math.ceil(q * len(powers)) - 1) for q in _QUANTILES]
    quantiles = tuple((q, powers[max(k, 0)]) for q, k in zip(_QUANTILES, places, strict=True))
    error = math.sqrt(spread / len(powers))
    return Assurance(mean, error, (low, high), quantiles, n, each, failing, seed, tuple(notes))
