"""What ingest, export and scan share: refusals before reading, and the accounting by metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from simtrack.errors import InputError, MissingExtra
from simtrack.note import Note
from simtrack.options import Status

if TYPE_CHECKING:
    from simtrack.records import Records
    from simtrack.report.table import Table

__all__ = [
    "account_table",
    "codes_of",
    "counted",
    "folded_notes",
    "refuse_ending",
    "refuse_overwriting",
    "tell",
]

#: Libraries that a file of this ending needs, and the extra that brings them.
_NEEDS = {".parquet": ("pyarrow", "parquet")}


def codes_of(notes: Sequence[str]) -> str:
    """Give the codes of notes for one cell of a CSV; their texts stand in the JSON.

    Examples
    --------
    >>> from simtrack.note import Note
    >>> codes_of((Note("flat", "no interval"), Note("few-clusters", "3 clusters"), "without code"))
    'flat few-clusters'
    """
    return " ".join(dict.fromkeys(filter(None, (getattr(n, "code", "") for n in notes))))


def refuse_ending(output: str, endings: Sequence[str]) -> None:
    """Refuse, before anything is read, a file that could not be written.

    Examples
    --------
    >>> refuse_ending("trials.xlsx", (".csv", ".jsonl"))
    Traceback (most recent call last):
    simtrack.errors.InputError: output must be a name ending in .csv, .jsonl, got 'trials.xlsx'.
    """
    target = Path(output)
    ending = target.suffix.lower()
    if ending not in endings:
        raise InputError("output", f"a name ending in {', '.join(endings)}", repr(target.name))
    if not target.parent.is_dir():
        raise InputError(
            "output", "in a folder that exists", str(target.parent), cure="Make the folder first."
        )
    library, extra = _NEEDS.get(ending, ("", ""))
    if library and find_spec(library) is None:
        raise MissingExtra(library, extra)


def refuse_overwriting(output: str, logs: Sequence[str]) -> tuple[str, ...]:
    """Refuse to write over what is read; give what is to be left out of folders and globs.

    A trial table that lies in a folder of logs is that of the last time: it is left out and
    replaced.
    """
    from simtrack.logs import is_trial_table
    from simtrack.logs.paths import expand

    target = Path(output)
    if not target.exists():
        return ()
    place = target.resolve()
    if all(file.resolve() != place for file, _ in expand(logs)[0]):
        return ()
    typed = any(Path(log).exists() and Path(log).resolve() == place for log in logs)
    if typed or not is_trial_table(target):
        cure = "It would be lost: choose another name."
        raise InputError("output", "another file than those that are read", output, cure=cure)
    return (output,)


def counted(n: int, what: str) -> str:
    """Say how many, in the singular where there is one.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def folded_notes(groups: Mapping[Note, Sequence[str]], total: int) -> list[Note]:
    """Give each note once, with the first groups that it holds for unless it holds for all."""
    told = []
    for note, names in groups.items():
        some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        everywhere = len(names) in {0, total} or not any(names)
        told.append(note if everywhere else Note(note.code, f"{note} [{some}]"))
    return told


def is_quiet() -> bool:
    """Say whether -q was given: routine notes are left out."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("quiet"))


def tell(head: str, text: str) -> None:
    """Print a line such as a note, with what a terminal would act on written out."""
    from simtrack.report.table import visible

    if isinstance(text, Note) and text.is_routine and is_quiet():
        return
    print(visible(" ".join(f"{head}: {text}".split())))


def account_table(records: Records) -> Table:
    """Lay out where every planned trial went, one line a metric, with the losses there are."""
    from simtrack.records import account
    from simtrack.report.table import Table

    by = ["metric"] if "metric" in records.factors else []
    found = account(records, by=by)
    losses = [s for s in get_args(Status) if s != "scored" and found.total(s)]
    heads = (*by, "planned", "scored", *losses)
    rows = [
        (*row.labels, str(row.planned), *(str(row.n(s)) for s in ("scored", *losses)))
        for row in found.rows
    ]
    for loss in found.unplaced:
        cells = ("0", *(str(loss.n) if s == loss.kind else "0" for s in losses))
        rows.append((*("(not said)",) * len(by), str(loss.n), *cells))
    return Table("", heads, rows, frozenset(by))
