"""`simtrack score`: rates, intervals and paired comparisons from logs you already have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import click

from simtrack.cli.parsing import assignments, one_output
from simtrack.errors import InputError
from simtrack.options import MissingCluster, Status

if TYPE_CHECKING:
    from simtrack.analysis import Comparison, Estimate
    from simtrack.analysis.score import MetricScore, Score
    from simtrack.counts import Loss
    from simtrack.records import Records
    from simtrack.report.table import Table

_EPILOG = """\b
Examples:
  simtrack score run.eval
  simtrack score logs/*.eval --by model --cluster id --metric stage.clean
  simtrack score a.eval b.eval --compare openai/gpt-4o anthropic/claude
  simtrack score trials.csv --map cluster=task_id --map value=correct --by arm
\b
Formats are told from the content: Inspect .eval and .json, JSON lines, CSV.
--map PART=COLUMN names the columns of a table: value, unit, cluster, repetition, model,
arm, or any label. planned = scored + every kind of loss, always.
"""
_MOST_LOSSES = 8
#: Exact p-values with a larger denominator are shown as decimals only.
_SHORT = 10**7


@click.command(epilog=_EPILOG)
@click.argument("logs", nargs=-1, required=True)
@click.option("--by", multiple=True, help="Group by this column (repeatable, or comma-separated).")
@click.option("--cluster", help="The resampling unit: id, scenario, ... [cluster, else the id].")
@click.option("--metric", "metrics", multiple=True, help="Only this metric: scorer or scorer.key.")
@click.option("--compare", "levels", nargs=2, help="Two levels, first minus second, paired by id.")
@click.option("--factor", help="The column that they are levels of [found by the levels].")
@click.option(
    "--where",
    multiple=True,
    metavar="COL=LEVEL",
    help="Only trials with this label (repeatable; LEVEL|LEVEL).",
)
@click.option("--map", "columns", multiple=True, metavar="PART=COL",
              help="Columns of a table (repeatable).")  # fmt: skip
@click.option(
    "--score", "values", multiple=True, metavar="TEXT=NUM", help="What a score stands for."
)
@click.option("--estimand", help="A named estimand, such as adherence [the plain rate].")
@click.option("--level", type=float, default=0.95, help="Confidence level [0.95].")
@click.option("--method", help="Interval by name: see simtrack methods rate [wilson-clustered].")
@click.option("--icc", type=float, help="Intracluster correlation where clusters show no spread.")
@click.option(
    "--missing-cluster", type=click.Choice(get_args(MissingCluster)), default="refuse",
    help="Scored trials without a cluster label [refuse].",
)  # fmt: skip
@click.option(
    "--skip-refused", is_flag=True, help="Note files that cannot be read; score the rest."
)
@click.option("--summaries", is_flag=True, help="Read Inspect's summaries only: faster, thinner.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rates as CSV.")
def score(logs: tuple[str, ...], as_json: bool, as_csv: bool, **given: Any) -> None:
    """Score LOGS: files, folders or globs. Where did every planned trial go; what are the rates?

    Rates carry Wilson's interval on the effective sample size with t(G-1), so repeated trials of
    one task are not counted as independent. A comparison is paired by cluster, with a cluster t
    interval and an exact sign-flip p-value.
    """
    from simtrack.analysis.score import score as compute

    one_output(json=as_json, csv=as_csv)
    if as_csv and given["levels"]:
        raise InputError("--csv", "used without --compare", cure="Use --json for both.")
    found = compute(
        _records(logs, given),
        by=[name.strip() for text in given["by"] for name in text.split(",") if name.strip()],
        cluster=given["cluster"],
        estimand=given["estimand"],
        levels=given["levels"] or None,
        factor=given["factor"],
        level=given["level"],
        method=given["method"],
        icc=given["icc"],
        missing_cluster=given["missing_cluster"],
    )
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    elif as_csv:
        print(_csv(found), end="")
    else:
        _show(found)


def _records(logs: tuple[str, ...], given: dict[str, Any]) -> Records:
    from simtrack.analysis.score import find_factor
    from simtrack.logs import read_logs

    records = read_logs(
        logs,
        map=assignments("--map", given["columns"]) or None,
        metric=list(given["metrics"]) or None,
        scores={k: _number(k, v) for k, v in assignments("--score", given["values"]).items()},
        detail="summaries" if given["summaries"] else "samples",
        skip_refused=given["skip_refused"],
    )
    for name, label in assignments("--where", given["where"]).items():
        records = records.select(**{find_factor(records, name): label.split("|")})
    return records


def _number(text: str, value: str) -> float | None:
    if value.lower() in {"", "none", "unscored"}:
        return None
    try:
        return float(value)
    except ValueError:
        raise InputError("--score", "TEXT=NUMBER or TEXT=unscored", f"{text}={value}") from None


def _show(found: Score) -> None:
    for part in found.metrics:
        _table(found, part).show()
        if part.comparison is not None:
            print()
            _show_comparison(part.comparison)
        print()
    interval = found.metrics[0].estimates
    print(
        f"{100 * interval.level:g} % intervals; clusters: {found.cluster}; deff is the design "
        "effect; se (naive) treats trials as independent."
    )
    _show_losses(found)
    for note in _notes(found):
        print(f"Note: {note}")


def _show_losses(found: Score) -> None:
    """Say what was left out, once for each metric, kind and reason, most first."""
    merged: dict[tuple[str, str, str], list[Loss]] = {}
    for loss in found.losses:
        metric = dict(loss.where).get("metric", "") if len(found.metrics) > 1 else ""
        merged.setdefault((metric, loss.kind, loss.reason), []).append(loss)
    rows = sorted(merged.items(), key=lambda row: -sum(x.n for x in row[1]))
    for (metric, kind, reason), losses in rows[:_MOST_LOSSES]:
        n = sum(x.n for x in losses)
        groups = ["/".join(v for k, v in x.where if k in found.by) for x in losses if set(found.by)]
        where = f" [{', '.join(dict.fromkeys(filter(None, groups)))}]" if any(groups) else ""
        examples = [e for x in losses for e in x.examples]
        shown = f" ({', '.join(examples[:3])}{', …' if n > 3 else ''})" if examples else ""
        head = f"{metric}: " if metric else ""
        print(f"Left out: {head}{n} {kind}: {reason}{where}{shown}")
    if len(rows) > _MOST_LOSSES:
        rest = rows[_MOST_LOSSES:]
        n = sum(x.n for _, losses in rest for x in losses)
        print(f"Left out: {n} more for {len(rest)} other reasons (--json)")


def _table(found: Score, part: MetricScore) -> Table:
    from simtrack.report.table import Table, number

    statuses = [s for s in get_args(Status) if part.accounting.total(s) or s == "scored"]
    accounts = {row.labels: row for row in part.accounting.rows}
    what = "rate" if part.estimates.estimand != "mean score" else "mean"
    heads = (*found.by, "planned", *statuses, "clusters", what, "low", "high", "se (naive)",
             "se (cluster)", "deff")  # fmt: skip
    rows = []
    estimates = {row.labels: row for row in part.estimates.rows}
    for labels, kept in accounts.items():
        row = estimates.get(labels)
        rows.append((
            *labels, str(kept.planned), *(str(kept.n(s)) for s in statuses),
            *(_rate_cells(row, number) if row else ("0", "–", "–", "–", "–", "–", "–")),
        ))  # fmt: skip
    for loss in part.accounting.unplaced:
        blank = ("(unplaced)",) + ("",) * (len(found.by) - 1) if found.by else ()
        rows.append((
            *blank, str(loss.n), *(str(loss.n) if s == loss.kind else "0" for s in statuses),
            "", "", "", "", "", "", "",
        ))  # fmt: skip
    title = part.metric or part.estimates.estimand
    return Table(f"{title}:", heads, rows, frozenset(found.by))


def _rate_cells(row: Estimate, number: Any) -> tuple[str, ...]:
    return (
        str(row.clusters),
        number(row.rate),
        number(row.low),
        number(row.high),
        number(row.naive_se),
        number(row.clustered_se),
        number(row.design_effect, 2),
    )


def _show_comparison(found: Comparison) -> None:
    from simtrack.report.table import number

    p = found.paired
    ends = "no interval" if p.low is None else f"{p.low:+.4f} to {p.high:+.4f}"
    print(f"{found.a} minus {found.b}, paired by {found.cluster}:")
    print(f"  difference {_signed(p.difference)} ({ends}), se {number(p.se)}, "
          f"mean over {p.clusters} clusters that have both")  # fmt: skip
    print(f"  sign-flip p {_chance(found)}")
    print(f"  pooled over trials {_signed(p.pooled_difference)}, se {number(p.pooled_se)}; "
          f"se without pairing {number(p.unpaired_se)}")  # fmt: skip


def _chance(found: Comparison) -> str:
    test = found.paired.test
    if found.pvalue is None or test is None:
        return "refused (see the notes)"
    shown = f"{found.pvalue:.6g}"
    if test.exact is None:
        return f"{shown} (Monte Carlo, standard error {test.mcse or 0.0:.1g})"
    short = f" = {test.exact}" if test.exact.denominator <= _SHORT else ""
    return f"{shown}{short} (exact; no smaller than {float(test.floor):.2g} is possible)"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def _notes(found: Score) -> list[str]:
    """List the notes: those of the source, then those of groups, equal ones together."""
    groups: dict[str, list[str]] = {}
    total = sum(len(part.estimates.rows) for part in found.metrics)
    for part in found.metrics:
        head = [part.metric] if part.metric and len(found.metrics) > 1 else []
        for row in part.estimates.rows:
            for note in row.notes:
                groups.setdefault(note, []).append("/".join((*head, *row.labels)))
        if part.comparison is not None:
            for note in part.comparison.notes:
                groups.setdefault(f"comparison: {note}", []).extend(head)
    told = []
    for note, names in groups.items():
        some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        everywhere = len(names) in {0, total} or not any(names)
        told.append(note if everywhere else f"{note} [{some}]")
    return [*dict.fromkeys(found.notes), *told]


def _csv(found: Score) -> str:
    from simtrack.report.table import Table

    heads = ("metric", *found.by, "planned", *get_args(Status), "clusters", "n", "rate", "low",
             "high", "naive_se", "clustered_se", "design_effect", "effective_n")  # fmt: skip
    rows = []
    for part in found.metrics:
        estimates = {row.labels: row for row in part.estimates.rows}
        for kept in part.accounting.rows:
            row = estimates.get(kept.labels)
            values = [getattr(row, h, None) for h in heads[len(found.by) + 2 + 8 :]]
            cells = ("" if v is None else str(v) for v in values)
            rows.append((part.metric, *kept.labels, str(kept.planned),
                         *map(str, kept.counts), *cells))  # fmt: skip
    return Table("", heads, rows).csv()
