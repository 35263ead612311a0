"""Open log files one after another, and say of each what became of it and how far reading is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar, cast

from simtrack.errors import DataError, InputError
from simtrack.logs.columns import listed
from simtrack.logs.content import Content, UnknownFormat, is_called_a_log, look_at
from simtrack.logs.formats import Request, reader_of
from simtrack.note import Note
from simtrack.records import Records, Replies

__all__ = [
    "Attempt",
    "Found",
    "Progress",
    "ReadAs",
    "ReadSoFar",
    "Watcher",
    "as_trials",
    "attempt",
    "lines_by_reason",
    "open_one",
    "with_records",
]

#: What is made of a file: its trial table, or the replies in it.
Found = TypeVar("Found", bound=Records | Replies)
ReadAs: TypeAlias = Callable[[Path, Content, str, Request], Found]
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


def attempt(
    path: Path, label: str, named: bool, request: Request, read: ReadAs[Found]
) -> Attempt[Found]:
    """Read one of many files, `named` or found in a folder.

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
    if request.salvage:
        try:
            return open_one(path, label, replace(request, salvage=False), read)
        except UnknownFormat:
            raise
        except DataError:
            pass
    try:
        content = look_at(path, label, salvage=request.salvage)
        found = read(path, content, label, request)
    except UnknownFormat as error:
        if is_called_a_log(path, content_known=True):
            raise DataError(str(error)) from None
        raise
    except OSError as error:
        raise DataError(f"{label}: cannot be read: {error.strerror}.") from None
    notes = tuple(Note.of(note).at(label) for note in content.notes)
    return with_records(found, lambda own: replace(own, notes=own.notes + notes))


def as_trials(path: Path, content: Content, label: str, request: Request) -> Records:
    """Read the trial table of a file."""
    return reader_of(content, label).read(path, content, label, request)


def with_records(found: Found, change: Callable[[Records], Records]) -> Found:
    """Change the table of what was found, whether or not words stand beside it."""
    if isinstance(found, Replies):
        return cast("Found", replace(found, records=change(found.records)))
    return cast("Found", change(found))


def lines_by_reason(reasons: Sequence[tuple[str, str]], most: int = _SHOWN) -> list[str]:
    """Give one line a reason, with the files that it holds for: `most` of them by name.

    Examples
    --------
    >>> lines_by_reason([("a", "a: empty."), ("b", "b: empty."), ("c", "c is torn.")])
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


@dataclass(frozen=True, slots=True)
class ReadSoFar:
    """How far is the reading of many files?

    Attributes
    ----------
    files_done, files : int
    bytes_done, bytes_planned : int
        By the sizes of the files on disk.
    name : str
        The file that is read next, or that was read last.
    """

    files_done: int
    files: int
    bytes_done: int
    bytes_planned: int
    name: str = ""


Watcher = Callable[[ReadSoFar], None]


class Progress:
    """Tells a watcher, if there is one, which file comes next and which are done."""

    def __init__(
        self, paths: Sequence[Path], labels: Sequence[str], watcher: Watcher | None
    ) -> None:
        self._labels, self._watcher = labels, watcher
        self._sizes = [_size(path) for path in paths] if watcher is not None else []
        self._files_done = self._bytes_done = 0

    def next(self, k: int) -> None:
        """Say that file `k` is read next."""
        self._tell(k)

    def done(self, k: int) -> None:
        """Say that file `k` is done."""
        if self._watcher is not None:
            self._files_done += 1
            self._bytes_done += self._sizes[k]
            self._tell(k)

    def _tell(self, k: int) -> None:
        if self._watcher is not None:
            self._watcher(ReadSoFar(self._files_done, len(self._labels), self._bytes_done,
                                    sum(self._sizes), self._labels[k]))  # fmt: skip


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
