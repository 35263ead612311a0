"""Was a damaged log read as it should be? Its rows are held against those of the original.

Demanded of every damaged file, read plainly and with salvage:

- the reader refuses in one line (exit code 2), or planned = the sum of all classes;
- nothing else is raised, and no read takes 10 s of processor time;
- zip archives, whose members have checksums: every row equals a row of the original, and rows that
  are gone are told, as losses or in a note;
- text, which has none: a flipped byte inside a value cannot be noticed, so as many rows may differ
  as the touched records hold, and no more; rows of untouched records equal the original's, in
  what is theirs (not in labels of the whole log) where the damage is outside of all records. A
  JSON document that ends early is refused or told; lines that are gone whole leave no trace;
- where records cannot be told apart, or the names of a CSV's columns were touched: the sum alone.
"""

from __future__ import annotations

import json
import math
import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from damaged_logs import Damage, with_older_members

from simtrack.errors import SimtrackError
from simtrack.logs import read_log
from simtrack.logs.content import look_at
from simtrack.logs.formats import reader_of
from simtrack.options import Status
from simtrack.records import Records, account

__all__ = ["Broken", "Source", "judge", "load"]

SECONDS_MAX = 10.0
LINE_MAX = 1500
CORE = ("unit", "repetition", "metric", "filter", "status", "outcome", "value")
#: Files in which one record is one line, and in which lines may be missing without a trace.
LINES = {"json-lines", "text"}
#: Where the records of a JSON object stand.
LISTS = re.compile(rb'"(samples|simulations)"\s*:\s*\[')
ALONE = re.compile(r"(\d+) samples are known from the summaries alone")

Row = tuple[Any, ...]


class Slow(BaseException):
    """A read that took too long; no `except Exception` may hide it."""


class Broken(Exception):
    """A demand on the reader that was not met."""


@dataclass
class Source:
    """A file as it was: its bytes, what it is, its table, and where its records lie."""

    path: Path
    data: bytes
    reader: str
    kind: str
    tables: list[Records]
    spans: list[tuple[int, int]] | None = None
    notes: set[str] = field(default_factory=set)
    missing: int = 0
    older: list[Records] = field(default_factory=list)
    cache: dict[tuple[bool, tuple[str, ...]], set[Row]] = field(default_factory=dict)

    def rows(self, names: tuple[str, ...], *, older: bool = False) -> set[Row]:
        """Give the rows of the original in these columns, or of its older members and summaries."""
        key = older, names
        if key not in self.cache:
            tables = self.older if older else self.tables
            self.cache[key] = {row for table in tables for row in rows_of(table, names)}
        return self.cache[key]


def load(file: Path, folder: Path) -> Source:
    """Read a file as it is, under the name that its damaged copies will have."""
    copy = folder / file.name
    data = file.read_bytes()
    copy.write_bytes(data)
    tables: list[Records] = []
    reader = kind = ""
    for salvage in (False, True):
        try:
            content = look_at(copy, copy.name, salvage=salvage)
            kind, reader = content.kind, reader_of(content, copy.name).name
            tables.append(read_log(copy, salvage=salvage))
        except SimtrackError:
            continue
    source = Source(file, data, reader, kind, tables)
    if tables and kind == "zip":
        source.older = [read_log(copy, detail="summaries", salvage=len(tables) == 1)]
        if reverse := with_older_members(data):
            copy.write_bytes(reverse)
            source.older.append(read_log(copy))
    copy.unlink()
    if tables:
        source.spans = spans_of(data, kind)
        if reader == "openai/evals" and source.spans:
            del source.spans[0]  # what was run, which is true of every row
        source.notes = {note for table in tables for note in table.notes}
        source.missing = min(_missing(table) for table in tables)
    return source


def spans_of(data: bytes, kind: str) -> list[tuple[int, int]] | None:
    """Give where every record of a text starts and ends, None where they cannot be told apart."""
    if kind in LINES:
        ends = [found.end() for found in re.finditer(b"\n|\\Z", data)]
        starts = [0, *ends[:-1]]
        spans = [(a, b) for a, b in zip(starts, ends, strict=True) if b > a]
        return spans[1:] if kind == "text" else spans
    if kind == "json-array":
        return list(_elements(data, data.index(b"[") + 1))
    if kind != "json-object":
        return None
    lists = [list(_elements(data, found.end())) for found in LISTS.finditer(data)]
    return max(lists, key=lambda spans: spans[-1][1] - spans[0][0] if spans else 0, default=None)


