"""Read log files, one or many: which of them count, and what is said of the others?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.logs.columns import listed
from simtrack.logs.formats import Request
from simtrack.logs.opening import (
    Attempt,
    Found,
    Progress,
    ReadAs,
    Watcher,
    as_trials,
    attempt,
    lines_by_reason,
    open_one,
    with_records,
)
from simtrack.logs.paths import PathLike, as_path, expand, source_labels
from simtrack.logs.repeats import Part, fullest, repeated_runs, repeated_trials, without_copies
from simtrack.logs.trials import is_trial_table
from simtrack.options import Detail
from simtrack.records import Records, Replies

__all__ = ["read_log", "read_logs", "read_together"]


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
    request = Request(map, metric, scores, detail, salvage)
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
    progress: Watcher | None = None,
) -> Records:
    """What happened in every trial of these files, folders and globs?

    Tables are stacked in the order of the paths, each row labelled by its `source`. In a folder,
    files that are no logs are passed over with a note, and files of aggregates are left out beside
    files of trials. A copy of a run's file counts  and so does a table of simtrack's in the
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
    progress : callable, optional
        Told a `ReadSoFar` before and after each file.

    Raises
    ------
    DataError
        No file at all; or files that cannot be read, all of them in one message.
    """
    request = Request(map, metric, scores, detail, salvage)
    parts, notes = read_together(
        paths, request, as_trials, skip_refused=skip_refused, latest=latest, leave_out=leave_out,
        progress=progress,
    )  # fmt: skip
    records = Records.concatenate([part.found for part in parts])
    own = (*records.notes, *notes, *repeated_runs(parts), *repeated_trials(records))
    return replace(records, notes=own)


#: Reasons of refusal that one message holds, and files that it names for each.
_MOST_TOLD, _MOST_NAMED = 12, 20


def read_together(
    paths: PathLike | Iterable[PathLike],
    request: Request,
    read: ReadAs[Found],
    *,
    skip_refused: bool = False,
    latest: bool = False,
    leave_out: Iterable[PathLike] = (),
    progress: Watcher | None = None,
) -> tuple[list[Part[Found]], list[str]]:
    """Which files count, and what is to be said of the others? Parameters as in `read_logs`.

    Parameters
    ----------
    read : callable
        From (path, content, label, request) to what one file holds: trials or replies.

    Returns
    -------
    list of Part, list of str
        What was found in each file that counts, in the order of the paths, labelled by its
        `source`; and notes.

    Raises
    ------
    DataError
        No file at all; or files that cannot be read, all of them in one message.
    """
    files, again = expand(paths)
    files, aside = _without(files, leave_out)
    names = source_labels([file for file, _ in files])
    progress_of = Progress([file for file, _ in files], names, progress)
    tried: list[Attempt[Found]] = []
    for k, ((file, named), name) in enumerate(zip(files, names, strict=True)):
        progress_of.next(k)
        tried.append(attempt(file, name, named, request, read))
        progress_of.done(k)
    refused = [(a.label, a.refused) for a in tried if a.refused]
    if refused and not skip_refused:
        raise DataError(_refusal(refused, len(files)))
    parts = [
        _part(file, a.label, named, a.found, alone=len(files) == 1)
        for (file, named), a in zip(files, tried, strict=True)
        if a.found is not None
    ]
    passed = lines_by_reason([(a.label, a.unknown) for a in tried if a.unknown])
    passed += [
        f"skipped, with all trials in it: {told}" for told in lines_by_reason(refused, _MOST_NAMED)
    ]
    passed += _lacking([file for file, _ in files], tried, request, read)
    parts, twice = without_copies(parts)
    parts, means = _trials_alone(parts)
    fuller: list[str] = []
    if latest:
        parts, fuller = fullest(parts)
    passed += [*twice, *means, *fuller]
    if not parts:
        raise DataError(f"no log among {len(files)} files: {' | '.join(passed)}")
    return parts, [*again, *aside, *passed]


def _lacking(
    files: Sequence[Path], tried: Sequence[Attempt[Found]], request: Request, read: ReadAs[Found]
) -> list[str]:
    """Note the files without the metric that was asked for; refuse where none has it."""
    lacking = [(file, a.label) for file, a in zip(files, tried, strict=True) if a.lacking]
    if not lacking:
        return []
    if all(a.found is None for a in tried):
        open_one(*lacking[-1], request, read)  # raises, naming the metrics that there are
    have = "files have" if len(lacking) > 1 else "file has"
    names = listed([label for _, label in lacking])
    return [f"{len(lacking)} {have} no metric {request.metric}: {names}"]


def _without(
    files: list[tuple[Path, bool]], leave_out: Iterable[PathLike]
) -> tuple[list[tuple[Path, bool]], list[str]]:
    unwanted = {as_path(path).resolve() for path in leave_out}
    gone = [str(file) for file, _ in files if file.resolve() in unwanted]
    kept = [one for one in files if str(one[0]) not in gone]
    if not kept:
        raise DataError(f"{listed(gone)}: there is nothing else to read.")
    return kept, [f"{file} is left out of what is read" for file in gone]


def _part(path: Path, label: str, named: bool, found: Found, *, alone: bool) -> Part[Found]:
    """Label the rows by their file; a table that has a column of sources keeps it."""
    records = found.records if isinstance(found, Replies) else found
    said = isinstance(found, Replies)
    if (said or not alone) and "source" not in records.factors:
        source = Factor.constant(label, len(records))
        found = with_records(found, lambda table: table.with_factors(source=source))
    return Part(path, label, named, found, is_trial_table(path))


def _trials_alone(parts: list[Part[Found]]) -> tuple[list[Part[Found]], list[str]]:
    """Leave files of aggregates out where there are files of trials: a mean is no trial."""
    aside = [part.label for part in parts if part.records.kind == "aggregate"]
    if not aside or len(aside) == len(parts):
        return parts, []
    what = "files hold aggregates, which are" if len(aside) > 1 else "file holds aggregates,"
    note = f"{len(aside)} {what} left out beside trials: {', '.join(aside)}"
    return [part for part in parts if part.label not in aside], [note]


def _refusal(refused: Sequence[tuple[str, str]], files: int) -> str:
    """Put the refusals into one line; beyond a few, say where the others are listed."""
    rest = "" if files == len(refused) else " The other files alone: --skip-refused."
    if len(refused) == 1:
        return refused[0][1] + rest
    told = lines_by_reason(refused, _MOST_NAMED)
    more = f" | {len(told) - _MOST_TOLD} more reasons: simtrack scan lists all"
    head = f"{len(refused)} of {files} files are refused. "
    return head + " | ".join(told[:_MOST_TOLD]) + (more if len(told) > _MOST_TOLD else "") + rest
