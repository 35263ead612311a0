"""`simtrack score`: rates, intervals and paired comparisons from logs you already have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

import click

from simtrack.cli.parsing import method_options, one_output
from simtrack.cli.reading import LogOptions, log_options, read_records, strict_option
from simtrack.cli.reply_reading import SCHEMES_OFFERED, TURNS_OPTION, example_option
from simtrack.cli.score_parts import (
    comparison_text,
    not_estimable,
    pass_table,
    sensitivity_table,
)
from simtrack.cli.score_scheme import SchemeOptions, score_by_scheme
from simtrack.cli.table_parts import codes_of, folded_notes, tell
from simtrack.errors import Finding, InputError
from simtrack.note import Note
from simtrack.options import MissingPolicy, Status, Turns

if TYPE_CHECKING:
    from simtrack.analysis import Estimate, SensitivityRow
    from simtrack.analysis.score import MetricScore, Score
    from simtrack.counts import Loss
    from simtrack.report.table import Table

_EPILOG = """\b
Examples:
  simtrack score run.eval
  simtrack score logs/*.eval --by model --cluster id --metric stage.clean
  simtrack score a.eval b.eval --compare openai/gpt-4o anthropic/claude
  simtrack score run.eval --missing as-failure --sensitivity
  simtrack score trials.csv --map cluster=task_id --map value=correct --by arm
  simtrack score run.eval --scheme stageif --protocol protocol.toml -o scored.csv
  simtrack score --scheme stageif --example > protocol.toml
\b
Formats are told from the content: Inspect .eval and .json, JSON lines, CSV.
--map PART=COLUMN names the columns of a table: value, unit, cluster, repetition, model,
arm, or any label. planned = scored + every kind of loss, always.
"""
_MOST_LOSSES = 8
#: What --missing counts as a failure or a success.
_IMPUTED = frozenset({"unscored", "errored", "limited", "infrastructure", "missing"})


@click.command(epilog=_EPILOG)
@log_options
@click.option("--compare", "levels", nargs=2, help="Two levels, first minus second, paired by id.")
@click.option("--factor", help="The column that they are levels of [found by the levels].")
@click.option("--estimand", help="A named estimand, such as adherence [the plain rate].")
@click.option("--level", type=float, default=0.95, help="Confidence level [0.95].")
@click.option("--method", help="Interval by name: see simtrack methods rate [bounded-mean].")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE",
              help="What the method takes besides, as prior=0.5,0.5.")  # fmt: skip
@click.option(
    "--icc", type=float, help="Intracluster correlation to assume, as wilson-guarded does."
)
@click.option(
    "--missing", type=click.Choice(get_args(MissingPolicy)), default="drop",
    help="What a planned trial without a score counts as [drop].",
)  # fmt: skip
@click.option("--sensitivity", is_flag=True, help="Show all these policies side by side.")
@click.option("--pass-k", "ks", metavar="K,K", help="Show pass@k and pass^k, as for 1,2,4.")
@click.option(
    "--scheme", type=click.Choice(SCHEMES_OFFERED), default="plain",
    help="Score the replies themselves by a scheme of the papers [plain: the log's verdicts].",
)  # fmt: skip
@TURNS_OPTION
@click.option(
    "--protocol", type=click.Path(dir_okay=False), metavar="FILE",
    help="How replies are read and what is right, TOML or JSON [the paper's; see --example].",
)  # fmt: skip
@example_option()
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE",
              help="With --scheme: write the scored table: .csv, .jsonl or .parquet.")  # fmt: skip
@strict_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rates as CSV.")
def score(
    logs: tuple[str, ...],
    reading: LogOptions,
    levels: tuple[str, str] | None,
    factor: str | None,
    estimand: str | None,
    level: float,
    method: str | None,
    options: tuple[str, ...],
    icc: float | None,
    missing: MissingPolicy,
    sensitivity: bool,
    ks: str | None,
    scheme: str,
    turns: Turns,
    protocol: str | None,
    output: str | None,
    strict: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Score LOGS: files, folders or globs. Where did every planned trial go; what are the rates?

    Rates of scores in [0, 1] carry the bounded-mean interval of clusters, so repeated trials of one
    task are not counted as independent. A comparison is the sign-flip test of `simtrack test`,
    paired by cluster.
    """
    from simtrack.analysis.score import score as compute

    one_output(json=as_json, csv=as_csv)
    levels = levels or None
    if scheme != "plain":
        _refuse({
            "--csv": as_csv, "--strict": strict, "--metric": reading.metrics, "--compare": levels,
            "--factor": factor, "--estimand": estimand, "--method": method, "--option": options,
            "--pass-k": ks,
            "--sensitivity": sensitivity, "--summaries": reading.summaries,
            "--missing": missing != "drop",
        })  # fmt: skip
        score_by_scheme(logs, reading, SchemeOptions(scheme, turns, protocol, output, level, icc),
                        as_json)  # fmt: skip
        return
    for name, value in (("protocol", protocol), ("output", output)):
        if value:
            raise InputError(f"--{name}", "used with --scheme", cure="Name one, as stageif.")
    if as_csv and (levels or sensitivity or ks or missing == "bounds"):
        raise InputError("--csv", "used for rates alone", cure="Use --json for everything.")
    found = compute(
        read_records(logs, reading),
        by=reading.groups or reading.by,
        cluster=reading.cluster,
        estimand=estimand,
        levels=levels,
        factor=factor,
        level=level,
        method=method,
        options=method_options(options),
        icc=icc,
        missing_cluster=reading.missing_cluster,
        missing=missing,
        sensitivity=sensitivity,
        pass_k=_whole_numbers(ks),
    )
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    elif as_csv:
        print(_csv(found), end="")
    else:
        _show(found)
    if strict and (lacking := not_estimable(found)):
        raise Finding(f"--strict: not estimable: {'; '.join(lacking)}.")


def _refuse(asked: Mapping[str, object]) -> None:
    """Refuse what is answered from a scored table, not from replies."""
    cures = {
        "--csv": "Use --json, or -o FILE.csv.",
        "--strict": "",
        "--missing": "Write the scored table with -o FILE, and give that to score with "
                     "--estimand NAME.",
    }  # fmt: skip
    usual = ("Write the scored table with -o FILE, and give that to score or test with "
             "--estimand NAME and --where view=LEVEL.")  # fmt: skip
    for option, value in asked.items():
        if value:
            raise InputError(option, "left out with --scheme", cure=cures.get(option, usual))


def _whole_numbers(text: str | None) -> list[int]:
    try:
        return [int(k) for k in text.split(",")] if text is not None else []
    except ValueError:
        raise InputError("--pass-k", "whole numbers with commas between", repr(text)) from None


def _show(found: Score) -> None:
    for part in found.metrics:
        _table(found, part).show()
        if part.sensitivity is not None and found.missing != "bounds":
            print()
            sensitivity_table(part.sensitivity).show()
        if part.pass_k:
            print()
            pass_table(found.by, part.pass_k).show()
        if part.comparison is not None:
            print()
            print(comparison_text(part.comparison))
        print()
    interval = found.metrics[0].estimates
    print(
        f"{100 * interval.level:g} % intervals; clusters: {found.cluster}; deff is the design "
        "effect; se (naive) treats trials as independent."
    )
    _show_losses(found)
    for note in _notes(found):
        tell("Note", note)


def _bound_cells(row: SensitivityRow, number: Any) -> tuple[str, ...]:
    rate = row.rate("bounds")
    ends = f"{number(rate.rate_low)} to {number(rate.rate_high)}"
    return (str(row.clusters_planned), ends, number(rate.low), number(rate.high), *("–",) * 3)


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
        counted = found.missing != "drop" and kind in _IMPUTED
        tell("No score" if counted else "Left out", f"{head}{n} {kind}: {reason}{where}{shown}")
    if len(rows) > _MOST_LOSSES:
        rest = rows[_MOST_LOSSES:]
        n = sum(x.n for _, losses in rest for x in losses)
        print(f"Left out: {n} more for {len(rest)} other reasons (--json)")


def _table(found: Score, part: MetricScore) -> Table:
    from simtrack.report.table import Table, number

    statuses = [s for s in get_args(Status) if part.accounting.total(s) or s == "scored"]
    accounts = {row.labels: row for row in part.accounting.rows}
    what = "rate" if part.estimates.estimand != "mean score" else "mean"
    estimates = {row.labels: row for row in part.estimates.rows}
    # An estimand may ask about some trials only: "of" is how many.
    some = found.missing == "drop" and any(
        row.n != accounts[labels].n("scored") for labels, row in estimates.items()
    )
    of = ("of",) if some else ()
    heads = (*found.by, "planned", *statuses, *of, "clusters", what, "low", "high", "se (naive)",
             "se (cluster)", "deff")  # fmt: skip
    rows = []
    bounds = {}
    if found.missing == "bounds" and part.sensitivity is not None:
        bounds = {row.labels: row for row in part.sensitivity.rows}
    for labels, kept in accounts.items():
        row = estimates.get(labels)
        cells = _rate_cells(row, number) if row else ("0", *("–",) * 6)
        rows.append((
            *labels, str(kept.planned), *(str(kept.n(s)) for s in statuses),
            *(str(row.n if row else 0) for _ in of),
            *(_bound_cells(bounds[labels], number) if labels in bounds else cells),
        ))  # fmt: skip
    for loss in part.accounting.unplaced:
        blank = ("(unplaced)",) + ("",) * (len(found.by) - 1) if found.by else ()
        rows.append((
            *blank, str(loss.n), *(str(loss.n) if s == loss.kind else "0" for s in statuses),
            *("" for _ in of), "", "", "", "", "", "", "",
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


def _notes(found: Score) -> list[str]:
    """List the notes: those of the source, then those of groups, equal ones together."""
    groups: dict[Note, list[str]] = {}
    total = sum(len(part.estimates.rows) for part in found.metrics)
    for part in found.metrics:
        head = [part.metric] if part.metric and len(found.metrics) > 1 else []
        for row in part.estimates.rows:
            for note in row.notes:
                groups.setdefault(Note.of(note), []).append("/".join((*head, *row.labels)))
        if part.comparison is not None:
            for note in part.comparison.answer.notes:
                told_of = Note(Note.of(note).code, f"comparison: {note}")
                groups.setdefault(told_of, []).extend(head)
    return [*dict.fromkeys(found.notes), *folded_notes(groups, total)]


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
            told = codes_of(() if row is None else row.notes)
            rows.append((part.metric, *kept.labels, str(kept.planned),
                         *map(str, kept.counts), *cells, told))  # fmt: skip
    return Table("", (*heads, "notes"), rows).csv()
