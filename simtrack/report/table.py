"""Lay rows out as a table: aligned plain text, blocks on a narrow terminal, or CSV."""

from __future__ import annotations

import csv
import io
import math
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from unicodedata import category

__all__ = ["Table", "number", "percent", "visible"]

_NOTHING = "–"
#: Unicode categories of controls, line and paragraph ends, and halves of surrogate pairs.
_ACTING = frozenset({"Cc", "Zl", "Zp", "Cs"})
#: Marks that turn the direction of writing, so that a name reads as another.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True)
class Table:
    """Which cells stand under which heads?

    Parameters
    ----------
    title : str
        One line above the table.
    heads : tuple of str
        Column names; those of `text` columns are left-aligned, all others right-aligned.
    rows : list of tuples of str
        The cells, already formatted.
    text : frozenset of str
        The heads of the left-aligned columns.
    """

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    text: frozenset[str] = frozenset()

    def plain(self) -> str:
        """Align the cells with spaces.

        Examples
        --------
        >>> print(Table("", ("model", "rate"), [("a", "0.5"), ("long", "12.25")],
        ...             frozenset({"model"})).plain())
        model   rate
        a        0.5
        long   12.25
        """
        grid = [tuple(map(visible, row)) for row in (self.heads, *self.rows)]
        widths = [max(len(row[c]) for row in grid) for c in range(len(self.heads))]
        lines = [
            "  ".join(
                cell.ljust(width) if head in self.text else cell.rjust(width)
                for cell, width, head in zip(row, widths, self.heads, strict=True)
            ).rstrip()
            for row in grid
        ]
        return "\n".join(([visible(self.title)] if self.title else []) + lines)

    def csv(self) -> str:
        """Write the cells as CSV, without the title."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.heads)
        writer.writerows([_defused(cell) for cell in row] for row in self.rows)
        return out.getvalue()

    def show(self) -> None:
        """Print the table: plainly in a pipe; on a terminal with bold heads, and never cut off.

        Where a terminal is too narrow for the columns, each row becomes a block of "head: cell".
        """
        if not sys.stdout.isatty():
            print(self.plain())
            return
        lines = self.plain().splitlines()
        if max(map(len, lines)) > shutil.get_terminal_size().columns:
            lines = self.stacked().splitlines()
        if "NO_COLOR" in os.environ:
            print("\n".join(lines))
            return
        from rich.console import Console
        from rich.text import Text

        console = Console(soft_wrap=True)
        heads = set(lines[: 2 if self.title else 1])
        for line in lines:
            console.print(Text(line, style="bold" if line in heads else ""))

    def stacked(self) -> str:
        """Write one block a row, for narrow terminals.

        Examples
        --------
        >>> print(Table("", ("model", "rate"), [("a", "0.5")], frozenset({"model"})).stacked())
        model  a
        rate   0.5
        """
        width = max(map(len, self.heads))
        blocks = [
            "\n".join(
                f"{visible(head):<{width}}  {visible(cell)}"
                for head, cell in zip(self.heads, row, strict=True)
            )
            for row in self.rows
        ]
        return "\n".join(([visible(self.title)] if self.title else []) + ["\n\n".join(blocks)])


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with a fixed count of decimals; a missing one is a dash.

    Examples
    --------
    >>> number(0.12345), number(None), number(float("nan"))
    ('0.1235', '–', '–')
    """
    if value is None or math.isnan(value):
        return _NOTHING
    return f"{value:.{digits}f}"


def percent(values: Sequence[float], digits: int = 1) -> str:
    """Format an interval of shares in percent."""
    return " to ".join(f"{100 * v:.{digits}f}" for v in values) + " %"


def visible(cell: str) -> str:
    """Show line breaks and what else a terminal would act on as a reader of code knows them.

    Examples
    --------
    >>> print(visible("a\\nb"))
    a\\nb
    """
    if cell.isprintable():
        return cell
    return "".join(ascii(c)[1:-1] if category(c) in _ACTING or c in _TURNING else c for c in cell)


def _defused(cell: str) -> str:
    """Keep a spreadsheet from reading a label as a formula."""
    starts_formula = cell[:1] in {"=", "@", "\t", "\r"} or (
        cell[:1] in {"+", "-"} and not _is_number(cell)
    )
    return f"'{cell}" if starts_formula else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
