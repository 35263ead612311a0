"""Open log files: one, or many at once, into one trial table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

from simtrack.errors import InputError
from simtrack.logs.formats import Request
from simtrack.logs.many import Watcher
from simtrack.logs.opening import as_trials, open_one
from simtrack.logs.paths import PathLike, as_path
from simtrack.logs.repeats import repeated_runs, repeated_trials
from simtrack.logs.together import read_together
from simtrack.options import Detail, choice
from simtrack.records import Records

__all__ = ["read_log", "read_logs"]


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
    return open_one(file, file.name, request, as_trials)


def read_logs(
    paths: PathLike | Iterable[PathLike],
    *,
    map: Mapping[str, str] | None = None,
    metric: str | Sequence[str] | None = None,
    scores: Mapping[str, float | None] | None = None,
    detail: Detail = "samples",
    salvage: bool = False,
    skip_refused: bool = False,
    latest: bool = False,
    leave_out: Iterable[PathLike] = (),
    executor: Executor | None = None,
    progress: Watcher | None = None,
) -> Records:
    """What happened in every trial of these files, folders and globs?

    Tables are stacked in the order of the paths, each row labelled by its `source`. In a folder,
    files that are no logs are passed over with a note, and files of aggregates are left out beside
    files of trials. A copy of a run's file counts once, and so does a table of simtrack's in the
    folder whose files are read too; a note says so. Other parameters as in `read_log`.

    Parameters
    ----------
    skip_refused : bool
        Note files that cannot be read instead of refusing. A `metric` may always be absent from
        some of the files, which a note says.
    latest : bool
        Of one run in several files, and of a task that was run again (one `task_id` of Inspect),
        keep the file with most scores, of equals a whole one, the last; name what is left out.
        Without it all are kept, and notes say what counts more than once.
    leave_out : paths
        Files that are not read where folders and globs hold them, such as the table that is to
        be written; a note says so.
    executor : concurrent.futures.Executor, optional
        Read files in its workers. The table does not depend on it. Reading is bound by the
        processor: with fewer than two free cores it only costs.
    progress : callable, optional
        Told a `ReadSoFar` before and after each file.

    Raises
    ------
    DataError
        No file at all; or files that cannot be read, all of them in one message.
    """
    request = _request(map, metric, scores, detail, salvage)
    parts, notes = read_together(
        paths, request, as_trials, skip_refused=skip_refused, latest=latest, leave_out=leave_out,
        executor=executor, progress=progress,
    )  # fmt: skip
    records = Records.concatenate([part.found for part in parts])
    own = (*records.notes, *notes, *repeated_runs(parts), *repeated_trials(records))
    return replace(records, notes=own)


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
