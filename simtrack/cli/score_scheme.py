"""`simtrack score --scheme`: replies scored by a scheme of the papers, as text or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

from simtrack.cli.reading import split_names
from simtrack.cli.reply_reading import read_asked_replies
from simtrack.cli.table_parts import refuse_ending, refuse_overwriting
from simtrack.errors import InputError
from simtrack.options import Status

if TYPE_CHECKING:
    from simtrack.analysis.scheme_score import SchemeScore

__all__ = ["score_by_scheme"]

#: Options of `score` that are answered from a scored table, not from replies.
_NOT_HERE = {"metrics": "--metric", "levels": "--compare", "factor": "--factor",
             "estimand": "--estimand", "method": "--method", "ks": "--pass-k",
             "sensitivity": "--sensitivity", "summaries": "--summaries"}  # fmt: skip
_SHOWN_NOTES = 12


def score_by_scheme(logs: tuple[str, ...], given: dict[str, Any], as_json: bool) -> None:
    """Score the replies of the logs, print the report, and write the scored table if asked."""
    from simtrack.analysis.scheme_score import score_replies
    from simtrack.logs import TRIAL_SUFFIXES, write_trials

    for name, option in _NOT_HERE.items():
        if given.get(name):
            cure = "Write the scored table with -o FILE, and give that to score or test."
            raise InputError(option, "left out with --scheme", cure=cure)
    if given["missing"] != "drop":
        cure = "Write the scored table with -o FILE, and give that to score with --missing."
        raise InputError("--missing", "left out with --scheme", given["missing"], cure=cure)
    aside: tuple[str, ...] = ()
    if given["output"]:
        refuse_ending(given["output"], TRIAL_SUFFIXES)
        aside = refuse_overwriting(given["output"], logs)
    found, tables = score_replies(
        read_asked_replies(logs, given, leave_out=aside),
        given["scheme"],
        protocol=given["protocol"],
        by=split_names(given["by"]),
        cluster=given["cluster"],
        level=given["level"],
        icc=given["icc"],
        missing_cluster=given["missing_cluster"],
    )
    if given["output"]:
        write_trials(next(iter(tables.values())), given["output"])
    if as_json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
        return
    _show(found)
    if given["output"]:
        print(f"Scored table: {given['output']}")


def _show(found: SchemeScore) -> None:
    from simtrack.report.table import Table, number

    accounts = found.accounting
    statuses = [s for s in get_args(Status) if accounts.total(s) or s == "scored"]
    rows: list[tuple[str, ...]] = [
        (*r.labels, str(r.planned), *(str(r.n(s)) for s in statuses)) for r in accounts.rows
    ]
    for loss in accounts.unplaced:
        blank = ("(unplaced)",) + ("",) * (len(found.by) - 1) if found.by else ()
        rows.append((*blank, str(loss.n), *(str(loss.n) if s == loss.kind else "0"
                                            for s in statuses)))  # fmt: skip
    heads = (*found.by, "planned", *statuses)
    Table(f"{found.scheme}: where every planned reply went", heads, rows,
          frozenset(found.by)).show()  # fmt: skip
    table = found.composition
    print()
    cells = [(*labels, *map(str, counts))
             for labels, counts in zip(table.labels, table.counts, strict=True)]  # fmt: skip
    Table("Codes:", (*table.by, *table.codes), cells, frozenset(table.by)).show()
    print()
    heads = ("estimand", "symbol", *found.by, "n", "of", "estimate", "low", "high", "clusters",
             "sign-flip p")  # fmt: skip
    lines = [
        (r.estimand, r.symbol, *r.labels, _whole(r.numerator), _whole(r.denominator),
         number(r.estimate), number(r.low), number(r.high), str(r.clusters),
         "–" if r.pvalue is None else f"{r.pvalue:.4g}")
        for r in found.rows
    ]  # fmt: skip
    Table("Estimands:", heads, lines, frozenset(("estimand", "symbol", *found.by))).show()
    print()
    print(f"{100 * found.level:g} % intervals; clusters: {found.cluster}.")
    for name, why in found.left_out.items():
        print(f"Left out: {name} {why}")
    notes = [*found.notes, *_row_notes(found)]
    for note in notes[:_SHOWN_NOTES]:
        print(f"Note: {note}")
    if len(notes) > _SHOWN_NOTES:
        print(f"Note: {len(notes) - _SHOWN_NOTES} more notes (--json)")


def _whole(value: int | None) -> str:
    return "–" if value is None else str(value)


def _row_notes(found: SchemeScore) -> list[str]:
    """Gather equal notes of rows, and name the rows."""
    names: dict[str, list[str]] = {}
    for row in found.rows:
        for note in row.notes:
            names.setdefault(note, []).append("/".join((row.estimand, *row.labels)))
    return [
        f"{note} [{', '.join(rows[:3])}{', …' if len(rows) > 3 else ''}]"
        for note, rows in names.items()
    ]
