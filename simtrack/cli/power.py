"""`simtrack power`: what does this design buy, before it is paid for?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from simtrack.cli.power_long import LongRun, long_options
from simtrack.cli.rehearse import Described, analysis_of, described, progress_line, rehearsal_of
from simtrack.errors import InputError
from simtrack.note import Note

if TYPE_CHECKING:
    from simtrack.agents.pilot import FittedAgent
    from simtrack.counts import Counts
    from simtrack.planning import Assurance, Power, Question
    from simtrack.runs.blocks_schedule import Blocks
    from simtrack.runs.rehearsal import PowerTable, Rehearsal

_EPILOG = """\b
Examples:
  simtrack power --clusters 12 --repetitions 5 --rate 0.85 --drop 0.15 --icc 0.2
  simtrack power study.toml --mcse 0.002
  simtrack power study.toml --interim half.csv --map cluster=task --map value=passed
  simtrack power --clusters 40 --pilot pilot.csv --map cluster=task
  simtrack power study.toml --mcse 0.001 --folder runs/a --executor processes --max-seconds 600
  simtrack power study.toml --part 1/2 --folder a     and --part 2/2 --folder b elsewhere, then
  simtrack power study.toml --merge a --merge b
\b
Exact where the analysis has few enough outcomes, else simulated until the Monte Carlo
standard error is --mcse. A study without an answer counts as a miss.
"""


@click.command(epilog=_EPILOG)
@described
@click.option("--alpha", type=float, help="Level of the test [0.05].")
@click.option("--mcse", type=float, help="Monte Carlo standard error to reach [0.005].")
@click.option("--max-draws", type=int, help="Most simulated studies [100000].")
@long_options
@click.option("--interim", multiple=True, help="Log of the clusters observed so far.")
@click.option("--pilot", multiple=True, help="Log of a pilot that the agent is fitted to.")
@click.option("--map", "columns", multiple=True, metavar="PART=COL", help="Columns of that log.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def power(
    what: Described,
    alpha: float | None,
    mcse: float | None,
    max_draws: int | None,
    long: LongRun,
    interim: tuple[str, ...],
    pilot: tuple[str, ...],
    columns: tuple[str, ...],
    as_json: bool,
) -> None:
    """Power, precision and error rates of a design: STUDY.toml, or two arms by options.

    With --interim the clusters in that log are kept and only the rest are simulated: the
    conditional power of going on, if the agent of the study is right, and the predictive power,
    averaged over all agents that could have made the log. With --pilot the agent is fitted to that
    log, and the assurance averages the power over all agents that could have made it.
    """
    from simtrack.cli.power_observed import observed

    study = rehearsal_of(what)
    analysis_of(study)
    said = study.power
    said = replace(
        said,
        alpha=said.alpha if alpha is None else alpha,
        mcse=said.mcse if mcse is None else mcse,
        max_draws=said.max_draws if max_draws is None else max_draws,
    )
    if pilot and (interim or long.given()):
        raise InputError("--pilot", "given without --interim and the options of long runs")
    if pilot:
        _of_pilot(study, said, what, observed(study, "pilot", pilot, columns), as_json)
        return
    seen = observed(study, "interim", interim, columns) if interim else None
    question = _question(study, said, what.seed, seen)
    if long.part is not None:
        from simtrack.cli.power_long import one_part

        kept = one_part(question, long)
        print(json.dumps(kept, indent=1) if as_json else kept["told"])
        return
    found, run = _answered(question, said, long)
    ahead, notes = (None, ()) if seen is None else _predictive(study, question, seen)
    found = replace(found, notes=(*found.notes, *notes))
    if as_json:
        more = {} if run is None else {"run": run.to_dict()}
        _print_json(found, more | ({} if seen is None else {"predictive": _plain(ahead)}))
        return
    _show(study, question, found)
    if run is not None:
        from simtrack.cli.power_long import run_line

        print(run_line(run))
    if ahead is not None:
        from simtrack.cli.power_observed import predictive_lines

        print("\n".join(predictive_lines(question.analysis, ahead)))
    _tell(found.notes)


def _question(study: Rehearsal, said: PowerTable, seed: int, interim: Counts | None) -> Question:
    from simtrack.planning import Question
    from simtrack.runs.rehearsal import goal_of

    goal = goal_of(study, said.alpha, said.alternative)
    return Question(study.design, study.agent, analysis_of(study), goal, said.mcse,
                    said.max_draws, said.block, seed, interim)  # fmt: skip


def _answered(question: Question, said: PowerTable, long: LongRun) -> tuple[Power, Blocks | None]:
    """Answer in one go, or in blocks where an option of long runs is given."""
    if long.given():
        from simtrack.cli.power_long import long_run

        return long_run(question, said.exact, long)
    from simtrack.planning import answer

    found = answer(question, exact=said.exact, threads=said.threads,
                   progress=progress_line("power"))  # fmt: skip
    return found, None


def _of_pilot(
    study: Rehearsal, said: PowerTable, what: Described, counts: Counts, as_json: bool
) -> None:
    """Put the fitted agent in the place of the study's, and average over what the pilot allows."""
    from simtrack.cli.power_observed import averaged, pilot_lines
    from simtrack.planning import answer, fit_pilot, pilot_cautions

    analysis = analysis_of(study)
    for name in ("rate", "drop", "icc", "slope_sd"):
        if name in what.given():
            raise InputError(f"--{name.replace('_', '-')}", "left out with --pilot, which says it")
    fit: FittedAgent = fit_pilot(analysis, study.design, counts)
    study = replace(study, agent=fit.agent)
    question = _question(study, said, what.seed, None)
    found = answer(question, exact=said.exact, threads=said.threads,
                   progress=progress_line("power"))  # fmt: skip
    assured = averaged(study, fit, question.goal, what.seed)
    found = replace(found, notes=(*found.notes, *pilot_cautions(analysis, counts),
                                  *assured.notes))  # fmt: skip
    if as_json:
        _print_json(found, {"pilot": fit.to_dict(), "assurance": assured.to_dict()})
        return
    _show(study, question, found)
    print("\n".join(pilot_lines(analysis, fit, assured)))
    _tell(found.notes)


