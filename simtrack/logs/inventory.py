"""What is in these Inspect files, and does it agree with what they say of themselves?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simtrack.errors import SimtrackError
from simtrack.logs import inspect
from simtrack.logs.content import UnknownFormat, look_at
from simtrack.logs.decode import one_line
from simtrack.logs.inspect.metrics import header_metric
from simtrack.logs.paths import expand
from simtrack.note import Note
from simtrack.options import Detail
from simtrack.plain import Plain
from simtrack.records import Records, account

__all__ = ["InventoryRow", "inventory"]

#: Header aggregates that are a mean over the scored samples.
_MEANS = ("accuracy", "mean")
#: Two means of the same scores in another order of summation.
_SAME = 1e-9
_NOT_INSPECT = "not an Inspect log"


@dataclass(frozen=True, slots=True)
class InventoryRow(Plain, schema="simtrack.inventory-row/1"):
    """What does one file hold, on its first metric?

    Counts are sample × epoch cells: planned = scored + unscored + errored + limited +
    early_stopped + invalidated + missing. `rate` is the mean score of the scored rows and
    `header_rate` what the file itself states; NaN where there is none. `refusal` is empty, or
    why the file was not read. `notes` are the reader's.
    """

    file: str
    status: str = ""
    metric: str = ""
    metrics: int = 0
    planned: int = 0
    rows: int = 0
    scored: int = 0
    unscored: int = 0
    errored: int = 0
    limited: int = 0
    early_stopped: int = 0
    invalidated: int = 0
    missing: int = 0
    rate: float = math.nan
    header_rate: float = math.nan
    refusal: str = ""
    notes: tuple[str, ...] = ()

    @property
    def disagrees(self) -> bool:
        """Say whether the file states a mean that its own samples do not give."""
        if math.isnan(self.header_rate):
            return False
        return not math.isclose(self.rate, self.header_rate, rel_tol=_SAME, abs_tol=_SAME)


def inventory(
    paths: Iterable[str | os.PathLike[str]], *, detail: Detail = "samples"
) -> tuple[InventoryRow, ...]:
    """What is in each of these files, folders or globs: one row a file, refusals included.

    Files are named from the folder that holds them all. What is no Inspect log is passed over
    if it was found in a folder, and refused if it was named.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cut.eval"
    >>> _ = path.write_bytes(b"PK\\x03\\x04 and no more")
    >>> inventory([path])[0].refusal[:40]
    'truncated: the zip has no directory at i'
    """
    files, _ = expand(paths)
    base = os.path.commonpath([file.parent for file, _ in files])
    rows = []
    for file, named in files:
        row = _row(file, Path(os.path.relpath(file, base)).as_posix(), detail)
        if named or row.refusal != _NOT_INSPECT:
            rows.append(row)
    return tuple(rows)


def _row(path: Path, name: str, detail: Detail) -> InventoryRow:
    try:
        content = look_at(path, name)
        if content.kind == "zip":
            log = inspect.open_archive(path, name, detail)
        elif "eval" in content.keys:
            log = inspect.open_object(content.data, name)
        else:
            return InventoryRow(name, refusal=_NOT_INSPECT)
        return _filled(name, log, inspect.to_records(log))
    except UnknownFormat:
        return InventoryRow(name, refusal=_NOT_INSPECT)
    except (SimtrackError, OSError) as error:
        return InventoryRow(name, refusal=one_line(str(error).removeprefix(f"{name}: "), 400))


def _filled(name: str, log: inspect.InspectLog, records: Records) -> InventoryRow:
    levels = records.factors["metric"].levels
    first = levels[0] if levels else ""
    chosen = records.select(metric=first) if first else records
    table = account(chosen, by=["metric"])
    mine = next((row for row in table.rows if row.labels[0] == (first or "(none)")), None)
    values = chosen.numbers["value"]
    scored = values[~np.isnan(values)]
    stated = header_metric(log.header, first)
    header = next((stated[m] for m in _MEANS if m in stated), math.nan)

    def n(status: str) -> int:
        return mine.n(status) if mine else 0

    return InventoryRow(
        name,
        log.status,
        first,
        len(levels),
        mine.planned if mine else 0,
        len(chosen),
        n("scored"),
        n("unscored"),
        n("errored"),
        n("limited"),
        n("early-stopped"),
        n("invalidated"),
        n("missing"),
        rate=float(scored.mean()) if scored.size else math.nan,
        header_rate=header,
        notes=tuple(Note.of(note).bare(name) for note in records.notes),
    )
