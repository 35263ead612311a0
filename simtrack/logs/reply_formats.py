"""Which formats keep replies, and how are they read? Data only, by the names of `formats`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from simtrack.errors import DataError
from simtrack.logs import inspect, lm_eval, tables, tau
from simtrack.logs.content import Content
from simtrack.logs.formats import Request
from simtrack.logs.opening import with_records
from simtrack.options import Turns
from simtrack.records import Replies

__all__ = ["BY_PLACE", "REPLY_READERS"]

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
        table = _csv(content, label)
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


def _csv(content: Content, label: str) -> tables.Table:
    try:
        return tables.read_csv(content.source, label)
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
