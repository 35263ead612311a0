"""Open one log file: read it whole if it is whole, salvage it if not, and say what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar, cast

from simtrack.errors import DataError, InputError
from simtrack.logs.columns import listed
from simtrack.logs.content import Content, UnknownFormat, look_at
from simtrack.logs.formats import Request, reader_of
from simtrack.logs.paths import refuse_no_file
from simtrack.note import Note
from simtrack.records import Records, Replies

__all__ = [
    "Attempt",
    "Found",
    "ReadAs",
    "as_trials",
    "attempt",
    "look",
    "open_one",
    "promises_trials",
    "told_together",
    "with_records",
]

#: What is made of a file: its trial table, or the replies in it.
Found = TypeVar("Found", bound=Records | Replies)
ReadAs: TypeAlias = Callable[[Path, Content, str, Request], Found]

#: Endings of files that hold trials if they hold anything: not to be read is a loss there.
_LOG = ".eval"
_TABLES = frozenset({".json", ".jsonl", ".csv", ".tsv", ".parquet", ".arrow", ".feather"})
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Found]):
    """What became of reading one file: what was found, or one reason why there is nothing.

    `refused` says why it cannot be read, `unknown` why it is no log, `lacking` that it has none of
    the metrics that were asked for.
    """

    label: str
    found: Found | None = None
    refused: str = ""
    unknown: str = ""
    lacking: str = ""


def as_trials(path: Path, content: Content, label: str, request: Request) -> Records:
    """Read the trial table of a file."""
    return reader_of(content, label).read(path, content, label, request)


def attempt(
    path: Path, label: str, named: bool, request: Request, read: ReadAs[Found]
) -> Attempt[Found]:
    """Read one of many files; a refusal is kept as text, so that it can cross processes.

    Raises
    ------
    InputError
        Options that do not fit the file, other than a metric that it has not.
    """
    try:
        return Attempt(label, open_one(path, label, request, read))
    except UnknownFormat as error:
        reason = str(error)
        return Attempt(label, refused=reason) if named else Attempt(label, unknown=reason)
    except DataError as error:
        return Attempt(label, refused=str(error))
    except InputError as error:
        if error.name != "metric":
            raise
        return Attempt(label, lacking=str(error))


def open_one(path: Path, label: str, request: Request, read: ReadAs[Found]) -> Found:
    """Read one file. With `salvage`, what cannot be read as it stands is salvaged.

    Raises
    ------
    UnknownFormat
        A file that is no log, as far as can be told.
    DataError
        A file that cannot be read, or a file named as a log that is none.
    """
    refuse_no_file(path, label)
    if not request.salvage:
        return _opened(path, label, request, read)
    try:
        return _opened(path, label, replace(request, salvage=False), read)
    except UnknownFormat:
        raise
    except DataError:
        return _opened(path, label, request, read)


def look(path: Path, label: str, *, salvage: bool) -> Content:
    """Tell the kind of content; what is compressed or encoded, but called a log, is refused."""
    try:
        return look_at(path, label, salvage=salvage)
    except UnknownFormat as error:
        if promises_trials(path, content_known=False):
            raise DataError(str(error)) from None
        raise


def promises_trials(path: Path, *, content_known: bool) -> bool:
    """Say whether a file that is no log is called like one, as `run.eval` or `run.json.gz`.

    A JSON file whose content is known to be something else (`package.json`) is no loss.

    Examples
    --------
    >>> promises_trials(Path("run.json.gz"), content_known=False)
    True
    >>> promises_trials(Path("package.json"), content_known=True)
    False
    """
    endings = {ending.lower() for ending in path.suffixes[-2:]}
    return _LOG in endings or (not content_known and bool(endings & _TABLES))


def told_together(reasons: Sequence[tuple[str, str]], most: int = _SHOWN) -> list[str]:
    """Give one line a reason, with the files that it holds for: `most` of them by name.

    Examples
    --------
    >>> told_together([("a", "a: empty."), ("b", "b: empty."), ("c", "c is torn.")])
    ['a, b: empty.', 'c is torn.']
    """
    files: dict[str, list[str]] = {}
    for label, text in reasons:
        files.setdefault(text.removeprefix(f"{label}: "), []).append(label)
    full = {text.removeprefix(f"{label}: "): text for label, text in reasons}
    return [
        full[reason] if len(labels) == 1 else f"{listed(labels, most)}: {reason}"
        for reason, labels in files.items()
    ]


def with_records(found: Found, change: Callable[[Records], Records]) -> Found:
    """Change the table of what was found, whether or not words stand beside it."""
    if isinstance(found, Replies):
        return cast("Found", replace(found, records=change(found.records)))
    return cast("Found", change(found))


def _opened(path: Path, label: str, request: Request, read: ReadAs[Found]) -> Found:
    try:
        content = look(path, label, salvage=request.salvage)
        try:
            found = read(path, content, label, request)
        except UnknownFormat as error:
            if promises_trials(path, content_known=True):
                raise DataError(str(error)) from None
            raise
    except OSError as error:
        raise DataError(f"{label}: cannot be read: {error.strerror}.") from None
    told = tuple(Note.of(note).at(label) for note in content.notes)
    if not told:
        return found
    return with_records(found, lambda records: replace(records, notes=records.notes + told))
