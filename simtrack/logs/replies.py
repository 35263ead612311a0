"""Which formats keep replies, and how are they read? Data only, by the names of `formats`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.logs import inspect, lm_eval, tables, tau
from simtrack.logs.columns import listed
from simtrack.logs.content import Content, UnknownFormat
from simtrack.logs.formats import Request, reader_of
from simtrack.logs.opening import Watcher, with_records
from simtrack.logs.paths import PathLike
from simtrack.logs.read import read_together
from simtrack.logs.repeats import repeated_replies, repeated_runs
from simtrack.logs.trials import is_trial_table
from simtrack.options import Turns, choice
from simtrack.records import Replies

__all__ = ["BY_PLACE", "REPLY_READERS", "read_replies"]


ReplyReader = Callable[[Path, Content, str, Request, Turns], Replies]


def _inspect_archive(
    path: Path, content: Content, label: str, request: Request, turns: Turns
) -> Replies:
    log = inspect.open_archive(path, label, salvage=request.salvage, kind=inspect.ReplySample)
    return inspect.to_replies(log, turns=turns, scores=request.scores)


def _inspect_object(
    path: Path, content: Content, label: str, request: Request, turns: Turns
) -> Replies:
    log = inspect.open_object(content.data, label, inspect.JsonReplyLog)
    return inspect.to_replies(log, turns=turns, scores=request.scores)


def _tau_first(path: Path, content: Content, label: str, request: Request, turns: Turns) -> Replies:
    return tau.first_replies(content.data, label, turns)


def _tau_second(
    path: Path, content: Content, label: str, request: Request, turns: Turns
) -> Replies:
    if "info" not in content.keys:
        return tau.simulation_replies(content.data, label, turns)
    return tau.second_replies(path, content.data, label, turns)


def _lm_eval(path: Path, content: Content, label: str, request: Request, turns: Turns) -> Replies:
    if request.map:  # the user says what the columns are
        return _table(path, content, label, request, turns)
    return lm_eval.sample_replies(path, content.data, label, turns, salvage=request.salvage)


def _table(path: Path, content: Content, label: str, request: Request, turns: Turns) -> Replies:
    wanted = (*(request.map or {}).values(), *tables.REPLY_COLUMNS, *tables.CALL_COLUMNS)
    if content.kind == "parquet":
        table = tables.read_parquet(path, label, wanted)
    elif content.kind == "arrow":
        table = tables.read_arrow(path, label, wanted)
    elif content.kind == "json-array":
        table = tables.read_json_array(content.source, label, wanted)
    elif content.kind == "text":
        table = _csv(content, label, wanted)
    else:
        table = tables.read_json_lines(content.source, label, wanted, salvage=request.salvage)
    found = tables.to_replies(table, map=request.map, scores=request.scores)
    if content.kind != "text":
        return found
    gone = sum(text is None for text in found.texts)
    if not gone:
        return found
    note = (
        f"{label}: {gone} of {len(found)} cells of replies are empty and count as missing: CSV "
        "does not tell an empty reply from none. JSON lines and Parquet do"
    )
    return with_records(found, lambda own: replace(own, notes=(*own.notes, note)))


def _csv(content: Content, label: str, wanted: Sequence[str]) -> tables.Table:
    try:
        return tables.read_csv(content.source, label, wanted)
    except tables.NotUtf8 as error:
        raise DataError(f"{error} Save the table as UTF-8.") from None


#: By the name of the format.
REPLY_READERS: dict[str, ReplyReader] = {
    "Inspect .eval": _inspect_archive,
    "Inspect .json": _inspect_object,
    "tau-bench": _tau_first,
    "tau2-bench": _tau_second,
    "lm-eval samples": _lm_eval,
    "JSON lines": _table,
    "JSON array": _table,
    "CSV": _table,
    "Parquet": _table,
    "Arrow": _table,
}

#: Formats in which words, calls and scores have their place, so that labels alone can be renamed.
BY_PLACE = frozenset({"Inspect .eval", "Inspect .json", "tau-bench", "tau2-bench"})


# Open log files for the replies in them: what the model said, not only how it was scored.
#: Parts that are columns of plain tables alone.
_OF_TABLES = frozenset({"reply", "calls", "value", "outcome"})


def read_replies(
    paths: PathLike | Iterable[PathLike],
    *,
    map: Mapping[str, str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    turns: Turns = "last",
    salvage: bool = False,
    skip_refused: bool = False,
    latest: bool = False,
    leave_out: Iterable[PathLike] = (),
    progress: Watcher | None = None,
) -> Replies:
    """What did the model say in every trial of these files, folders and globs?

    Read are Inspect, tau-bench and tau2-bench logs, samples of lm-eval, and plain tables (JSON
    lines, JSON, CSV, Parquet, Arrow) with a column of replies. Trials that errored or were
    invalidated keep their row and status, without words.

    Parameters
    ----------
    paths : path, or several
        Files, folders or globs.
    map : mapping of part to column, optional
        For plain tables: as in `read_log`, and {"reply": column of the words, "calls": column of
        the tool calls}. Usual names are found. For other logs: labels under the names that schemes
        know, as {"stage": "target"}.
    scores : mapping of text to number or None, optional
        What letters or words stand for in the log's own verdicts; others are unscored.
    turns : {"last", "all"}
        The last reply of each trial, or every message of it in order.
    salvage, skip_refused, latest, leave_out, progress
        As in `read_logs`: a copy of a run's file counts once, and notes say what counts more than
        once; with `latest` the file of a run or task with most valid replies is kept.

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
    request = Request(map, None, scores, "samples", salvage)
    parts, notes = read_together(
        paths, request, partial(_as_replies, turns=turns), skip_refused=skip_refused,
        latest=latest, leave_out=leave_out, progress=progress,
    )  # fmt: skip
    found = Replies.concatenate([part.found for part in parts])
    own = (*found.records.notes, *notes, *repeated_runs(parts), *repeated_replies(found))
    return replace(found, records=replace(found.records, notes=own))


def _as_replies(
    path: Path, content: Content, label: str, request: Request, turns: Turns
) -> Replies:
    read = REPLY_READERS.get(reader_of(content, label).name)
    if read is None:
        raise DataError(
            f"{label}: no replies are read from {reader_of(content, label).name} logs, but from "
            f"{', '.join(REPLY_READERS)}. Give a table with a column of replies."
        )
    if is_trial_table(path) and "reply" not in (request.map or {}):
        raise UnknownFormat(
            f"{label}: a trial table of simtrack's, which holds no replies. Give the logs that it "
            "was made of."
        )
    found = read(path, content, label, request, turns)
    by_place = reader_of(content, label).name in BY_PLACE
    return _renamed(found, label, request.map) if by_place and request.map else found


def _renamed(found: Replies, label: str, names: Mapping[str, str]) -> Replies:
    """Call labels of a log whose replies have their place by the names that schemes know."""
    factors = found.records.factors
    made: dict[str, Factor] = {}
    for part, column in names.items():
        if part in _OF_TABLES:
            rule = f"of labels only, since {label} has a place for its replies, calls and scores"
            raise InputError("map", rule, part, cure=f"Leave out --map {part}=….")
        if column not in factors:
            raise DataError(
                f"{label}: no column {column!r} for {part} (there are: {listed(list(factors))}). "
                f"Mend --map {part}=COLUMN."
            )
        made[part] = factors[column]
    return replace(found, records=found.records.with_factors(**made))
