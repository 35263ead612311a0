"""How a label stands in a cell, so that no spreadsheet runs it and reading gives it back exactly.

A cell that begins with an apostrophe is guarded. After it stands the label itself (as a spreadsheet
takes an apostrophe for "this is text"), or, after a double quote, the label as a JSON string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from simtrack.errors import DataError

__all__ = ["GUARD", "guarded", "unguarded"]

GUARD = "'"
#: What a spreadsheet takes for a formula or a command, also in full width, or strips.
_ACTS = frozenset("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
#: No UTF-8 text holds half of a surrogate pair, and with NUL it is taken for a binary file.
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


def guarded(label: str | None, *, spreadsheet: bool = True) -> str | None:
    r"""Give a label as the text of a cell; None, a missing label, stays None.

    With `spreadsheet`, labels that would act there, and the empty one, which would look missing,
    are guarded too; without, only what the file could not hold.

    Examples
    --------
    >>> [guarded(v) for v in ("plain", "=1+1", "", "-3", "it's", "'quoted")]
    ['plain', "'=1+1", "'", '-3', "it's", "''quoted"]
    >>> guarded("=1+1", spreadsheet=False)
    '=1+1'
    """
    if label is None:
        return None
    if _UNWRITABLE.search(label):
        return GUARD + json.dumps(label)
    if not spreadsheet:
        return GUARD + json.dumps(label) if label.startswith("'\"") else label
    acts = not label or label[0] == GUARD or (label[0] in _ACTS and not _NUMBER.fullmatch(label))
    return GUARD + label if acts else label


def unguarded(
    cells: Iterable[str | None], label: str, *, spreadsheet: bool = True
) -> list[str | None]:
    """Give the labels that `guarded` made the cells of; raise DataError for a damaged one."""
    found: list[str | None] = []
    for cell in cells:
        if cell is None or not cell.startswith(GUARD):
            found.append(cell)
        elif cell.startswith("'\""):
            try:
                found.append(str(json.loads(cell[1:])))
            except ValueError:
                raise DataError(
                    f"{label}: cell {cell[:60]!r} is no whole JSON string. Write the table anew."
                ) from None
        else:
            found.append(cell[1:] if spreadsheet else cell)
    return found
