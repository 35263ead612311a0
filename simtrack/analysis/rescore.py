"""Do the verdicts of a log survive another parser? Old against new, reply by reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.families import TestFamily
from simtrack.analysis.scheme_score import score_replies
from simtrack.analysis.testing import compare
from simtrack.counts import Factor, group_rows
from simtrack.errors import DataError, InputError
from simtrack.inference.exact.mcnemar import McNemar, mcnemar
from simtrack.note import plain_notes
from simtrack.records import Records, Replies
from simtrack.scoring.schemes import scheme_of

__all__ = ["Change", "Rescore", "RescoreRow", "rescore"]

_SHOWN_CHARACTERS = 80
#: Columns that a scheme fills by its protocol, so that they are no names of rows.
_OF_SCHEMES = frozenset({"status", "reason", "stage", "duty", "gold", "obligation"})


@dataclass(frozen=True, slots=True)
class Change:
    """One reply whose verdict changed: what names it, both verdicts, its code and its last line.

    `is_cut` says that more of the reply stands before what `last_line` holds.
    """

    labels: Mapping[str, str]
    old: int
    new: int
    outcome: str
    last_line: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class RescoreRow:
    """Old against new verdicts in one reading.

    Attributes
    ----------
    view : str
        Empty where there is one reading only.
    both, only_old, only_new, neither : int
        Replies that pass by both verdicts, by one alone, or by none.
    without_old, without_new : int
        Replies that one of the two does not judge, which are in no pair.
    mcnemar : McNemar
        Takes replies as independent.
    comparison : TestFamily or None
        New minus old, paired by cluster, with an exact sign-flip p; None where verdicts of no two
        replies can be compared.
    changes : tuple of Change
        Every reply whose verdict changed.
    """

    view: str
    both: int
    only_old: int
    only_new: int
    neither: int
    without_old: int
    without_new: int
    mcnemar: McNemar
    comparison: TestFamily | None
    changes: tuple[Change, ...]

    @property
    def n(self) -> int:
        """Replies with both verdicts."""
        return self.both + self.only_old + self.only_new + self.neither


@dataclass(frozen=True, slots=True)
class Rescore:
    """Do old verdicts survive?

    Attributes
    ----------
    scheme, against, cluster : str
    rows : tuple of RescoreRow
    notes : tuple of str
    """

    scheme: str
    against: str
    cluster: str
    rows: tuple[RescoreRow, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        names = ("view", "both", "only_old", "only_new", "neither", "without_old", "without_new")
        return {
            "schema": "simtrack.rescore/2",
            "scheme": self.scheme,
            "against": self.against,
            "cluster": self.cluster,
            "rows": [
                {name: getattr(row, name) for name in names}
                | {
                    "mcnemar": row.mcnemar.to_dict(),
                    "comparison": row.comparison.to_dict() if row.comparison else None,
                    "changes": [
                        {**c.labels, "old": c.old, "new": c.new, "outcome": c.outcome,
                         "last_line": c.last_line}
                        for c in row.changes
                    ],
                }
                for row in self.rows
            ],
            "notes": plain_notes(self.notes),
        }  # fmt: skip


def rescore(
    replies: Replies,
    scheme: str,
    *,
    against: str | None = None,
    protocol: str | Path | Mapping[str, Any] | None = None,
    old_protocol: str | Path | Mapping[str, Any] | None = None,
    cluster: str | None = None,
    level: float = 0.95,
) -> Rescore:
    """Do the verdicts of a log survive this scheme and protocol?

    Parameters
    ----------
    replies : Replies
    scheme : str
    against : str, optional
        The metric of the log that is the old verdict: 1 passed, 0 failed. The only one of those
        values if not given. Left out with `old_protocol`.
    protocol : path or plain data, optional
        The new reading; the paper's if not given.
    old_protocol : path or plain data, optional
        Another protocol whose verdicts are the old ones, view by view.
    cluster, level
        As in `score_replies`.

    Raises
    ------
    InputError, DataError
        No such metric, or one that is not 0 or 1; no reply that both verdicts judge.
    """
    score, tables = score_replies(replies, scheme, protocol=protocol, cluster=cluster, level=level)
    found = next(iter(tables.values()))
    success = scheme_of(scheme).success
    views = found.factors["view"].levels if "view" in found.factors else ("",)
    before: Records | None = None
    verdict = np.full(len(replies), np.nan)
    if old_protocol is not None:
        if against is not None:
            raise InputError("against", "left out with an old protocol", repr(against))
        _, olds = score_replies(replies, scheme, protocol=old_protocol, cluster=cluster)
        before = next(iter(olds.values()))
        name = "the old protocol"
    else:
        name, verdict = _verdict(replies, against)
        if "role" in replies.records.factors:
            raise DataError(
                "the log's verdicts are on trials, and every turn was read. Read the last reply of "
                "each (--turns last), or compare two protocols."
            )
        if len(found) != len(replies) * len(views):
            raise DataError(
                f"{scheme} gives rows that are no single replies, so that verdicts of the log "
                "cannot be held against them. Compare two protocols instead."
            )
    rows = []
    for view in views:
        new = found.select(view=view) if view else found
        passed = _passes(new, success)
        old, gone = verdict, 0
        if before is not None:
            was = before.select(view=view) if view else before
            old, gone = _beside(new, was, _passes(was, success), replies.records)
        texts = replies.texts if len(new) == len(replies) else [None] * len(new)
        row = _row(view, new, old, passed, texts, score.cluster, level)
        rows.append(replace(row, without_new=row.without_new + gone))
    if not any(row.n for row in rows):
        raise DataError(f"no reply is judged both by {name} and by {scheme}.")
    return Rescore(scheme, name, score.cluster, tuple(rows), found.notes)


def _verdict(replies: Replies, against: str | None) -> tuple[str, NDArray[np.float64]]:
    binary = [
        name
        for name, v in replies.verdicts.items()
        if np.isin(v[~np.isnan(v)], (0.0, 1.0)).all() and not np.isnan(v).all()
    ]
    if against is None:
        if len(binary) != 1:
            _refuse_no_verdict(replies)
            there = ", ".join(binary or replies.verdicts)
            raise InputError("against", f"named, one of the log's metrics ({there})",
                             cure="Use --against METRIC.")  # fmt: skip
        against = binary[0]
    if against not in replies.verdicts:
        _refuse_no_verdict(replies)
        there = ", ".join(replies.verdicts)
        raise InputError("against", f"one of the log's metrics ({there})", repr(against))
    if against not in binary:
        raise InputError("against", "a metric of 0 and 1", repr(against))
    return against, replies.verdicts[against]


def _refuse_no_verdict(replies: Replies) -> None:
    if not replies.verdicts:
        raise DataError(
            "the log holds no verdicts to hold against new ones. Name the column of them: --map "
            "value=COLUMN; or compare two protocols: --old-protocol FILE."
        )


def _beside(
    new: Records, old: Records, verdicts: NDArray[np.float64], replies: Records
) -> tuple[NDArray[np.float64], int]:
    """Put old verdicts beside the new rows of the same names; count those that have no new row."""
    names = [n for n in replies.factors if n in new.factors and n in old.factors
             and n not in _OF_SCHEMES]  # fmt: skip
    keys = {n: Factor.concatenate([new.factors[n], old.factors[n]]).with_missing_named()
            for n in names}  # fmt: skip
    named = group_rows(keys, len(new) + len(old)).index
    mine, theirs = named[: len(new)], named[len(new) :]
    if np.array_equal(mine, theirs):
        return verdicts, 0
    if any(np.unique(ids).size < ids.size for ids in (mine, theirs)):
        raise DataError(
            f"the two protocols score different rows, and {', '.join(names)} do not tell them "
            "apart. Give replies an id (--map unit=COLUMN), or protocols that join alike."
        )
    place = np.full(int(named.max(initial=-1)) + 1, -1, dtype=np.intp)
    place[theirs] = np.arange(len(old))
    at = place[mine]
    beside = np.where(at >= 0, verdicts[at], np.nan)
    return beside, int((~np.isnan(verdicts)).sum() - (~np.isnan(beside)).sum())


def _passes(found: Records, success: frozenset[str]) -> NDArray[np.float64]:
    """Give 1 where a row has a success, 0 where it has another code, NaN where it has none."""
    outcome, status = found.factors["outcome"], found.factors["status"]
    value = np.array([*(float(c in success) for c in outcome.levels), np.nan])[outcome.codes]
    scored = np.array([*(s == "scored" for s in status.levels), False])[status.codes]
    return np.where(scored, value, np.nan)


def _row(
    view: str,
    new: Records,
    old: NDArray[np.float64],
    passed: NDArray[np.float64],
    texts: Sequence[str | None],
    cluster: str,
    level: float,
) -> RescoreRow:
    has_old, has_new = ~np.isnan(old), ~np.isnan(passed)
    both = has_old & has_new
    a, b = old[both] == 1.0, passed[both] == 1.0
    only_old, only_new = int((a & ~b).sum()), int((~a & b).sum())
    changed = np.flatnonzero(both & (old != passed)).tolist()
    comparison = None
    if both.any():
        comparison = _compared(new, old, passed, both, cluster, level)
    return RescoreRow(
        view,
        int((a & b).sum()),
        only_old,
        only_new,
        int((~a & ~b).sum()),
        int((has_new & ~has_old).sum()),
        int((has_old & ~has_new).sum()),
        mcnemar(only_new, only_old),
        comparison,
        tuple(_change(new, row, old, passed, texts[row]) for row in changed),
    )


def _compared(
    new: Records,
    old: NDArray[np.float64],
    passed: NDArray[np.float64],
    both: NDArray[np.bool_],
    cluster: str,
    level: float,
) -> TestFamily:
    """Pair the verdicts by cluster, as if they were two arms."""
    labels = new.factors[cluster].take(both)
    n = len(labels)
    stacked = Records(
        {
            "cluster": Factor.concatenate([labels, labels]),
            "verdict": Factor(("new", "old"), np.repeat(np.arange(2, dtype=np.int32), n)),
        },
        {"value": np.concatenate([passed[both], old[both]])},
    )
    return compare(stacked, "new", "old", factor="verdict", cluster="cluster", level=level)


def _change(
    new: Records, row: int, old: NDArray[np.float64], passed: NDArray[np.float64], text: str | None
) -> Change:
    labels = {}
    for name in ("source", "model", "unit", "repetition", "turn"):
        factor = new.factors.get(name)
        if factor is not None and factor.codes[row] >= 0:
            labels[name] = factor.levels[factor.codes[row]]
    outcome = new.factors["outcome"]
    whole = (text or "").rstrip()
    last = (whole.splitlines() or [""])[-1][-_SHOWN_CHARACTERS:]
    return Change(
        labels,
        int(old[row]),
        int(passed[row]),
        outcome.levels[outcome.codes[row]],
        last,
        last != whole,
    )
