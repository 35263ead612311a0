"""`simtrack score --scheme`: replies scored by a scheme of the papers, as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from simtrack.cli.reading import LogOptions
from simtrack.cli.reply_reading import read_asked_replies
from simtrack.cli.table_parts import counted, refuse_ending, refuse_overwriting, tell
from simtrack.options import Turns

if TYPE_CHECKING:
    from simtrack.analysis.scheme_score import SchemeScore
    from simtrack.records import Records

__all__ = ["SchemeOptions", "score_by_scheme"]

_SHOWN_NOTES = 12


@dataclass(frozen=True, slots=True)
class SchemeOptions:
    """How replies are scored, as it was typed."""

    scheme: str
    turns: Turns
    protocol: str | None
    output: str | None
    level: float
    icc: float | None


def score_by_scheme(
    logs: tuple[str, ...], reading: LogOptions, asked: SchemeOptions, as_json: bool
) -> None:
    """Score the replies of the logs, print the report, and write the scored table if asked."""
    from simtrack.analysis.scheme_score import score_replies
    from simtrack.logs import TRIAL_SUFFIXES, write_trials

    aside: tuple[str, ...] = ()
    if asked.output:
        refuse_ending(asked.output, TRIAL_SUFFIXES)
        aside = refuse_overwriting(asked.output, logs)
    found, tables = score_replies(
        read_asked_replies(logs, reading, asked.turns, aside),
        asked.scheme,
        protocol=asked.protocol,
        by=reading.groups,
        cluster=reading.cluster,
        level=asked.level,
        icc=asked.icc,
        missing_cluster=reading.missing_cluster,
    )
    written = _placed(asked.output, tables, logs) if asked.output else {}
    for path, name in written.items():
        write_trials(tables[name], path)
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
        return
    _show(found)
    for path, name in written.items():
        print(f"Scored table, {name} by {name}: {path}")
    if asked.output and written:
        print(f"Read it: {_reading(asked.output, found, next(iter(tables.values())))}")


def _placed(output: str, tables: Mapping[str, Records], logs: tuple[str, ...]) -> dict[str, str]:
    """Name a file for every table: the first as asked, the others beside it."""
    first, *others = tables
    target = Path(output)
    beside = {str(target.with_suffix(f".{name}{target.suffix}")): name for name in others}
    for path in beside:
        refuse_overwriting(path, logs)
    return {output: first} | beside


def _reading(output: str, found: SchemeScore, table: Records) -> str:
    """Say how another verb reads the table: its codes belong to the estimands of the scheme.

    It is grouped as here, by name: a flag that a scheme calls `task` tells no tasks apart.
    """
    by = ",".join(found.by) or ("source" if "source" in table.factors else "")
    name = found.rows[0].estimand if found.rows else found.scheme
    told = f" --by {quote(by)}" if by else ""
    return f"simtrack score {quote(output)} --estimand {name} --cluster {found.cluster}{told}"


def _show(found: SchemeScore) -> None:
    from simtrack.cli.scheme_tables import account_lines, code_lines, estimand_lines, row_notes

    for lay_out in (account_lines, code_lines, estimand_lines):
        table, more = lay_out(found)
        table.show()
        print(f"({more})\n" if more else "")
    print(f"{100 * found.level:g} % intervals; clusters: {found.cluster}.")
    for name, why in found.left_out.items():
        tell("Left out", f"{name} {why}")
    notes = [*found.notes, *row_notes(found.rows)]
    for note in notes[:_SHOWN_NOTES]:
        tell("Note", note)
    if len(notes) > _SHOWN_NOTES:
        print(f"Note: {counted(len(notes) - _SHOWN_NOTES, 'more note')} (--json)")
