"""The readers there are: what each recognises, and how it makes the trial table. Data only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simtrack.errors import DataError, InputError
from simtrack.logs import (
    every_eval_ever,
    helm,
    inspect,
    lm_eval,
    openai_evals,
    tables,
    tau,
)
from simtrack.logs.content import Content, Kind, UnknownFormat
from simtrack.logs.tables.roles import MARKER
from simtrack.logs.zips import shown
from simtrack.options import Detail, choice
from simtrack.records import Records

__all__ = ["READERS", "Reader", "Request", "reader_of"]


#: Files that lie beside logs and are none: their keys, and what they are.
_COMPANIONS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"scenario_spec", "adapter_spec"}),
        "a HELM run specification, which is read with per_instance_stats.json. Give that file",
    ),
    (
        frozenset({"model_name", "submission_date", "results"}),
        "a tau2-bench leaderboard submission: rates by domain, no trials. Give its trajectories",
    ),
    (
        frozenset({"eval_set_id", "tasks"}),
        "Inspect's index of an eval set, without samples. Give the logs in its folder",
    ),
)


#: Endings of text that its user calls a table; of other text it is said that it is none.
_TABLES = frozenset({".csv", ".tsv", ".tab", ".psv", ".txt", ".dat", ""})
_PROSE = "text that is no table of scores. If it is one, name its columns: --map value=COLUMN."


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asks of a reader; the fields are as in `read_log`."""

    map: Mapping[str, str] | None = None
    metric: str | Sequence[str] | None = None
    scores: Mapping[str, float | None] | None = None
    detail: Detail = "samples"
    salvage: bool = False

    def __post_init__(self) -> None:
        choice("detail", self.detail, Detail)
        if not all(isinstance(name, str) for pair in (self.map or {}).items() for name in pair):
            raise InputError("map", "a mapping from parts to column names", self.map)


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: how it is recognised by its content, and how it is read.

    Parameters
    ----------
    name : str
        What the format is called in messages.
    kind : Kind
        The kind of content.
    keys : frozenset of str
        Keys that a JSON object must have.
    read : callable
        From (path, content, label, request) to the trial table.
    """

    name: str
    kind: Kind
    keys: frozenset[str]
    read: Callable[[Path, Content, str, Request], Records]


def reader_of(content: Content, label: str) -> Reader:
    """Choose the first reader that recognises the content, or refuse and say what was found."""
    for reader in READERS:
        if reader.kind == content.kind and reader.keys <= content.keys:
            return reader
    if content.kind == "json-object" and b"\n" not in content.data.strip():
        for reader in READERS:
            if reader.kind == "json-lines" and reader.keys and reader.keys <= content.keys:
                return reader
        return _ONE_LINE
    raise _unknown(content, label)


def _unknown(content: Content, label: str) -> UnknownFormat:
    found = "a JSON array"
    if content.kind == "json-object":
        for keys, what in _COMPANIONS:
            if keys <= content.keys:
                return UnknownFormat(f"{label}: {what}.")
        some = ", ".join(map(shown, sorted(content.keys)[:6])) or "(none)"
        found = f"a JSON object with the keys {some}"
    names = ", ".join(dict.fromkeys(reader.name for reader in READERS))
    return UnknownFormat(
        f"{label}: {found}, which no reader of this version knows (it reads {names}). "
        "Export it as JSON lines or CSV."
    )


def _inspect_archive(path: Path, content: Content, label: str, request: Request) -> Records:
    log = inspect.open_archive(path, label, request.detail, salvage=request.salvage)
    _refuse_map(request, label)
    return inspect.to_records(log, metric=request.metric, scores=request.scores)


def _inspect_object(path: Path, content: Content, label: str, request: Request) -> Records:
    log = inspect.open_object(content.data, label)
    _refuse_map(request, label)
    return inspect.to_records(log, metric=request.metric, scores=request.scores)


def _tau_first(path: Path, content: Content, label: str, request: Request) -> Records:
    _refuse_map(request, label)
    return tau.read_first(content.data, label, request.metric)


def _tau_results(path: Path, content: Content, label: str, request: Request) -> Records:
    _refuse_map(request, label)
    return tau.read_results(path, content.data, label, metric=request.metric, detail=request.detail)


def _tau_simulation(path: Path, content: Content, label: str, request: Request) -> Records:
    _refuse_map(request, label)
    return tau.read_simulation(path, content.data, label, metric=request.metric)


def _lm_eval_samples(path: Path, content: Content, label: str, request: Request) -> Records:
    if request.map:  # the user says what the columns are
        return _json_lines(path, content, label, request)
    return lm_eval.read_samples(path, content.data, label, request.metric, salvage=request.salvage)


def _lm_eval_results(path: Path, content: Content, label: str, request: Request) -> Records:
    _refuse_map(request, label)
    return lm_eval.read_results(content.data, label, request.metric)


def _helm(path: Path, content: Content, label: str, request: Request) -> Records:
    _refuse_map(request, label)
    return helm.read_run(path, content.data, label, request.metric)


def _events(path: Path, content: Content, label: str, request: Request) -> Records:
    if request.map:
        return _json_lines(path, content, label, request)
    return openai_evals.read_events(content.data, label, request.metric, salvage=request.salvage)


def _eee_aggregate(path: Path, content: Content, label: str, request: Request) -> Records:
    _refuse_map(request, label)
    return every_eval_ever.read_aggregate(content.data, label, request.metric)


def _eee_instances(path: Path, content: Content, label: str, request: Request) -> Records:
    if request.map:
        return _json_lines(path, content, label, request)
    return every_eval_ever.read_instances(
        content.data, label, request.metric, salvage=request.salvage
    )


def _json_array(path: Path, content: Content, label: str, request: Request) -> Records:
    wanted = tuple((request.map or {}).values())
    try:
        return _from_table(tables.read_json_array(content.source, label, wanted), request)
    except UnknownFormat:
        raise
    except DataError as error:
        source = content.source
        first = source.first_visible(source.first_visible(source.start) + 1)
        if content.keys or source[first : first + 1] == b"{":
            raise
        raise UnknownFormat(str(error)) from None  # an array of other things is no damaged log


def _parquet(path: Path, content: Content, label: str, request: Request) -> Records:
    wanted = tuple((request.map or {}).values())
    return _from_table(tables.read_parquet(path, label, wanted), request)


def _arrow(path: Path, content: Content, label: str, request: Request) -> Records:
    wanted = tuple((request.map or {}).values())
    return _from_table(tables.read_arrow(path, label, wanted), request)


def _json_lines(path: Path, content: Content, label: str, request: Request) -> Records:
    wanted = tuple((request.map or {}).values())
    return _from_table(
        tables.read_json_lines(content.source, label, wanted, salvage=request.salvage), request
    )


def _one_line(path: Path, content: Content, label: str, request: Request) -> Records:
    """Read one object on one line as a table of one record, if it has a score."""
    try:
        return _json_lines(path, content, label, request)
    except UnknownFormat:
        raise _unknown(content, label) from None


def _csv(path: Path, content: Content, label: str, request: Request) -> Records:
    is_table = path.suffix.lower() in _TABLES
    wanted = tuple((request.map or {}).values())
    try:
        return _from_table(tables.read_csv(content.source, label, wanted), request)
    except tables.NotUtf8 as error:
        if is_table:
            raise DataError(f"{error} Save the table as UTF-8.") from None
        raise UnknownFormat(f"{label}: {_PROSE}") from None
    except UnknownFormat:
        if request.map or is_table:
            raise
        raise UnknownFormat(f"{label}: {_PROSE}") from None
    except DataError as error:
        if request.map or is_table:
            raise
        why = str(error).removeprefix(f"{label}: ")
        raise UnknownFormat(f"{label}: no table of scores: {why}") from None


def _from_table(table: tables.Table, request: Request) -> Records:
    return tables.to_records(table, map=request.map, metric=request.metric, scores=request.scores)


def _refuse_map(request: Request, label: str) -> None:
    """Such a log has its own columns; only a cluster may be named from them later on."""
    if request.map:
        raise InputError(
            "map",
            "left out for a log whose columns have names",
            ", ".join(request.map),
            where=label,
            cure="Leave --map out; name its columns in --by and --cluster.",
        )


_EEE_AGGREGATE = frozenset({"evaluation_results", "model_info"})
_EEE_INSTANCE = frozenset({"evaluation_id", "model_id", "sample_id", "evaluation"})
_TAU2_SIMULATION = frozenset({"id", "task_id", "termination_reason"})
READERS: tuple[Reader, ...] = (
    Reader("trial table", "json-lines", frozenset({MARKER}), _json_lines),
    Reader("trial table", "json-object", frozenset({MARKER}), _json_lines),
    Reader("Inspect .eval", "zip", frozenset(), _inspect_archive),
    Reader("Inspect .json", "json-object", frozenset({"eval", "plan"}), _inspect_object),
    Reader("Inspect .json", "json-object", frozenset({"eval", "status"}), _inspect_object),
    Reader("tau-bench", "json-array", frozenset({"task_id", "reward", "traj"}), _tau_first),
    Reader("tau2-bench", "json-object", frozenset({"info", "tasks", "timestamp"}), _tau_results),
    Reader("tau2-bench", "json-object", _TAU2_SIMULATION, _tau_simulation),
    Reader("lm-eval samples", "json-lines", frozenset({"doc_id", "resps"}), _lm_eval_samples),
    Reader("lm-eval results", "json-object", frozenset({"results", "versions"}), _lm_eval_results),
    Reader("HELM", "json-array", frozenset({"instance_id", "stats"}), _helm),
    Reader("openai/evals", "json-lines", frozenset({"spec"}), _events),
    Reader("every_eval_ever", "json-object", _EEE_AGGREGATE, _eee_aggregate),
    Reader("every_eval_ever", "json-lines", _EEE_INSTANCE, _eee_instances),
    Reader("JSON lines", "json-lines", frozenset(), _json_lines),
    Reader("JSON array", "json-array", frozenset(), _json_array),
    Reader("CSV", "text", frozenset(), _csv),
    Reader("Parquet", "parquet", frozenset(), _parquet),
    Reader("Arrow", "arrow", frozenset(), _arrow),
)
#: A JSON object on a single line that no reader knows may be a table with one record.
_ONE_LINE = Reader("JSON lines", "json-object", frozenset(), _one_line)
