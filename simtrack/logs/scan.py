"""What is in these files, how complete is each, and can they be compared?"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simtrack.errors import DataError, SimtrackError
from simtrack.logs import inspect
from simtrack.logs.columns import listed
from simtrack.logs.comparable import Facts, inspect_facts, table_facts, warnings_of
from simtrack.logs.content import Content, UnknownFormat, is_called_a_log, look_at
from simtrack.logs.decode import one_line
from simtrack.logs.formats import Request, reader_of
from simtrack.logs.opening import Progress, Watcher
from simtrack.logs.paths import PathLike, expand, source_labels
from simtrack.logs.repeats import Part
from simtrack.logs.trials import is_trial_table
from simtrack.note import Note
from simtrack.options import LogState
from simtrack.plain import Plain
from simtrack.records import Account, Records, account

__all__ = ["Scan", "ScannedFile", "scan"]

#: Formats whose columns are the user's own, to which a map applies.
_PLAIN = frozenset({"trial table", "JSON lines", "JSON array", "CSV", "Parquet", "Arrow"})
_STATES: Mapping[str, LogState] = {"started": "running", "cancelled": "stopped", "error": "stopped"}


@dataclass(frozen=True, slots=True)
class ScannedFile(Plain):
    """What does one file hold, on its first metric?

    Where a table holds several sources or tasks, the first metric is that of each; `metric` is
    empty and `mean` NaN if they differ. planned = scored + unscored + errored + limited +
    infrastructure + early_stopped + invalidated + missing, in trials; all are 0 for aggregates.
    `state` says how complete the file is, `reason` why it is refused, truncated or no log. Counts
    of a truncated file are what salvage finds.
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


