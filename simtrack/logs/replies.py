"""Open log files for the replies in them: what the model said, not only how it was scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.logs.content import UnknownFormat, look_at
from simtrack.logs.formats import Request, reader_of
from simtrack.logs.paths import PathLike, expand, source_labels
from simtrack.logs.reply_formats import REPLY_READERS
from simtrack.options import Turns, choice
from simtrack.records import Replies

__all__ = ["read_replies"]


def read_replies(
    paths: PathLike | Iterable[PathLike],
    *,
    map: Mapping[str, str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    turns: Turns = "last",
    salvage: bool = False,
    skip_refused: bool = False,
) -> Replies:
    """What did the model say in every trial of these files, folders and globs?

    Read are Inspect logs and plain tables (JSON lines, JSON, CSV, Parquet, Arrow) with a column of
    replies. Trials that errored or were invalidated keep their row and status, without words.

    Parameters
    ----------
    paths : path, or several
        Files, folders or globs.
    map : mapping of part to column, optional
        For plain tables: as in `read_log`, and {"reply": column of the words, "calls": column of
        the tool calls}. Usual names are found.
    scores : mapping of text to number or None, optional
        What letters or words stand for in the log's own verdicts; others are unscored.
    turns : {"last", "all"}
        The last reply of each trial, or every message of it in order.
    salvage, skip_refused : bool
        As in `read_logs`.

    Raises
    ------
    DataError
        No file at all; files that cannot be read, or whose format keeps no replies, all of them in
        one message.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "replies.jsonl"
    >>> _ = path.write_text('{"id": "q1", "reply": "yes"}\\n{"id": "q2", "reply": null}\\n')
    >>> replies = read_replies(path)
    >>> list(replies.texts), replies.records.factors["status"].values()
    (['yes', None], ['scored', 'missing'])
    """
    choice("turns", turns, Turns)
    request = Request(map, None, scores, "samples", bool(salvage))
    files, again = expand(paths)
    names = source_labels([file for file, _ in files])
    parts: list[Replies] = []
    refused: list[str] = []
    passed: list[str] = []
    for (file, named), name in zip(files, names, strict=True):
        try:
            parts.append(_read(file, name, request, turns))
        except UnknownFormat as error:
            (refused if named else passed).append(str(error))
        except DataError as error:
            refused.append(str(error))
    if skip_refused:
        passed += [f"skipped, with all trials in it: {reason}" for reason in refused]
        refused = []
    if refused:
        head = "" if len(refused) == 1 else f"{len(refused)} of {len(files)} files are refused. "
        raise DataError(head + " | ".join(refused))
    if not parts:
        raise DataError(f"no log among {len(files)} files: {' | '.join(passed)}")
    found = Replies.concatenate(parts)
    notes = (*found.records.notes, *again, *passed)
    return replace(found, records=replace(found.records, notes=notes))


def _read(path: Path, label: str, request: Request, turns: Turns) -> Replies:
    try:
        content = look_at(path, label, salvage=request.salvage)
        reader = reader_of(content, label)
        read = REPLY_READERS.get(reader.name)
        if read is None:
            raise DataError(
                f"{label}: no replies are read from {reader.name} logs, but from "
                f"{', '.join(REPLY_READERS)}. Give a table with a column of replies."
            )
        found = read(path, content, label, request, turns)
    except OSError as error:
        raise DataError(f"{label}: cannot be read: {error.strerror}.") from None
    records = found.records
    if "source" not in records.factors:
        records = records.with_factors(source=Factor.constant(label, len(records)))
    told = tuple(f"{label}: {note}" for note in content.notes)
    return replace(found, records=replace(records, notes=records.notes + told))