def _elements(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Walk over the elements of an array; latin-1 keeps one byte one character."""
    text, decoder = data.decode("latin-1"), json.JSONDecoder(strict=False)
    between = re.compile(r"[\s,]*")
    while True:
        skipped = between.match(text, at)
        at = skipped.end() if skipped else at
        try:
            _, end = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield at, end
        at = end


def judge(path: Path, source: Source, other: Source, damage: Damage) -> str:
    """Read a damaged file both ways and say what became of it.

    Raises
    ------
    Broken
        A demand that was not met.
    """
    outcomes = [_outcome(path, source, other, damage, salvage=way) for way in (False, True)]
    return "salvaged" if outcomes[0] == "refused" != outcomes[1] else outcomes[0]


def _outcome(path: Path, source: Source, other: Source, damage: Damage, *, salvage: bool) -> str:
    signal.setitimer(signal.ITIMER_PROF, SECONDS_MAX)
    try:
        records = read_log(path, salvage=salvage)
        table = account(records)
    except SimtrackError as error:
        text = str(error)
        if error.exit_code != 2 or len(text.splitlines()) != 1 or len(text) > LINE_MAX:
            raise Broken(f"a refusal that is not one line: {text[:300]!r}") from None
        return "refused"
    except Slow:
        raise Broken(f"took {SECONDS_MAX} s (salvage={salvage})") from None
    except Exception as error:
        raise Broken(f"{type(error).__name__}: {error} (salvage={salvage})") from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if table.planned != sum(table.total(status) for status in get_args(Status)):
        raise Broken("planned is not the sum of the classes")
    try:
        return _compared(records, source, other, damage)
    except Broken as broken:
        raise Broken(f"{broken} (salvage={salvage})") from None


def _compared(records: Records, source: Source, other: Source, damage: Damage) -> str:
    """Hold the rows that were read against those of the original."""
    zipped, spans = source.kind == "zip", source.spans or []
    first = min((a for a, _ in spans), default=0)
    last = max((b for _, b in spans), default=0)
    before = any(a < first for a, _ in damage.touched)
    if (
        not source.tables
        or records.kind != source.tables[0].kind
        or (not zipped and source.spans is None)
        or (source.kind == "text" and before and damage.way != "cut")
    ):
        return "read by the sum alone"
    outside = damage.way != "cut" and (before or any(b > last + 1 for _, b in damage.touched))
    names = shared_columns(records, source.tables[0])
    if damage.donor or (outside and not zipped):
        names = tuple(name for name in names if name in CORE)
    if damage.donor and source.kind in LINES:  # where what occurs again is a repetition
        names = tuple(name for name in names if name != "repetition")
    rows = rows_of(records, names)
    metrics = metrics_of(source.tables[0])
    known = _known(records, source, other, damage, names)
    strange = [row for row in rows if row not in known and not _new_metric(row, names, metrics)]
    if damage.donor:  # a metric of one log is no score in a sample of the other
        strange = [row for row in strange if row[-1] is not None]
    if zipped and strange:
        strange = _beyond_summaries(records, source, other, damage, strange)
    twice = damage.copied or source.reader == "HELM"  # whose instances are several records
    width = max(len(metrics_of(records)), len(metrics), 1) * (2 if twice else 1)
    reach = 0 if zipped else _touched(spans, damage) * width
    if len(strange) > reach:
        raise Broken(f"{len(strange)} rows differ, {reach} may (first: {strange[0]})")
    gone = source.rows(names) - set(rows)
    if zipped and damage.donor and other.rows(names) <= set(rows):
        gone = set()  # the file is the other log now
    free = source.kind in LINES or (damage.donor and not zipped)
    if not free and not told(records, source) and len(gone) > reach * (damage.way != "cut"):
        raise Broken(f"{len(gone)} rows are gone untold")
    if not gone and not strange:
        return "identical"
    return "losses told" if told(records, source) else "changed where touched"


def _known(
    records: Records, source: Source, other: Source, damage: Damage, names: tuple[str, ...]
) -> set[Row]:
    """Give the rows that may be there; of older members and summaries where a note tells."""
    known = source.rows(names)
    for one in (source, other) if damage.donor else (source,):
        known = known | one.rows(names)
        if told(records, source):
            known = known | one.rows(names, older=True)
    return known


def told(records: Records, source: Source) -> bool:
    """Say whether the table counts more as missing, or notes something, than the original did."""
    return _missing(records) > source.missing or bool(set(records.notes) - source.notes)


def _beyond_summaries(
    records: Records,
    source: Source,
    other: Source,
    damage: Damage,
    strange: list[Row],
) -> list[Row]:
    """Leave out rows that a note says are from summaries: those hold no more than the outcome."""
    alone = sum(int(n) for note in records.notes for n in ALONE.findall(note))
    names = tuple(n for n in shared_columns(records, source.tables[0]) if n in CORE)
    known = _known(records, source, other, damage, names)
    if alone and len(strange) <= alone * max(len(metrics_of(records)), 1):
        return [row for row in rows_of(records, names) if row not in known]
    return strange


def _touched(spans: Sequence[tuple[int, int]], damage: Damage) -> int:
    """Count the records that the damage reaches, one more where two are joined."""
    if damage.way in {"cut", "spliced"}:
        return 2
    return sum(any(a <= end and start <= b for a, b in damage.touched) for start, end in spans)


def _new_metric(row: Row, names: tuple[str, ...], metrics: set[str]) -> bool:
    """Say whether a row is of a metric that the original lacks, and has no score on it."""
    cells = dict(zip(names, row, strict=True))
    return cells.get("metric", "") not in {"", *metrics} and cells.get("value") is None


def shared_columns(records: Records, original: Records) -> tuple[str, ...]:
    """Name the columns that both tables have, the file's name aside."""
    labels = [n for n in original.factors if n in records.factors and n != "source"]
    return (*labels, *(n for n in original.numbers if n in records.numbers))


def metrics_of(records: Records) -> set[str]:
    """Name the metrics of a table."""
    return set(records.factors["metric"].levels) if "metric" in records.factors else set()


def rows_of(records: Records, names: tuple[str, ...]) -> list[Row]:
    """Give the rows in these columns, None for a missing label or number."""
    columns: list[list[Any]] = [
        records.factors[n].values()
        if n in records.factors
        else [None if math.isnan(v) else v for v in records.numbers[n].tolist()]
        for n in names
        if n in records.factors or n in records.numbers
    ]
    return list(zip(*columns, strict=True))


def _missing(records: Records) -> int:
    return account(records).total("missing")


def _too_slow(number: int, frame: object) -> None:
    raise Slow


# Seconds of this process, so that a busy machine is no fault; the test that calls has a clock.
signal.signal(signal.SIGPROF, _too_slow)