@dataclass(frozen=True, slots=True)
class Scan(Plain, schema="simtrack.scan/1"):
    """What is in a set of files, in the order of their paths, and what stands against comparing?"""

    files: tuple[ScannedFile, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Scan({len(self.files)} files, {len(self.warnings)} warnings)"


def scan(
    paths: PathLike | Iterable[PathLike],
    *,
    map: Mapping[str, str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    progress: Watcher | None = None,
) -> Scan:
    """What is in each of these files, folders and globs, refusals included?

    Inspect archives are read by their summaries, all other files whole. A file that is truncated
    is tried again with salvage, and says what that finds. The warnings are over the set, and over
    the models and arms within a table: different sample sets, limits or epochs for one task,
    versions of Inspect between which scoring changed, runs that occur twice, tables of files that
    are here too, and standard errors of 0 beside a score within (0, 1).

    Parameters
    ----------
    paths, map, scores
        As in `read_logs`; the map is used for plain tables alone.
    progress : callable, optional
        Told a `ReadSoFar` before and after each file.

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
    absent = [str(file) for file, _ in files if not _is_there(file)]
    if absent:
        raise DataError(f"{listed(absent, 5)}: does not exist.")
    base = os.path.commonpath([file.parent.absolute() for file, _ in files])
    names = [Path(os.path.relpath(file.absolute(), base)).as_posix() for file, _ in files]
    told = Progress([file for file, _ in files], names, progress)
    seen: list[_Seen] = []
    for k, ((file, named), name) in enumerate(zip(files, names, strict=True)):
        told.next(k)
        seen.append(_scanned(file, name, named, Request(map, None, scores, "summaries")))
        told.done(k)
    held = _tables_of_files([file for file, _ in files], seen)
    facts = [fact for one in seen if one.row.file not in held for fact in one.facts]
    warnings = [*warnings_of(facts), *held.values()]
    return Scan(tuple(one.row for one in seen), tuple(warnings), tuple(again))


def _is_there(path: Path) -> bool:
    """Say whether there is something to refuse, if not to read: broken links and pipes, too."""
    return path.exists() or path.is_symlink() or str(path) == "-"


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one file holds, what it says of how it was run, and the sources of a trial table."""

    row: ScannedFile
    facts: Sequence[Facts] = ()
    sources: frozenset[str] = frozenset()


def _scanned(path: Path, name: str, named: bool, request: Request) -> _Seen:
    refused: Exception
    try:
        return _read(path, name, request)
    except UnknownFormat as error:
        called_a_log = named or is_called_a_log(path, content_known=True)
        state: LogState = "refused" if called_a_log else "no log"
        return _Seen(ScannedFile(name, state, reason=_reason(error, name)))
    except OSError as error:
        refused = DataError(f"cannot be read: {error.strerror}.")
    except SimtrackError as error:
        refused = error
    if "--salvage" in str(refused):
        try:
            found = _read(path, name, replace(request, salvage=True))
            row = replace(found.row, state="truncated", reason=_reason(refused, name))
            return replace(found, row=row)
        except (SimtrackError, OSError):
            pass
    return _Seen(ScannedFile(name, "refused", reason=_reason(refused, name)))


def _tables_of_files(files: Sequence[Path], seen: Sequence[_Seen]) -> dict[str, str]:
    """Warn of trial tables whose sources are all here as files; give the warnings by table."""
    labels = source_labels(files)
    here = {label for label, one in zip(labels, seen, strict=True) if not one.sources}
    return {
        one.row.file: f"{one.row.file} is a trial table of files that are here too "
        f"({listed(sorted(one.sources), 4)}): read with them, every trial counts twice"
        for one in seen
        if one.sources and one.sources <= here
    }


def _read(path: Path, name: str, request: Request) -> _Seen:
    content = look_at(path, name, salvage=request.salvage)
    reader = reader_of(content, name)
    if reader.name.startswith("Inspect"):
        log = _opened(path, name, content, request)
        records = inspect.to_records(log, scores=request.scores)
        state = _STATES.get(log.status, "complete")
        row = _filled(name, reader.name, records)
        if state == "complete" and row.missing:
            state = "incomplete"
        return _Seen(replace(row, state=state), (inspect_facts(name, log, records),))
    if reader.name not in _PLAIN:
        request = replace(request, map=None)
    records = reader.read(path, content, name, request)
    sources = Part(path, name, False, records).sources if is_trial_table(path) else frozenset()
    return _Seen(_filled(name, reader.name, records), table_facts(name, records), sources)


def _opened(path: Path, name: str, content: Content, request: Request) -> inspect.InspectLog:
    if content.kind != "zip":
        return inspect.open_object(content.data, name)
    log = inspect.open_archive(path, name, request.detail, salvage=request.salvage)
    if log.header.invalidated:  # which samples are, the summaries do not say
        log = inspect.open_archive(path, name, salvage=request.salvage)
    return log


def _filled(name: str, form: str, records: Records) -> ScannedFile:
    """Count what became of the planned trials on the first metric, of each source and task."""
    metrics = _levels(records, "metric")
    row = ScannedFile(
        name,
        "complete",
        form,
        "aggregate" if records.kind == "aggregate" else "trials",
        _levels(records, "model"),
        _levels(records, "task"),
        metrics[0] if metrics else "",
        len(metrics),
        len(_of_metric(records, metrics[0] if metrics else "")),
        notes=tuple(Note.of(note).bare(name) for note in records.notes),
    )
    if row.kind == "aggregate":
        return row
    counts, chosen = _counted(records, metrics)
    parts = [_of_metric(records, metric) for metric in chosen]
    row = replace(
        row,
        state="incomplete" if counts["missing"] else "complete",
        planned=sum(counts.values()),
        **counts,
    )
    if len(chosen) > 1:
        return replace(row, metric="", rows=sum(map(len, parts)))
    values = parts[0].numbers.get("value", np.empty(0))
    scored = values[~np.isnan(values)]
    return replace(row, mean=float(scored.mean()) if scored.size else math.nan)


def _counted(records: Records, metrics: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Add up the classes on the first metric of each source and task; name those metrics.

    "(none)" stands for rows without a metric. Losses that name none count as they are.
    """
    by = [n for n in ("source", "task") if len(_levels(records, n)) > 1] if metrics else []
    table = account(records, by=[*by, "metric"] if metrics else [])
    place = {metric: k for k, metric in enumerate(metrics)}
    first: dict[tuple[str, ...], Account] = {}
    for line in table.rows:
        group = line.labels[:-1]
        best = first.get(group)
        if best is None or place.get(line.labels[-1], -1) < place.get(best.labels[-1], -1):
            first[group] = line
    counts = {c.replace("-", "_"): sum(x.n(c) for x in first.values()) for c in _CLASSES}
    for loss in table.unplaced:
        counts[loss.kind.replace("-", "_")] += loss.n
    chosen = dict.fromkeys(line.labels[-1] for line in first.values() if line.labels)
    return counts, list(chosen) or [""]


def _of_metric(records: Records, metric: str) -> Records:
    """Give the rows of one metric; all of them where there is no other."""
    factor = records.factors.get("metric")
    if factor is None or metric == "":
        return records
    if metric not in factor.levels:  # rows that name none
        return records.take(np.flatnonzero(factor.codes < 0))
    return records.select(metric=metric)


_CLASSES = ("scored", "unscored", "errored", "limited", "infrastructure", "early-stopped",
            "invalidated", "missing")  # fmt: skip


def _levels(records: Records, name: str) -> tuple[str, ...]:
    """Give the labels that rows or losses have in a column."""
    own = records.factors[name].compact().levels if name in records.factors else ()
    lost = (dict(loss.where).get(name) for loss in records.losses.entries)
    return tuple(dict.fromkeys([*own, *(label for label in lost if label is not None)]))


def _reason(error: Exception, name: str) -> str:
    return one_line(str(error).removeprefix(f"{name}: "), 1200) or type(error).__name__
