"""`simtrack power --pilot`: the agent comes from a log, and its uncertainty into the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simtrack.errors import InputError

if TYPE_CHECKING:
    from simtrack.agents.pilot import FittedAgent
    from simtrack.counts import Counts
    from simtrack.planning import Assurance, Goal
    from simtrack.runs.rehearsal import Rehearsal

__all__ = ["from_pilot", "pilot_assurance", "pilot_lines"]

_AGENT_OPTIONS = ("rate", "drop", "icc", "slope_sd")
_PAIR = 2


def from_pilot(
    study: Rehearsal, counts: Counts | None, given: dict[str, Any]
) -> tuple[Rehearsal, FittedAgent]:
    """Put the agent in the place of the study's that the pilot speaks for."""
    from simtrack.agents import fit_clustered, fit_paired

    for name in _AGENT_OPTIONS:
        if given[name] is not None:
            raise InputError(f"--{name.replace('_', '-')}", "left out with --pilot, which says it")
    if study.analysis is None or counts is None:
        raise InputError("[analysis]", "in the study file, to say how it will be analysed")
    totals, weights = study.analysis.totals(counts)
    conditions = study.design.conditions
    if len(weights) == 1 and not conditions:
        fit = fit_clustered(totals)
    elif weights.tolist() == [1.0, -1.0] and [len(v) for _, v in conditions] == [_PAIR]:
        ((factor, levels),) = conditions
        if _selected(study.analysis.what, factor) != list(levels):
            raise InputError(f"conditions.{factor}", "in the order first, second of [analysis]",
                             ", ".join(levels))  # fmt: skip
        fit = fit_paired(totals, factor=factor)
    else:
        rule = "of one rate without conditions, or of two levels of the design's one condition"
        raise InputError("pilot", rule, study.analysis.what.name,
                         cure="Fit other agents in Python: simtrack.agents.fit_stage.")  # fmt: skip
    return replace(study, agent=fit.agent), fit


def _selected(what: Any, factor: str) -> list[str]:
    """List the level of a factor that each term of a contrast is about."""
    found: list[str] = []
    for _, estimand in what.terms:
        for condition in estimand.where:
            if condition.factors == (factor,) and len(condition.levels) == 1:
                ((level,),) = condition.levels
                found.append(level)
    return found


def pilot_assurance(study: Rehearsal, fit: FittedAgent, goal: Goal, seed: int) -> Assurance:
    """Average the power over the agents that could have made the pilot."""
    from simtrack.planning import assurance

    if study.analysis is None:
        raise InputError("[analysis]", "in the study file")
    return assurance(study.design, fit, study.analysis, goal=goal, seed=seed, n_agents=400)


def pilot_lines(fit: FittedAgent, found: Assurance) -> list[str]:
    """Say what the pilot showed, and how likely success is given all that it leaves open."""
    lines = ["  fitted to the pilot   (logit scale)" if fit.kind == "paired" else
             "  fitted to the pilot"]  # fmt: skip
    for name in fit.names:
        low, high = fit.interval(name)
        lines.append(
            f"    {name:<19} {fit.mean(name):+.3f}  (95 % credible {low:+.3f} to {high:+.3f})"
        )
    if found.assurance is not None and found.mcse is not None:
        lines.append(f"  assurance             {found.assurance:.3f}  (± {found.mcse:.3f} Monte "
                     f"Carlo, {found.n_agents} agents that the pilot allows)")  # fmt: skip
    return lines
