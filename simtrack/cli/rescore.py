"""`simtrack rescore`: do the verdicts of a log survive another parser?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from simtrack.cli.reading import LogOptions, read_options
from simtrack.cli.reply_reading import (
    SCHEMES_OFFERED,
    TURNS_OPTION,
    example_option,
    read_asked_replies,
)
from simtrack.cli.score_parts import comparison_text
from simtrack.cli.table_parts import tell
from simtrack.errors import InputError
from simtrack.options import Turns

if TYPE_CHECKING:
    from simtrack.analysis.rescore import Rescore
    from simtrack.records import Replies

_EPILOG = """\b
Examples:
  simtrack rescore run.eval --against stage.clean
  simtrack rescore run.eval --old-protocol strict.toml --protocol fair.toml --show 50
\b
Old verdicts are those of the log, or of another protocol; new ones are the scheme's. Each changed
reply is listed; the change is tested over clusters (sign-flip) and over replies (McNemar).
"""
_WIDTH = 100
_LEGEND = (
    "Changed, old → new verdict (1 passes, 0 does not) and new outcome: reply: last line (…: cut):"
)
#: A p-value below this is too small for a float.
_LEAST = 1e-300


@click.command(epilog=_EPILOG)
@read_options
@click.option("--scheme", type=click.Choice(SCHEMES_OFFERED[1:]), default="stageif",
              help="How replies are scored anew [stageif].")  # fmt: skip
@TURNS_OPTION
@click.option("--protocol", type=click.Path(dir_okay=False), metavar="FILE",
              help="The new protocol, in TOML or JSON [the paper's].")  # fmt: skip
@example_option()
@click.option("--old-protocol", type=click.Path(dir_okay=False), metavar="FILE",
              help="Old verdicts are those of this protocol, not of the log.")  # fmt: skip
@click.option("--against", metavar="METRIC",
              help="The old verdict: a metric of the log, or a table's score column.")  # fmt: skip
@click.option("--cluster", help="The resampling unit [the scheme's].")
@click.option("--level", type=float, default=0.95, help="Confidence level [0.95].")
@click.option("--show", type=click.IntRange(0), default=10, help="Changed replies to list [10].")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def rescore(
    logs: tuple[str, ...],
    reading: LogOptions,
    scheme: str,
    turns: Turns,
    protocol: str | None,
    old_protocol: str | None,
    against: str | None,
    level: float,
    show: int,
    as_json: bool,
) -> None:
    """Hold old verdicts of the replies in LOGS against new ones."""
    from simtrack.analysis.rescore import rescore as compute

    if reading.metrics:
        cure = "The verdict of the log that is to be held: --against METRIC."
        raise InputError("--metric", "left out", cure=cure)
    replies = read_asked_replies(logs, reading, turns)
    found = compute(
        replies,
        scheme,
        against=against if old_protocol is not None else _metric(replies, against, reading),
        protocol=protocol,
        old_protocol=old_protocol,
        cluster=reading.cluster,
        level=level,
    )
    if against is not None:
        found = replace(found, against=against)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
    else:
        _show(found, show)


def _metric(replies: Replies, asked: str | None, reading: LogOptions) -> str | None:
    """Give the metric that is meant: by its name, or by the column that a table's score was in."""
    from simtrack.analysis.fit_checks import score_columns

    if asked is None or asked in replies.verdicts or "value" not in replies.verdicts:
        return asked
    mapped = reading.mapped
    named = mapped.get("value", mapped.get("outcome"))
    columns = (named,) if named else score_columns(replies.records.notes)
    if asked in columns:
        return "value"
    there = [name for name in replies.verdicts if name != "value"]
    taken = f" (taken from the column {', '.join(columns)})" if columns else ""
    rule = f"one of the log's metrics: {', '.join((*there, f'value{taken}'))}"
    raise InputError("--against", rule, repr(asked))


def _show(found: Rescore, most: int) -> None:
    from simtrack.report.table import Table, number

    heads = ("view", "replies", "old rate", "new rate", "both", "only old", "only new", "neither",
             "McNemar p")  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for row in found.rows:
        n = row.n or float("nan")
        rows.append((
            row.view, str(row.n), number((row.both + row.only_old) / n),
            number((row.both + row.only_new) / n), str(row.both), str(row.only_old),
            str(row.only_new), str(row.neither),
            f"{row.mcnemar.pvalue:.4g}" if row.mcnemar.pvalue else f"<{_LEAST:g}",
        ))  # fmt: skip
    Table(f"{found.against} (old) against {found.scheme} (new):", heads, rows,
          frozenset(("view",))).show()  # fmt: skip
    first = next((row for row in found.rows if row.changes), None)
    for row in found.rows:
        if row.without_old or row.without_new:
            where = f" [{row.view}]" if row.view else ""
            print(f"Not compared{where}: {row.without_old} replies without an old verdict, "
                  f"{row.without_new} without a new one")  # fmt: skip
        if row.comparison is not None:
            print()
            head = f"{row.view}: " if row.view else ""
            print(head + comparison_text(row.comparison))
        if most and row is first:
            print(_LEGEND)
        for change in row.changes[:most]:
            name = ", ".join(f"{k} {v}" for k, v in change.labels.items() if k != "source")
            end = ("…" if change.is_cut else "") + repr(change.last_line)
            line = f"  {change.old} → {change.new} {change.outcome}: {name}: {end}"
            print(line[:_WIDTH] + ("…" if len(line) > _WIDTH else ""))
        if len(row.changes) > most:
            print(f"  and {len(row.changes) - most} more (--show, --json)")
    for note in found.notes:
        tell("Note", note)
    print("McNemar's test takes replies as independent; the sign-flip test takes clusters.")