def _predictive(
    study: Rehearsal, question: Question, seen: Counts
) -> tuple[Assurance | None, tuple[Note, ...]]:
    """Average the conditional power over the agents that the observed clusters allow."""
    from simtrack.cli.power_observed import LOOK, averaged
    from simtrack.planning import Direction, fit_pilot

    try:
        fit = fit_pilot(question.analysis, study.design, seen)
    except InputError as why:
        return None, (Note("no-predictive", f"no predictive power: {why}"), LOOK)
    gap = question.truth - question.null
    direction: Direction | None = "greater" if gap > 0.0 else "less" if gap < 0.0 else None
    found = averaged(study, fit, question.goal, question.seed, direction=direction, interim=seen)
    priors = tuple(Note("priors", f"predictive power: {note}") for note in fit.notes)
    return found, (*found.notes, *priors, LOOK)


def _print_json(found: Power, more: dict[str, object]) -> None:
    print(json.dumps(found.to_dict() | more, indent=1, ensure_ascii=False))


def _plain(found: Assurance | None) -> dict[str, object] | None:
    return None if found is None else found.to_dict()


def _show(study: Rehearsal, question: Question, found: Power) -> None:
    from simtrack.planning import Differs

    d, interim = study.design, question.interim
    cells = " x ".join(f"{len(levels)} {name}" for name, levels in d.conditions) or "one cell"
    print(f"{d.clusters} {d.cluster_name}s x {d.repetitions} repetitions x {cells}: "
          f"{d.trials:,} trials{_cost(study)}; {found.analysis}, {question.goal.words()}"
          )  # fmt: skip
    error = "exact" if found.mcse is None else (
        f"± {found.mcse:.3f} Monte Carlo, {found.n_draws:,} studies")  # fmt: skip
    if any(note.code == "cannot-reject" for note in found.notes):
        error += f"; it cannot reject at alpha {found.alpha:.12g}"
    if interim is not None:
        error += f"; {len(interim.cluster.levels)} clusters observed"
    print(f"  {'power' if interim is None else 'conditional power':<21} {found.power:.3f}  "
          f"({error})")  # fmt: skip
    print(f"  true value            {found.truth:+.4f}")
    shown = isinstance(question.goal, Differs)  # errors of sign and size are those of a difference
    level = f"{100 * found.level:g} % interval"
    for name, value, form in (
        ("mean interval width", found.mean_width, ".3f"),
        ("coverage", found.coverage, ".3f"),
        ("wrong sign if shown", found.type_s if shown else None, ".4f"),
        ("exaggeration if shown", found.type_m if shown else None, ".2f"),
    ):
        if value is not None:
            print(f"  {name:<21} {value:{form}}{f'  ({level})' if name == 'coverage' else ''}")
    if found.failure_rate:
        why = ", ".join(f"{share:.3f} {reason}" for reason, share in found.reasons)
        among = "" if found.power_answered is None else (
            f"; {found.power_answered:.3f} of those that answer")  # fmt: skip
        print(f"  no answer: a miss     {found.failure_rate:.3f}  ({why}){among}")


def _tell(notes: tuple[Note, ...]) -> None:
    for note in notes:
        print(f"Note: {note}")


def _cost(study: Rehearsal) -> str:
    return "" if study.price is None else f", ${study.price.usd(study.design.trials):,.2f}"
