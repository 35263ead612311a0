"""`simtrack monitor`: what may be said of a running study, however often one looks?"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, get_args

import click

from simtrack.cli.parsing import a_figure
from simtrack.cli.reading import read_options, read_records
from simtrack.options import Alternative, BoundaryKind

if TYPE_CHECKING:
    from simtrack.analysis.monitor import Look, Monitor

_EPILOG = """\b
Examples:
  simtrack monitor running.jsonl --metric acc --null 0.5 --figure band.png
  simtrack monitor a.eval b.eval --compare model-a model-b --planned 60 --looks 3
\b
The interval holds at every look at once, with no plan of looks. With --planned, a boundary for
looks that were planned is held against p-values as well: narrower, if you keep to the plan. Each
of both errs with --alpha; say in advance which of them stops the study.
"""
_SHOWN, _LOG_MOST = 8, 700.0


@click.command(epilog=_EPILOG)
@read_options
@click.option("--compare", "levels", nargs=2, help="Two levels, first minus second, by cluster.")
@click.option("--factor", help="The column that they are levels of [found by the levels].")
@click.option("--cluster", help="What one step is; row: trials as they are [the id].")
@click.option("--order", help="The column by which trials came [the order of the file].")
@click.option("--null", type=float, help="A rate to bet against: e-value and anytime p.")
@click.option("--alternative", type=click.Choice(get_args(Alternative)), default="two-sided",
              help="Which rates are bet on [two-sided].")  # fmt: skip
@click.option("--alpha", type=float, default=0.05, help="Of each statement, at all looks [0.05].")
@click.option("--planned", type=int, help="Planned number of clusters, for planned looks.")
@click.option("--looks", type=int, default=3, help="Planned looks, at equal shares [3].")
@click.option("--boundary", type=click.Choice(get_args(BoundaryKind)), default="obrien-fleming",
              help="Shape of the boundary, or how alpha is spent [obrien-fleming].")  # fmt: skip
@click.option("--figure", type=click.Path(dir_okay=False), help="Draw to a .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def monitor(logs: tuple[str, ...], as_json: bool, figure: str | None, **given: Any) -> None:
    """Say what the trials in LOGS allow to be said now, at every look at once."""
    from simtrack.analysis.monitor import monitor as compute

    if figure:
        a_figure(figure)
    found = compute(
        read_records(logs, given), levels=given["levels"] or None,
        **{name: given[name] for name in _PASSED},
    )  # fmt: skip
    if figure:
        _draw(found, figure)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    else:
        _show(found)
        if figure:
            print(f"Figure: {figure}")


_PASSED = ("factor", "cluster", "order", "null", "alternative", "alpha", "planned", "looks",
           "boundary")  # fmt: skip


def _show(found: Monitor) -> None:
    from simtrack.report.table import Table, number

    s = found.sequence
    title = found.what if not found.levels else f"{found.levels[0]} minus {found.levels[1]}"
    rows: list[tuple[str, ...]] = []
    evidence = found.evidence
    for k in _chosen(len(s)):
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
    if evidence is not None:
        at_first = evidence.rejected_at(s.alpha)
        told = f"rejected at trial {at_first}" if at_first else "not rejected so far"
        print(f"Null {found.null:g} ({evidence.alternative}): {told}.")
    if found.plan is not None:
        print()
        looks: list[tuple[str, ...]] = [
            (str(x.clusters), f"{x.nominal:.4g}", "–" if x.pvalue is None else f"{x.pvalue:.4g}",
             _said(x, x is found.looks[-1]))
            for x in found.looks
        ]  # fmt: skip
        Table(f"Planned looks, {found.plan.kind}:",
              (steps, "p must reach", "p", "says"), looks, frozenset(("says",))).show()  # fmt: skip
    if found.left_out:
        print(f"Left out: {found.left_out} trials or pairs without a score")
    for note in found.notes:
        print(f"Note: {note}")


def _said(look: Look, last: bool) -> str:
    if look.crossed:
        return "stop"
    if look.pvalue is None:
        return "to come"
    return "end, not reached" if last else "go on"


def _chosen(n: int) -> list[int]:
    """Show the first, the last, and some between."""
    if n <= _SHOWN:
        return list(range(n))
    return sorted({round(k * (n - 1) / (_SHOWN - 1)) for k in range(_SHOWN)})


def _draw(found: Monitor, figure: str) -> None:
    from simtrack.plots import monitor_plot, save_figure

    s = found.sequence
    drawn = monitor_plot(
        s.trials, s.mean, s.low, s.high, what=found.what,
        unit="trials" if found.unit == "row" else f"{found.unit}s", null=found.null,
        alpha=s.alpha, looks=[x.clusters for x in found.looks],
    )  # fmt: skip
    save_figure(drawn, figure)
