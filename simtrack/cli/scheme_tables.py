"""The tables of a scheme's report, kept readable: equal readings once, many groups summed up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, get_args

from simtrack.cli.table_parts import counted
from simtrack.options import Status
from simtrack.report.table import Table, number

if TYPE_CHECKING:
    from simtrack.analysis.scheme_score import SchemeRow, SchemeScore

__all__ = ["account_lines", "code_lines", "estimand_lines", "row_notes"]

#: Lines that a table of groups has at most, and one of estimands; beyond, groups are summed up.
_MOST_LINES, _MOST_ESTIMANDS = 40, 100
_VIEW, _BOTH = "view", "both"
_FINER = ("duty", "stage")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
#: Estimands that a note names.
_NAMED = 6
Line = tuple[str, ...]


def account_lines(found: SchemeScore) -> tuple[Table, str]:
    """Lay out where the planned replies went, by group; and a line on what is not shown."""
    accounts = found.accounting
    statuses = [s for s in get_args(Status) if accounts.total(s) or s == "scored"]
    rows: list[tuple[Line, Line]] = [
        (row.labels, (str(row.planned), *(str(row.n(s)) for s in statuses)))
        for row in accounts.rows
    ]
    for loss in accounts.unplaced:
        blank = ("(unplaced)",) + ("",) * (len(found.by) - 1) if found.by else ()
        rows.append((blank, (str(loss.n), *(str(loss.n) if s == loss.kind else "0"
                                            for s in statuses))))  # fmt: skip
    lines, more = _cut(_merged(rows, found.by))
    heads = (*found.by, "planned", *statuses)
    title = f"{found.scheme}: where every planned reply went"
    return Table(title, heads, lines, frozenset(found.by)), more


def code_lines(found: SchemeScore) -> tuple[Table, str]:
    """Lay out how many replies ended in each code; without stage and duty where that is long."""
    table = found.composition
    rows = list(zip(table.labels, table.counts, strict=True))
    names = table.by
    finer = [n for n in _FINER if n in names and n not in found.by]
    if len(rows) > _MOST_LINES and finer:
        keep = [k for k, name in enumerate(names) if name not in finer]
        sums: dict[Line, list[int]] = {}
        for labels, counts in rows:
            cells = sums.setdefault(tuple(labels[k] for k in keep), [0] * len(counts))
            cells[:] = [a + b for a, b in zip(cells, counts, strict=True)]
        rows = [(labels, tuple(cells)) for labels, cells in sums.items()]
        names = tuple(names[k] for k in keep)
    made = [(labels, tuple(map(str, counts))) for labels, counts in rows]
    lines, more = _cut(_merged(made, names))
    return Table("Codes:", (*names, *table.codes), lines, frozenset(names)), more


def estimand_lines(found: SchemeScore) -> tuple[Table, str]:
    """Lay out the estimands, one line a group; their span over groups where that is long."""
    rows: list[tuple[Line, Line]] = [
        ((r.estimand, r.symbol, *r.labels), (
            _whole(r.numerator), _whole(r.denominator), number(r.estimate), number(r.low),
            number(r.high), str(r.clusters), "–" if r.pvalue is None else f"{r.pvalue:.4g}",
        ))
        for r in found.rows
    ]  # fmt: skip
    names = ("estimand", "symbol", *found.by)
    lines = _merged(rows, names)
    if len(lines) > _MOST_ESTIMANDS and len(found.by) > (_VIEW in found.by):
        return _spans(found)
    heads = (*names, "n", "of", "estimate", "low", "high", "clusters", "sign-flip p")
    return Table("Estimands:", heads, lines, frozenset(names)), ""


def row_notes(rows: Sequence[SchemeRow]) -> list[str]:
    """Gather notes of rows that differ in numbers alone, and name the estimands.

    Examples
    --------
    >>> from simtrack.analysis.scheme_score import SchemeRow
    >>> made = [SchemeRow(n, "", (), 0.5, 0.1, 0.9, 1, 2, 2, notes=(f"deff at least {d}",))
    ...         for n, d in (("adherence", "1.3"), ("speech", "2.5"))]
    >>> row_notes(made)
    ['deff at least 1.3 to 2.5 [adherence, speech]']
    """
    found: dict[str, tuple[list[list[str]], dict[str, None]]] = {}
    for row in rows:
        for note in row.notes:
            told, names = found.setdefault(_NUMBER.sub("\0", note), ([], {}))
            told.append(_NUMBER.findall(note))
            names[row.estimand] = None
    out = []
    for text, (told, names) in found.items():
        spans = [_span(values) for values in zip(*told, strict=True)]
        parts = text.split("\0")
        said = "".join(a + b for a, b in zip(parts, [*spans, ""], strict=True))
        shown = ", ".join(list(names)[:_NAMED])
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        out.append(f"{said} [{shown}{more}]")
    return out


def _span(values: Sequence[str]) -> str:
    low, high = min(values, key=float), max(values, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"


def _merged(rows: Sequence[tuple[Line, Line]], names: Sequence[str]) -> list[Line]:
    """Give rows that two views have alike once."""
    if _VIEW not in names:
        return [(*labels, *cells) for labels, cells in rows]
    place = list(names).index(_VIEW)
    kept: dict[tuple[Line, Line], list[str]] = {}
    for labels, cells in rows:
        rest = (*labels[:place], *labels[place + 1 :])
        kept.setdefault((rest, cells), []).append(labels[place])
    return [
        (*rest[:place], _BOTH if len(views) > 1 else views[0], *rest[place:], *cells)
        for (rest, cells), views in kept.items()
    ]


def _cut(lines: list[Line]) -> tuple[list[Line], str]:
    left = len(lines) - _MOST_LINES
    if left <= 0:
        return lines, ""
    return lines[:_MOST_LINES], f"and {counted(left, 'more line')} (--json)"


def _spans(found: SchemeScore) -> tuple[Table, str]:
    """Give each estimand's least, middle and greatest value over groups, and where they are."""
    place = list(found.by).index(_VIEW) if _VIEW in found.by else None
    groups: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    for row in found.rows:
        view = "" if place is None else row.labels[place]
        if row.estimate is not None:
            group = "/".join(label for k, label in enumerate(row.labels) if k != place)
            key = (row.estimand, row.symbol, view)
            groups.setdefault(key, []).append((row.estimate, group))
    made: list[tuple[Line, Line]] = []
    for key, values in groups.items():
        least, most = min(values, key=lambda v: v[0]), max(values, key=lambda v: v[0])
        made.append((
            key if place is not None else key[:2],
            (str(len(values)), number(least[0]), least[1],
             number(median(v[0] for v in values)), number(most[0]), most[1]),
        ))  # fmt: skip
    names = ("estimand", "symbol", *((_VIEW,) if place is not None else ()))
    heads = (*names, "groups", "least", "where it is", "median", "greatest", "where that is")
    told = "every group with its interval: --json, or fewer with --where"
    text = frozenset((*names, "where it is", "where that is"))
    return Table("Estimands over groups:", heads, _merged(made, names), text), told


def _whole(value: int | None) -> str:
    return "–" if value is None else str(value)
