"""`simtrack monitor`: what may be said of a running study, however often one looks?"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, get_args

import click

from simtrack.cli.parsing import a_figure, method_options
from simtrack.cli.reading import LogOptions, read_options, read_records
from simtrack.options import Alternative, BoundaryKind

if TYPE_CHECKING:
    from simtrack.analysis.monitor import Look, Monitor

_EPILOG = """\b
Examples:
  simtrack monitor running.jsonl --metric acc --null 0.5 --figure band.png
  simtrack monitor a.eval b.eval --compare model-a model-b --planned 60 --looks 3
  simtrack monitor scored.csv --where view=strict --estimand adherence --cluster scenario
\b
running.jsonl holds one trial a line, in the order in which they came:
  {"id": "q17", "score": 1}
with "model", "metric" and other columns if you have them. Any log that score reads will do.
\b
The interval holds at every look at once, with no plan of looks. An e-value is given of single
trials of 0 or 1 alone: where tasks are tried several times a step is the mean of a task, which has
an interval but no e-value. With --planned, p-values are held against a boundary for looks that
were planned as well: a study that keeps to its plan may stop sooner by them. The p is the binomial
one of single trials of 0 or 1, Gaffke's of other steps (the binomial one extended to scores in
[0, 1]), and that of sign flips with --compare. The interval errs with --alpha, the boundary with
about --alpha: say in advance which of them stops the study.
"""
_SHOWN, _LOG_MOST = 8, 700.0
_P_OF = {
    "binomial": "exact binomial:",
    "bounded-mean": "mean of scores in [0, 1] (Gaffke):",
    "sign-flip": "sign flips of differences:",
}


@click.command(epilog=_EPILOG)
@read_options
@click.option("--compare", "levels", nargs=2, help="Two levels, first minus second, by cluster.")
@click.option("--factor", help="The column that they are levels of [found by the levels].")
@click.option("--cluster", help="What one step is; row: trials as they are [the id].")
@click.option("--order", help="The column by which trials came [the order of the file].")
@click.option("--estimand", help="A success among which trials: needed for codes of a scheme.")
@click.option("--null", type=float,
              help="A rate to bet against; e-value and anytime p if no task repeats.")  # fmt: skip
@click.option("--alternative", type=click.Choice(get_args(Alternative)),
              help="Which rates the e-value bets on [two-sided].")  # fmt: skip
@click.option("--alpha", type=float, default=0.05, help="Of each statement, at all looks [0.05].")
@click.option("--planned", type=int, help="Planned number of clusters, for planned looks.")
@click.option("--looks", type=int, help="Planned looks, at equal shares [3].")
@click.option("--boundary", type=click.Choice(get_args(BoundaryKind)),
              help="Shape of the boundary, or how alpha is spent [obrien-fleming].")  # fmt: skip
@click.option("--method", help="The interval: see simtrack methods sequential "
              "[confidence-sequence, or betting-sequence].")  # fmt: skip
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
              help="What the method takes besides, as tuned_at=200.")  # fmt: skip
@click.option("--figure", type=click.Path(dir_okay=False), help="Draw to a .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def monitor(
    logs: tuple[str, ...],
    reading: LogOptions,
    levels: tuple[str, str] | None,
    factor: str | None,
    order: str | None,
    estimand: str | None,
    null: float | None,
    alternative: Alternative | None,
    alpha: float,
    planned: int | None,
    looks: int | None,
    boundary: BoundaryKind | None,
    method: str | None,
    options: tuple[str, ...],
    figure: str | None,
    as_json: bool,
) -> None:
    """Say what the trials in LOGS allow to be said now, at every look at once."""
    from simtrack.analysis.monitor import monitor as compute

    if figure:
        a_figure(figure)
    found = compute(
        read_records(logs, reading), levels=levels or None, factor=factor,
        cluster=reading.cluster, order=order, estimand=estimand, null=null,
        alternative=alternative, alpha=alpha, planned=planned, looks=looks, boundary=boundary,
        method=method, options=method_options(options),
    )  # fmt: skip
    if figure:
        _draw(found, figure)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    else:
        _show(found)
        if figure:
            print(f"Figure: {figure}")


def _show(found: Monitor) -> None:
    from simtrack.analysis.monitor_words import REPEATED
    from simtrack.report.table import Table, number

    s = found.sequence
    title = found.what
    if found.levels:
        of = "" if title == "difference" else f"{title}, "
        title = f"{of}{found.levels[0]} minus {found.levels[1]}"
    rows: list[tuple[str, ...]] = []
    evidence = found.evidence
    at_first = evidence.rejected_at(s.alpha) if evidence is not None else found.null_left_at()
    shown = _chosen(len(s), at_first)
    for k in shown:
        cells: tuple[str, ...] = (
            str(s.trials[k]),
            number(s.mean[k]),
            number(s.low[k]),
            number(s.high[k]),
        )
        if evidence is not None:
            at = int(s.trials[k]) - 1
            log_e = float(evidence.log_e[at])
            e = f"{math.exp(log_e):.4g}" if log_e < _LOG_MOST else f"e^{log_e:.0f}"
            cells += (e, f"{evidence.pvalue[at]:.4g}")
        rows.append(cells)
    steps = "trials" if found.unit == "row" else f"{found.unit}s"
    heads: tuple[str, ...] = (steps, "so far", "low", "high")
    heads += ("e-value", "anytime p") if evidence is not None else ()
    Table(f"{title}, {100 * (1 - s.alpha):g} % at all looks together:", heads, rows).show()
    print(_read(len(shown), len(s), steps))
    if evidence is not None:
        print(f"An e-value of {1 / s.alpha:g} (1/alpha) rejects the null for good, whenever it is "
              "reached.")  # fmt: skip
        told = f"rejected at trial {at_first}" if at_first else "not rejected so far"
        print(f"Null {found.null:g} ({evidence.alternative}): {told}.")
    elif found.null is not None:
        told = (
            f"outside the interval since {steps[:-1]} {at_first}"
            if at_first
            else ("within the interval so far")
        )
        print(f"Null {found.null:g} (no e-value): {told}.")
    if found.plan is not None:
        print()
        looks: list[tuple[str, ...]] = [
            (str(x.clusters), f"{x.nominal:.4g}", "–" if x.pvalue is None else f"{x.pvalue:.4g}",
             _said(x, x is found.looks[-1]))
            for x in found.looks
        ]  # fmt: skip
        Table(f"Planned looks, {found.plan.kind}, p: {_P_OF[found.looks_method or '']}",
              (steps, "p must reach", "p", "says"), looks, frozenset(("says",))).show()  # fmt: skip
    if found.left_out:
        print(f"Left out: {found.left_out} trials or pairs without a score")
    for note in found.notes:
        print(f"Warning: {note}" if note == REPEATED else f"Note: {note}")


def _said(look: Look, last: bool) -> str:
    if look.crossed:
        return "stop"
    if look.pvalue is None:
        return "to come"
    return "end, not reached" if last else "go on"


def _read(shown: int, steps: int, unit: str) -> str:
    some = f"{shown} of {steps} {unit} are shown (all: --json); " if shown < steps else ""
    return f"{some}low and high are the narrowest so far (running intersections)."


def _chosen(n: int, also: int | None = None) -> list[int]:
    """Show the first, the last, and some between; and the step that told most."""
    if n <= _SHOWN:
        return list(range(n))
    spread = {round(k * (n - 1) / (_SHOWN - 1)) for k in range(_SHOWN)}
    return sorted(spread | ({also - 1} if also else set()))


def _draw(found: Monitor, figure: str) -> None:
    from simtrack.plots import monitor_plot, save_figure

    s = found.sequence
    drawn = monitor_plot(
        s.trials, s.mean, s.low, s.high, what=found.what,
        unit="trials" if found.unit == "row" else f"{found.unit}s", null=found.null,
        alpha=s.alpha, looks=[x.clusters for x in found.looks],
    )  # fmt: skip
    save_figure(drawn, figure)
