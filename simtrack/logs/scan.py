"""What is in these files, how complete is each, and can they be compared?"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from simtrack.errors import DataError, SimtrackError
from simtrack.logs import inspect
from simtrack.logs.columns import listed
from simtrack.logs.comparable import Facts, inspect_facts, table_facts, warnings_of
from simtrack.logs.content import Content, UnknownFormat, look_at
from simtrack.logs.decode import one_line
from simtrack.logs.formats import Request, reader_of
from simtrack.logs.paths import PathLike, expand
from simtrack.options import LogState
from simtrack.records import Records, account

__all__ = ["Scan", "ScannedFile", "scan"]

#: Formats whose columns are the user's own, to which a map applies.
_PLAIN = frozenset({"trial table", "JSON lines", "JSON array", "CSV", "Parquet", "Arrow"})
_STATES: Mapping[str, LogState] = {"started": "running", "cancelled": "stopped", "error": "stopped"}


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """What does one file hold, on its first metric?

    planned = scored + unscored + errored + limited + infrastructure + early_stopped + invalidated
    + missing, in trials; all are 0 for aggregates. `state` says how complete the file is, `reason`
    why it is refused, truncated or no log. Counts of a truncated file are what salvage finds.
    """

    file: str
    state: LogState
    format: str = ""
    kind: str = ""
    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    metric: str = ""
    metrics: int = 0
    rows: int = 0
    planned: int = 0
    scored: int = 0
    unscored: int = 0
    errored: int = 0
    limited: int = 0
    infrastructure: int = 0
    early_stopped: int = 0
    invalidated: int = 0
    missing: int = 0
    mean: float = math.nan
    reason: str = ""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the fields by name; a mean of nothing is None."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        found["mean"] = None if math.isnan(self.mean) else self.mean
        return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}


@dataclass(frozen=True, slots=True)
class Scan:
    """What is in a set of files, in the order of their paths, and what stands against comparing?"""

    files: tuple[ScannedFile, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain data, with a schema id."""
        return {
            "schema": "simtrack.scan/1",
            "files": [file.to_dict() for file in self.files],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"Scan({len(self.files)} files, {len(self.warnings)} warnings)"


def scan(
    paths: PathLike | Iterable[PathLike],
    *,
    map: Mapping[str, str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Scan:
    """What is in each of these files, folders and globs, refusals included?

    Inspect archives are read by their summaries, all other files whole. A file that is truncated
    is tried again with salvage, and says what that finds. The warnings are over the set: different
    sample sets, limits or epochs for one task, versions of Inspect between which scoring changed,
    runs that occur twice, and standard errors of 0 beside a score within (0, 1).

    Parameters
    ----------
    paths, map, scores
        As in `read_logs`; the map is used for plain tables alone.
    progress : callable, optional
        Called with (files done, files, name of the next) before each file.

    Raises
    ------
    DataError, InputError
        No file at all, or a path that is not there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("item,correct\\nq1,1\\nq2,\\n")
    >>> [(f.file, f.state, f.planned, f.scored, f.unscored) for f in scan(folder).files]
    [('a.csv', 'complete', 2, 1, 1)]
    """
    files, again = expand(paths)
    absent = [str(file) for file, _ in files if not file.exists()]
    if absent:
        raise DataError(f"{listed(absent, 5)}: does not exist.")
    base = os.path.commonpath([file.parent.absolute() for file, _ in files])
    found: list[ScannedFile] = []
    facts: list[Facts] = []
    for k, (file, named) in enumerate(files):
        name = Path(os.path.relpath(file.absolute(), base)).as_posix()
        if progress is not None:
            progress(k, len(files), name)
        row, fact = _scanned(file, name, Request(map, None, scores, "summaries"))
        if named and row.state == "no log":
            row = replace(row, state="refused")
        found.append(row)
        facts += [fact] if fact is not None else []
    return Scan(tuple(found), tuple(warnings_of(facts)), tuple(again))


def _scanned(path: Path, name: str, request: Request) -> tuple[ScannedFile, Facts | None]:
    try:
        return _read(path, name, request)
    except UnknownFormat as error:
        return ScannedFile(name, "no log", reason=_reason(error, name)), None
    except (SimtrackError, OSError) as error:
        refused = error
    if "--salvage" in str(refused):
        try:
            row, fact = _read(path, name, replace(request, salvage=True))
            return replace(row, state="truncated", reason=_reason(refused, name)), fact
        except (SimtrackError, OSError):
            pass
    return ScannedFile(name, "refused", reason=_reason(refused, name)), None


def _read(path: Path, name: str, request: Request) -> tuple[ScannedFile, Facts]:
    content = look_at(path, name, salvage=request.salvage)
    reader = reader_of(content, name)
    if reader.name.startswith("Inspect"):
        log = _opened(path, name, content, request)
        records = inspect.to_records(log, scores=request.scores)
        state = _STATES.get(log.status, "complete")
        row = _filled(name, reader.name, records)
        if state == "complete" and row.missing:
            state = "incomplete"
        return replace(row, state=state), inspect_facts(name, log, records)
    if reader.name not in _PLAIN:
        request = replace(request, map=None)
    records = reader.read(path, content, name, request)
    return _filled(name, reader.name, records), table_facts(name, records)


def _opened(path: Path, name: str, content: Content, request: Request) -> inspect.InspectLog:
    if content.kind != "zip":
        return inspect.open_object(content.data, name)
    log = inspect.open_archive(path, name, request.detail, salvage=request.salvage)
    if log.header.invalidated:  # which samples are, the summaries do not say
        log = inspect.open_archive(path, name, salvage=request.salvage)
    return log


def _filled(name: str, form: str, records: Records) -> ScannedFile:
    """Count what became of the planned trials on the first metric."""
    metrics = _levels(records, "metric")
    chosen = records.select(metric=metrics[0]) if len(metrics) > 1 else records
    values = chosen.numbers.get("value", np.empty(0))
    scored = values[~np.isnan(values)]
    row = ScannedFile(
        name,
        "complete",
        form,
        "aggregate" if records.kind == "aggregate" else "trials",
        _levels(records, "model"),
        _levels(records, "task"),
        metrics[0] if metrics else "",
        len(metrics),
        len(chosen),
        notes=tuple(note.removeprefix(f"{name}: ") for note in records.notes),
    )
    if row.kind == "aggregate":
        return row
    table = account(chosen)
    counts: dict[str, Any] = {s.replace("-", "_"): table.total(s) for s in _CLASSES}
    mean = float(scored.mean()) if scored.size else math.nan
    state: LogState = "incomplete" if counts["missing"] else "complete"
    planned = sum(counts.values())
    return replace(row, state=state, planned=planned, mean=mean, **counts)


_CLASSES = ("scored", "unscored", "errored", "limited", "infrastructure", "early-stopped",
            "invalidated", "missing")  # fmt: skip


def _levels(records: Records, name: str) -> tuple[str, ...]:
    """Give the labels that rows or losses have in a column."""
    own = records.factors[name].compact().levels if name in records.factors else ()
    lost = (dict(loss.where).get(name) for loss in records.losses.entries)
    return tuple(dict.fromkeys([*own, *(label for label in lost if label is not None)]))


def _reason(error: Exception, name: str) -> str:
    return one_line(str(error).removeprefix(f"{name}: "), 400) or type(error).__name__
