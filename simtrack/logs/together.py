"""Read files, folders and globs together: refusals, copies, later runs, and what is noted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.logs.columns import listed
from simtrack.logs.formats import Request
from simtrack.logs.many import Job, Watcher, attempts
from simtrack.logs.opening import Attempt, Found, ReadAs, open_one, told_together, with_records
from simtrack.logs.paths import PathLike, as_path, expand, source_labels
from simtrack.logs.repeats import Part, fullest, once
from simtrack.logs.trials import is_trial_table
from simtrack.records import Replies

__all__ = ["read_together"]

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
    executor: Executor | None = None,
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
    jobs = [(file, name, named, request) for (file, named), name in zip(files, names, strict=True)]
    tried = attempts(jobs, read, executor, progress)
    refused = [(a.label, a.refused) for a in tried if a.refused]
    if refused and not skip_refused:
        raise DataError(_refusal(refused, len(files)))
    parts = [
        _part(job, a.found, alone=len(jobs) == 1)
        for job, a in zip(jobs, tried, strict=True)
        if a.found is not None
    ]
    passed = told_together([(a.label, a.unknown) for a in tried if a.unknown])
    passed += [
        f"skipped, with all trials in it: {told}" for told in told_together(refused, _MOST_NAMED)
    ]
    passed += _lacking(jobs, tried, read)
    parts, twice = once(parts)
    parts, means = _trials_alone(parts)
    fuller: list[str] = []
    if latest:
        parts, fuller = fullest(parts)
    passed += [*twice, *means, *fuller]
    if not parts:
        raise DataError(f"no log among {len(files)} files: {' | '.join(passed)}")
    return parts, [*again, *aside, *passed]


def _lacking(
    jobs: Sequence[Job], tried: Sequence[Attempt[Found]], read: ReadAs[Found]
) -> list[str]:
    """Note the files without the metric that was asked for; refuse where none has it."""
    lacking = [a.label for a in tried if a.lacking]
    if not lacking:
        return []
    if all(a.found is None for a in tried):
        path, label, _, request = next(job for job in reversed(jobs) if job[1] == lacking[-1])
        open_one(path, label, request, read)  # raises, naming the metrics that there are
    have = "files have" if len(lacking) > 1 else "file has"
    return [f"{len(lacking)} {have} no metric {jobs[0][3].metric}: {listed(lacking)}"]


def _without(
    files: list[tuple[Path, bool]], leave_out: Iterable[PathLike]
) -> tuple[list[tuple[Path, bool]], list[str]]:
    unwanted = {as_path(path).resolve() for path in leave_out}
    gone = [str(file) for file, _ in files if file.resolve() in unwanted]
    kept = [one for one in files if str(one[0]) not in gone]
    if not kept:
        raise DataError(f"{listed(gone)}: there is nothing else to read.")
    return kept, [f"{file} is left out of what is read" for file in gone]


def _part(job: Job, found: Found, *, alone: bool) -> Part[Found]:
    """Label the rows by their file; a table that has a column of sources keeps it."""
    path, label, named, _ = job
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
    told = told_together(refused, _MOST_NAMED)
    more = f" | {len(told) - _MOST_TOLD} more reasons: simtrack scan lists all"
    head = f"{len(refused)} of {files} files are refused. "
    return head + " | ".join(told[:_MOST_TOLD]) + (more if len(told) > _MOST_TOLD else "") + rest
