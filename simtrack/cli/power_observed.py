"""`simtrack power --pilot` and `--interim`: what trials say of the agent, and of going on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simtrack.cli.rehearse import analysis_of
from simtrack.errors import InputError
from simtrack.note import Note

if TYPE_CHECKING:
    from simtrack.agents.pilot import FittedAgent
    from simtrack.analysis import Analysis
    from simtrack.counts import Counts
    from simtrack.planning import Assurance, Direction, Goal
    from simtrack.runs.rehearsal import Rehearsal

__all__ = ["LOOK", "averaged", "observed", "pilot_lines", "predictive_lines"]

#: Agents that are drawn where not all can be gone through.
_AGENTS = 400
LOOK = Note(
    "looks-spend-alpha",
    "to stop for success, or to change the size, because of these numbers spends alpha that the "
    "final p-value does not account for: plan the looks (simtrack monitor --planned N --looks K). "
    "To stop because success is out of reach spends none.",
)


def observed(
    study: Rehearsal, option: str, logs: tuple[str, ...], columns: tuple[str, ...]
) -> Counts:
    """Count the trials of an interim or a pilot in the way that the analysis asks for."""
    from simtrack.cli.parsing import assignments
    from simtrack.logs import read_logs

    records = read_logs(logs, map=assignments("--map", columns) or None)
    by, present = analysis_of(study).factors, ", ".join(records.factors)
    for column in by:
        if column not in records.factors:
            rule = f"a log with a column {column}, which the analysis asks for"
            cure = f"Name it with --map {column}=COLUMN."
            raise InputError(f"--{option}", rule, present, cure=cure)
    name = study.design.cluster_name
    cluster = next((c for c in (name, "cluster") if c in records.factors), None)
    if cluster is None:
        rule = f"a log with a column {name} or cluster"
        cure = "Name it with --map cluster=COLUMN."
        raise InputError(f"--{option}", rule, present, cure=cure)
    for column in by:
        levels = [str(level) for level in records.factors[column].levels]
        absent = [v for v in dict(study.design.conditions).get(column, ()) if v not in levels]
        if absent:
            rule = f"a log whose {column} names the study's levels (without {', '.join(absent)})"
            cure = "Name the levels alike in the log and in the study's conditions."
            raise InputError(f"--{option}", rule, ", ".join(levels), cure=cure)
    return records.counts(cluster=cluster, by=by)


def averaged(
    study: Rehearsal,
    fit: FittedAgent,
    goal: Goal,
    seed: int,
    *,
    direction: Direction | None = None,
    interim: Counts | None = None,
) -> Assurance:
    """Average the power over the agents that could have made the trials."""
    from simtrack.planning import assurance

    return assurance(study.design, fit, analysis_of(study), goal=goal, seed=seed,
                     n_agents=_AGENTS, direction=direction, interim=interim)  # fmt: skip


def pilot_lines(analysis: Analysis, fit: FittedAgent, found: Assurance) -> list[str]:
    """Say what the pilot showed, and how likely success is given all that it leaves open."""
    lines = ["  fitted to the pilot   (logit scale)" if fit.kind == "paired" else
             "  fitted to the pilot"]  # fmt: skip
    for name in fit.names:
        low, high = fit.interval(name)
        mean = round(fit.mean(name), 3) + 0.0  # no sign before a zero
        lines.append(f"    {name:<19} {mean:+.3f}  (95 % credible {low:+.3f} to {high:+.3f})")
    return lines + _averaged_lines("assurance", "the pilot allows", analysis, found)


def predictive_lines(analysis: Analysis, found: Assurance) -> list[str]:
    """Say how likely success is given all that the observed clusters leave open."""
    return _averaged_lines("predictive power", "the interim allows", analysis, found)


def _averaged_lines(name: str, whose: str, analysis: Analysis, found: Assurance) -> list[str]:
    who = f"{found.n_agents:,} agents that {whose}"
    error = f"exact, {who}" if found.mcse is None else f"± {found.mcse:.3f} Monte Carlo, {who}"
    sides = {side: _side_words(analysis, side) for side in ("greater", "less")}
    if found.greater is None or found.less is None:
        return [f"  {name:<21} {found.assurance:.3f}  ({error})"]
    chances = {"greater": found.greater, "less": found.less}
    if found.direction is None:
        both = "; ".join(f"{sides[s]} {chances[s]:.3f}" for s in sides)
        return [f"  {name:<21} none, for no direction is intended: {both}  ({error})"]
    other = "less" if found.direction == "greater" else "greater"
    return [
        f"  {name:<21} {found.assurance:.3f}  ({sides[found.direction]}; {error})",
        f"  {'the other way':<21} {chances[other]:.3f}  ({sides[other]})",
    ]


def _side_words(analysis: Analysis, side: str) -> str:
    """Say which level is higher on this side of the null, or where the rate lies."""
    from simtrack.planning.pilot import selected_levels

    factors = analysis.factors
    levels = selected_levels(analysis.what, factors[0]) if len(factors) == 1 else []
    if len(levels) == 2:
        return f"{levels[0] if side == 'greater' else levels[1]} higher"
    return "above the null" if side == "greater" else "below the null"
