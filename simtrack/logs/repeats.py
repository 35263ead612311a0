"""Which files hold the same trials again, and which of them is to be kept?"""

from __future__ import annotations

import filecmp
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import numpy as np

from simtrack.counts import group_rows
from simtrack.logs.opening import Found
from simtrack.note import Note
from simtrack.records import IDENTITY, Records, Replies

__all__ = [
    "Part",
    "fullest",
    "repeated_replies",
    "repeated_runs",
    "repeated_trials",
    "without_copies",
]

#: Two rows that agree in all of these are one trial, counted twice.
_TELLS_APART = (*IDENTITY, "model", "solver", "arm", "metric", "view", "clause", "gate", "depth",
                "trajectory", "turn", "prompt", "template", "variant", "perturbation", "split",
                "subset", "language", "temperature", "seed", "unit", "repetition")  # fmt: skip
#: Labels that a file gives to all its replies, and those that say what became of one.
_NO_NAMES = frozenset({"source", "run", "task_id", "status", "reason", "limit", "ended"})
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Part(Generic[Found]):
    """The trials or replies of one file, and how it was found.

    `table` says that simtrack itself wrote the file, so that it may hold other files of the set.
    """

    path: Path
    label: str
    named: bool
    found: Found
    table: bool = False

    @property
    def records(self) -> Records:
        """Its labels, losses and notes."""
        return self.found.records if isinstance(self.found, Replies) else self.found

    @property
    def sources(self) -> frozenset[str]:
        """The files whose trials a table of simtrack's holds."""
        own = self.records.factors.get("source")
        lost = (dict(entry.where).get("source") for entry in self.records.losses.entries)
        return frozenset([*(own.compact().levels if own else ()), *filter(None, lost)])

    def label_of(self, name: str) -> str | None:
        """Give the label that all rows and losses have in a column, None if they differ."""
        found = dict.fromkeys(
            [
                *(f.compact().levels if (f := self.records.factors.get(name)) else ()),
                *filter(None, (dict(x.where).get(name) for x in self.records.losses.entries)),
            ]
        )
        return next(iter(found)) if len(found) == 1 else None

    @property
    def scored(self) -> int:
        """How many rows have a score; of replies, how many are valid."""
        if isinstance(self.found, Replies):
            status = self.records.factors["status"]
            valid = [k for k, level in enumerate(status.levels) if level == "scored"]
            return int(np.isin(status.codes, valid).sum())
        values = self.records.numbers.get("value")
        return 0 if values is None else int((~np.isnan(values)).sum())

    @property
    def whole(self) -> bool:
        """Whether nothing had to be salvaged."""
        return not any(Note.of(note).code == "salvaged" for note in self.records.notes)


def without_copies(parts: Sequence[Part[Found]]) -> tuple[list[Part[Found]], list[str]]:
    """Leave out what certainly counts twice: copies of a run, and tables of files read here too.

    A copy is equal byte by byte and names the same run. A table that simtrack wrote is left out
    where it was found in a folder, not named, and all its sources are read here: as files, or in
    another such table with as many rows of each.
    """
    kept: list[Part[Found]] = []
    notes: list[str] = []
    runs: dict[str, list[Part[Found]]] = {}
    for part in parts:
        run = part.label_of("run")
        same = runs.setdefault(run, []) if run is not None else []
        first = next((p for p in same if _same_bytes(p.path, part.path)), None)
        if first is None:
            kept.append(part)
            same.append(part)
        else:
            notes.append(f"{part.label} is a copy of {first.label}; it counts once")
    files = {p.label for p in kept if not p.table}
    chosen: list[Part[Found]] = []
    seen: list[dict[str, int]] = []
    for part in kept:
        if part.table and not part.named and part.sources:
            rows = _rows_by_source(part.records)
            if part.sources <= files or rows in seen:
                some = _listed(sorted(part.sources))
                notes.append(
                    f"{part.label}: a trial table of {some}, read here too: it is left out, so "
                    "that nothing counts twice. Name it to read it"
                )
                continue
            seen.append(rows)
        chosen.append(part)
    return chosen, notes


def fullest(parts: Sequence[Part[Found]]) -> tuple[list[Part[Found]], list[str]]:
    """Keep the fullest file of each run, then the fullest run of each task_id, else the last.

    Before it is last, a file that is whole counts as fuller than one that had to be salvaged.
    """
    kept, notes = list(parts), []
    what = "replies" if any(isinstance(part.found, Replies) for part in parts) else "scores"
    for name in ("run", "task_id"):
        groups = _by_label(kept, name)
        for label, group in groups.items():
            best = max(enumerate(group), key=lambda p: (p[1].scored, p[1].whole, p[0]))[1]
            for part in group:
                if part is not best:
                    kept.remove(part)
                    notes.append(
                        f"{part.label}: left out, {what} {part.scored}, since {best.label} has "
                        f"{best.scored} and is of the same {name} {label}"
                    )
    return kept, notes


def repeated_runs(parts: Sequence[Part[Any]]) -> list[str]:
    """Note runs that stand in more than one file, and tasks that were tried again."""
    cure = "Keep one of them: --where file=NAME, or --latest for the fullest"
    notes = [
        f"run {run} is in {len(group)} files ({_listed([p.label for p in group])}): its trials "
        f"count {len(group)} times. {cure}"
        for run, group in _by_label(parts, "run").items()
    ]
    for task, group in _by_label(parts, "task_id").items():
        runs = {p.label_of("run"): p.label for p in reversed(group) if p.label_of("run")}
        if len(runs) > 1:
            names = _listed(list(reversed(runs.values())))
            notes.append(
                f"task_id {task} was run {len(runs)} times ({names}): a later run may replace an "
                f"earlier one. {cure}"
            )
    return notes


def repeated_trials(records: Records) -> list[str]:
    """Note trials that agree in all that tells trials apart."""
    return _repeats(records, [n for n in _TELLS_APART if n in records.factors], "trial")


def repeated_replies(replies: Replies) -> list[str]:
    """Note replies that agree with another in every label but the file's."""
    labels = replies.records.factors
    return _repeats(replies.records, [n for n in labels if n not in _NO_NAMES], "reply")


def _repeats(records: Records, telling: Sequence[str], what: str) -> list[str]:
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
    many = {"trial": "trials", "reply": "replies"}[what]
    count = f"{many} repeat another" if extra > 1 else f"{what} repeats another"
    again = "count again" if extra > 1 else "counts again"
    return [f"{extra} {count} in {', '.join(telling)} and {again} (first: {shown})"]


def _by_label(parts: Iterable[Part[Found]], name: str) -> dict[str, list[Part[Found]]]:
    """Give the files that share a label, where more than one does."""
    groups: dict[str, list[Part[Found]]] = {}
    for part in parts:
        label = part.label_of(name)
        if label is not None and not part.table:
            groups.setdefault(label, []).append(part)
    return {label: group for label, group in groups.items() if len(group) > 1}


def _rows_by_source(records: Records) -> dict[str, int]:
    factor = records.factors.get("source")
    if factor is None:
        return {}
    counts = np.bincount(factor.codes[factor.codes >= 0], minlength=len(factor.levels))
    return {level: int(n) for level, n in zip(factor.levels, counts, strict=True) if n}


def _same_bytes(one: Path, other: Path) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
