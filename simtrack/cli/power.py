"""`simtrack power`: what does this design buy, before it is paid for?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from simtrack.cli.rehearse import described, goal_of, progress_line, rehearsal_of
from simtrack.errors import InputError

if TYPE_CHECKING:
    from simtrack.counts import Counts
    from simtrack.planning import Goal, Power
    from simtrack.runs.rehearsal import Rehearsal

_LONG = ("folder", "executor", "workers", "dask", "max_seconds", "part", "merge")
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
standard error is --mcse. Power among studies with an answer; bounds count the rest.
"""


@click.command(epilog=_EPILOG)
@described
@click.option("--alpha", type=float, help="Level of the test [0.05].")
@click.option("--mcse", type=float, help="Monte Carlo standard error to reach [0.005].")
@click.option("--max-draws", type=int, help="Most simulated studies [100000].")
@click.option("--folder", type=click.Path(file_okay=False),
              help="Keep finished blocks here; the same call goes on from them.")  # fmt: skip
@click.option("--executor", type=click.Choice(("serial", "threads", "processes")),
              help="How blocks are spread [serial].")  # fmt: skip
@click.option("--workers", type=int, help="Threads or processes [one a processor].")
@click.option("--dask", metavar="SCHEDULER", help="Address of a Dask scheduler to spread over.")
@click.option("--max-seconds", type=float, help="Begin no block after so many seconds.")
@click.option("--part", metavar="I/N", help="Do one part of --max-draws, kept in --folder.")
@click.option("--merge", multiple=True, metavar="FOLDER", help="Answer from the parts' folders.")
@click.option("--interim", "interim", multiple=True, help="Log of the clusters observed so far.")
@click.option("--pilot", "pilot", multiple=True, help="Log of a pilot that the agent is fitted to.")
@click.option("--map", "columns", multiple=True, metavar="PART=COL", help="Columns of that log.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def power(as_json: bool, **given: Any) -> None:
    """Power, precision and error rates of a design: STUDY.toml, or two arms by options.

    With --interim the clusters in that log are kept and only the rest are simulated: the
    conditional power of going on. With --pilot the agent is fitted to that log, and the assurance
    averages the power over all agents that could have made it.
    """
    study = rehearsal_of(given)
    if study.analysis is None:
        raise InputError("[analysis]", "in the study file, to say how it will be analysed")
    analysis = study.analysis
    asked = dict(study.settings["power"]) | {
        n: given[n] for n in ("alpha", "mcse", "max_draws") if given[n] is not None
    }
    _known(asked)
    goal = goal_of(study, asked)
    interim, fit = _observed(study, "interim", given), None
    if given["pilot"]:
        if any(given[name] not in {None, ()} for name in (*_LONG, "interim")):
            raise InputError("--pilot", "given without --interim and the options of long runs")
        from simtrack.cli.power_pilot import from_pilot, pilot_assurance, pilot_lines

        pilot = _observed(study, "pilot", given)
        study, fit = from_pilot(study, pilot, given)
    if any(given[name] not in {None, ()} for name in _LONG):
        from simtrack.cli.power_long import long_run

        found, extra = long_run(study, goal, asked, interim, given)
        if found is None:
            print(json.dumps(extra, indent=1) if as_json else extra["told"])
            return
    else:
        from simtrack.planning import power as compute

        extra = {}
        found = compute(
            study.design, study.agent, analysis, goal=goal, seed=given["seed"],
            interim=interim, progress=progress_line("power"), **asked,
        )  # fmt: skip
    if fit is not None:
        assured = pilot_assurance(study, fit, goal, given["seed"])
        extra = {"pilot": fit.to_dict(), "assurance": assured.to_dict()}
    if as_json:
        print(json.dumps(found.to_dict() | extra, indent=1, ensure_ascii=False))
    else:
        _show(study, goal, found, interim)
        if fit is not None:
            print("\n".join(pilot_lines(fit, assured)))
        elif extra:
            run = extra["run"]
            print(f"  run                   {run['n_blocks_done']:,} of at most "
                  f"{run['n_blocks_planned']:,} blocks, stopped: {run['stopped']}; "
                  f"sha256 {run['sha256'][:16]}")  # fmt: skip


def _known(asked: dict[str, Any]) -> None:
    known = ("alpha", "alternative", "mcse", "max_draws", "block", "exact", "threads")
    for key in asked:
        if key not in known:
            raise InputError("key", f"one of {', '.join(known)}", repr(key), where="[power]")


def _observed(study: Rehearsal, option: str, given: dict[str, Any]) -> Counts | None:
    """Count the trials of an interim or a pilot in the way that the analysis asks for."""
    if not given[option]:
        return None
    from simtrack.cli.parsing import assignments
    from simtrack.logs import read_logs

    records = read_logs(given[option], map=assignments("--map", given["columns"]) or None)
    name, analysis = study.design.cluster_name, study.analysis
    by = () if analysis is None else analysis.factors
    for column in by:
        if column not in records.factors:
            rule = f"a log with a column {column}, which the analysis asks for"
            cure = f"Name it with --map {column}=COLUMN."
            raise InputError(f"--{option}", rule, ", ".join(records.factors), cure=cure)
    cluster = next((c for c in (name, "cluster") if c in records.factors), None)
    if cluster is None:
        rule = f"a log with a column {name} or cluster"
        cure = "Name it with --map cluster=COLUMN."
        raise InputError(f"--{option}", rule, ", ".join(records.factors), cure=cure)
    for column in by:
        present = [str(level) for level in records.factors[column].levels]
        absent = [v for v in dict(study.design.conditions).get(column, ()) if v not in present]
        if absent:
            rule = f"a log whose {column} names the study's levels (without {', '.join(absent)})"
            cure = "Name the levels alike in the log and in the study's conditions."
            raise InputError(f"--{option}", rule, ", ".join(present), cure=cure)
    return records.counts(cluster=cluster, by=by)


def _show(study: Rehearsal, goal: Goal, found: Power, interim: Counts | None) -> None:
    d = study.design
    cells = " x ".join(f"{len(levels)} {name}" for name, levels in d.conditions) or "one cell"
    print(f"{d.clusters} {d.cluster_name}s x {d.repetitions} repetitions x {cells}: "
          f"{d.trials:,} trials{_cost(study)}; {found.analysis}")  # fmt: skip
    kept = "" if interim is None else f" (given {len(interim.cluster.levels)} observed clusters)"
    if found.power is None:
        print(f"  power{kept} not estimable: no study has an answer")
    else:
        error = (
            "exact"
            if found.mcse is None
            else (f"± {found.mcse:.3f} Monte Carlo, {found.n_draws:,} studies")
        )
        print(f"  power{kept}{'':<{max(1, 21 - len(kept))}}{found.power:.3f}  ({error})")
    print(f"  true value            {found.truth:+.4f}")
    shown = goal.to_dict()["kind"] == "differs"  # errors of sign and size are those of a difference
    level = f"{100 * goal.level(study.analysis):g} % interval" if study.analysis else ""
    for name, value, form in (
        ("mean interval width", found.mean_width, ".3f"),
        ("coverage", found.coverage, ".3f"),
        ("wrong sign if shown", found.type_s if shown else None, ".4f"),
        ("exaggeration if shown", found.type_m if shown else None, ".2f"),
    ):
        if value is not None:
            print(f"  {name:<21} {value:{form}}{f'  ({level})' if name == 'coverage' else ''}")
    if found.failure_rate:
        why = ", ".join(f"{reason} {share:.3f}" for reason, share in found.reasons)
        low, high = found.bounds
        print(f"  without an answer     {found.failure_rate:.3f} ({why}); power between "
              f"{low:.3f} and {high:.3f} if they count")  # fmt: skip
    for note in found.notes:
        print(f"Note: {note}")


def _cost(study: Rehearsal) -> str:
    return "" if study.price is None else f", ${study.price.usd(study.design.trials):,.2f}"
