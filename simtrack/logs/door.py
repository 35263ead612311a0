"""Open log files: one, or many at once, into one trial table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from simtrack.counts import Factor, group_rows
from simtrack.errors import DataError, InputError
from simtrack.logs.content import UnknownFormat, look_at
from simtrack.logs.formats import Request, reader_of
from simtrack.logs.paths import PathLike, as_path, expand, source_labels
from simtrack.options import Detail, choice
from simtrack.records import Records

__all__ = ["read_log", "read_logs"]

#: Two rows that agree in all of these are one trial, counted twice.
_TELLS_APART = ("task", "model", "solver", "arm", "metric", "unit", "repetition")


def read_log(
    path: PathLike,
    *,
    map: Mapping[str, str] | None = None,
    metric: str | Sequence[str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    detail: Detail = "samples",
    salvage: bool = False,
) -> Records:
    """What happened in every trial that this log file holds?

    The format is told from the content, not from the name: an Inspect `.eval` archive or `.json`
    log; tau-bench and tau2-bench results; samples or results of lm-eval; a HELM run; a record of
    openai/evals; every_eval_ever; or a plain table in CSV, JSON, JSON lines, Parquet or Arrow. One
    row a sample, epoch and metric; planned trials that left no row are losses, so that `account`
    adds up to the plan for each metric. Files of aggregates give a table of `kind` "aggregate".

    Parameters
    ----------
    path : str or path
        The file.
    map : mapping of part to column, optional
        For plain tables: {"value": "correct", "cluster": "task_id", "model": "name"}. Parts left
        out are guessed from common names where that is unambiguous, and a note says so.
    metric : str or list of str, optional
        Keep these metrics: "scorer", or "scorer.key" where scores are objects.
    scores : mapping of text to number or None, optional
        What letters or words stand for beyond C 1, I 0, P 0.5, N 0, yes, no, true, false and
        numbers: {"D": 0, "skip": None}. None is unscored.
    detail : {"samples", "summaries"}
        Inspect archives: read every sample, or only the summaries that Inspect keeps beside
        them: faster, but long metadata may be cut and some versions leave stale rows.
    salvage : bool
        Read what is whole of a truncated or damaged `.eval` archive, whose members are found one
        by one and checked, of JSON that ends too early, or of JSON lines with damaged ones among
        them. What is lost is counted as missing where the plan is known, and named in notes.
        Without it such a file is refused.

    Raises
    ------
    DataError
        A file that is missing, empty, truncated, damaged or of an unknown format, or scores that
        stand for no number.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("item,correct\\nq1,1\\nq2,0\\n")
    >>> records = read_log(path, map={"unit": "item", "value": "correct"})
    >>> records.counts().n
    2
    """
    request = _request(map, metric, scores, detail, salvage)
    file = as_path(path)
    return _read(file, file.name, request)


def read_logs(
    paths: PathLike | Iterable[PathLike],
    *,
    map: Mapping[str, str] | None = None,
    metric: str | Sequence[str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    detail: Detail = "samples",
    salvage: bool = False,
    skip_refused: bool = False,
) -> Records:
    """What happened in every trial of these files, folders and globs?

    Tables are stacked in the order of the paths, each row labelled by its `source`. In a folder,
    files that are no logs are passed over with a note, and files of aggregates are left out beside
    files of trials. A run that occurs twice, or a later try of
    the same task, is kept and noted: choose with `select(source=...)`. With `skip_refused`, files
    that cannot be read are noted instead of refused. A `metric` may be absent from some of the
    files, which a note then says. Other parameters as in `read_log`.

    Raises
    ------
    DataError
        No file at all; or files that cannot be read, all of them in one message.
    """
    request = _request(map, metric, scores, detail, salvage)
    files, again = expand(paths)
    names = source_labels([file for file, _ in files])
    parts: list[Records] = []
    refused: list[str] = []
    passed: list[str] = []
    lacking: list[str] = []
    last: InputError | None = None
    for (file, named), name in zip(files, names, strict=True):
        try:
            part = _read(file, name, request)
            parts.append(part if len(files) == 1 else _with_source(part, name))
        except UnknownFormat as error:
            (refused if named else passed).append(str(error))
        except DataError as error:
            refused.append(str(error))
        except InputError as error:
            if error.name != "metric" or len(files) == 1:
                raise
            lacking.append(name)
            last = error
    if skip_refused:
        passed += [f"skipped, with all trials in it: {reason}" for reason in refused]
        refused = []
    if last is not None and not parts:
        raise last
    if lacking:
        passed.append(f"{len(lacking)} files have no metric {metric}: {', '.join(lacking)}")
    if refused:
        head = "" if len(refused) == 1 else f"{len(refused)} of {len(files)} files are refused. "
        raise DataError(head + " | ".join(refused))
    parts, aside = _trials_alone(parts)
    passed += aside
    if not parts:
        raise DataError(f"no log among {len(files)} files: {' | '.join(passed)}")
    records = Records.concatenate(parts)
    notes = (*records.notes, *again, *passed, *_repeats(parts), *_repeated_trials(records))
    return Records(
        records.factors, records.numbers, records.losses, records.parents, records.kind, notes
    )


def _with_source(part: Records, name: str) -> Records:
    """Label the rows of a table that simtrack wrote, which keeps the columns that it has."""
    if "source" in part.factors:
        return part
    return part.with_factors(source=Factor.constant(name, len(part)))


def _trials_alone(parts: list[Records]) -> tuple[list[Records], list[str]]:
    """Leave files of aggregates out where there are files of trials: a mean is no trial."""
    kept = [part for part in parts if part.kind != "aggregate"]
    if not kept or len(kept) == len(parts):
        return parts, []
    names = [_constants(part).get("source", "") for part in parts if part.kind == "aggregate"]
    shown = ", ".join(names)
    return kept, [f"{len(names)} files hold aggregates, which are left out beside trials: {shown}"]


def _request(
    map: Mapping[str, str] | None,
    metric: str | Sequence[str] | None,
    scores: Mapping[str, float | None] | None,
    detail: Detail,
    salvage: bool,
) -> Request:
    choice("detail", detail, Detail)
    if map is not None and not all(isinstance(v, str) for kv in map.items() for v in kv):
        raise InputError("map", "a mapping from parts to column names", map)
    return Request(map, metric, scores, detail, bool(salvage))


def _read(path: Path, label: str, request: Request) -> Records:
    try:
        content = look_at(path, label, salvage=request.salvage)
        records = reader_of(content, label).read(path, content, label, request)
    except OSError as error:
        raise DataError(f"{label}: cannot be read: {error.strerror}.") from None
    told = tuple(f"{label}: {note}" for note in content.notes)
    return replace(records, notes=records.notes + told) if told else records


def _repeats(parts: Sequence[Records]) -> list[str]:
    """Note runs that stand in more than one file."""
    runs: dict[str, list[str]] = {}
    tasks: dict[str, dict[str, str]] = {}
    for part in parts:
        labels = _constants(part)
        run, task = labels.get("run"), labels.get("task_id")
        source = labels.get("source", "a table of several sources")
        if run is not None:
            runs.setdefault(run, []).append(source)
        if run is not None and task is not None:
            tasks.setdefault(task, {}).setdefault(run, source)
    notes = [
        f"run {run} is in {len(sources)} files ({', '.join(sources)}): its trials count "
        f"{len(sources)} times. Keep one of the files (--where file=NAME)"
        for run, sources in runs.items()
        if len(sources) > 1
    ]
    return notes + [
        f"task_id {task} was run {len(found)} times ({', '.join(found.values())}): a later run "
        "may replace an earlier one. Keep one of the files (--where file=NAME)"
        for task, found in tasks.items()
        if len(found) > 1
    ]


def _repeated_trials(records: Records) -> list[str]:
    """Note trials that agree in all that tells trials apart."""
    telling = [n for n in _TELLS_APART if n in records.factors]
    if "unit" not in telling or "repetition" not in telling or not len(records):
        return []
    keys = {n: records.factors[n].with_missing_named() for n in telling}
    found = group_rows(keys, len(records))
    extra = len(records) - found.size
    if not extra:
        return []
    first = int(np.flatnonzero(np.bincount(found.index, minlength=found.size) > 1)[0])
    shown = ", ".join(f"{n}={found.factors[n].levels[found.factors[n].codes[first]]}"
                      for n in telling)  # fmt: skip
    return [
        f"{extra} trials repeat another in {', '.join(telling)} and count again (first: {shown})"
    ]


def _constants(part: Records) -> dict[str, str]:
    found = {n: f.levels[0] for n, f in part.factors.items() if len(f.levels) == 1}
    for loss in part.losses.entries:
        found |= dict(loss.where)
    return found
