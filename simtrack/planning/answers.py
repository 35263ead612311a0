"""How likely is a study to show what it is done for?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from simtrack.agents.agent import Agent
from simtrack.analysis.named import Analysis
from simtrack.counts import Counts
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.options import Alternative, choice
from simtrack.planning.exact import exact_tally
from simtrack.planning.goals import Differs, Goal
from simtrack.planning.question import (
    Question,
    block_count,
    is_enough,
    run_block,
    wanted_draws,
)
from simtrack.planning.result import Power, power_of
from simtrack.planning.tally import Tally

__all__ = ["Exactness", "Progress", "answer", "power"]

#: Whether to enumerate all studies: where that is affordable, always (else refuse), or never.
Exactness = Literal["auto", "always", "never"]
Progress = Callable[[int, int, float], None]


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


def _simulated(question: Question, threads: int, progress: Progress | None) -> Tally:
    found, started = Tally(), time.monotonic()
    for index in range(block_count(question)):
        found = found + run_block(question, index, threads=threads)
        if progress is not None:
            total = wanted_draws(question, found)
            seconds = time.monotonic() - started
            progress(int(found.n), total, seconds / found.n * (total - found.n))
        if is_enough(question, found):
            break
    return found
