"""Where did every planned trial go? planned = scored + each kind of loss, by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from simtrack.counts import Loss, group_rows
from simtrack.options import Status
from simtrack.records.records import Records

__all__ = ["Account", "Accounting", "account"]

STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the planned trials of one group?

    `counts` holds one number for each `Status`, in the order of the `Literal`.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]

    @property
    def planned(self) -> int:
        """The number of trials that were planned: the sum of all that became of them."""
        return sum(self.counts)

    def n(self, status: str) -> int:
        """Give the number of trials with this status."""
        return self.counts[STATUSES.index(status)]


@dataclass(frozen=True, slots=True)
class Accounting:
    """What became of every planned trial, by group?

    Attributes
    ----------
    by : tuple of str
        The grouping columns.
    rows : tuple of Account
        One a group, in canonical order.
    unplaced : tuple of Loss
        Losses that are known for the source as a whole but not by these groups.
    """

    by: tuple[str, ...]
    rows: tuple[Account, ...]
    unplaced: tuple[Loss, ...]

    @property
    def planned(self) -> int:
        """All planned trials, placed or not."""
        return sum(row.planned for row in self.rows) + sum(loss.n for loss in self.unplaced)

    def total(self, status: str) -> int:
        """Add up one status over all groups and the unplaced losses."""
        placed = sum(row.n(status) for row in self.rows)
        return placed + sum(loss.n for loss in self.unplaced if loss.kind == status)


def account(records: Records, by: Sequence[str] = ()) -> Accounting:
    """Count the rows of `records` and its rowless losses by status, in each group of `by`.

    A row without a label in `by` counts in the group "(none)".

    Examples
    --------
    >>> records = Records.from_columns(
    ...     {"unit": ["a", "b", "c"], "value": [1, 0, None], "status": ["scored"] * 2 + ["errored"]}
    ... )
    >>> table = account(records)
    >>> table.planned, table.total("scored"), table.total("errored")
    (3, 2, 1)
    """
    filled = {name: records.factor(name).with_missing_named() for name in by}
    status = records.factors.get("status")
    codes = np.zeros(len(records), dtype=np.int32)
    if status is not None:
        lookup = np.array(
            [STATUSES.index(s) for s in status.levels] + [STATUSES.index("unscored")],
            dtype=np.int32,
        )
        codes = lookup[status.codes]
    grouping = group_rows(filled, len(records))
    cells = grouping.count(codes, len(STATUSES))
    labels = [[f.levels[c] for c in f.codes.tolist()] for f in grouping.factors.values()]
    groups = list(zip(*labels, strict=True)) if by else [()] * (grouping.size > 0)
    table = {group: row.tolist() for group, row in zip(groups, cells, strict=True)}
    unplaced = []
    for loss in records.losses.entries:
        where = dict(loss.where)
        if loss.kind in STATUSES and all(name in where for name in by):
            group = tuple(where[name] for name in by)
            table.setdefault(group, [0] * len(STATUSES))[STATUSES.index(loss.kind)] += loss.n
        else:
            unplaced.append(loss)
    rows = tuple(Account(group, tuple(row)) for group, row in table.items())
    return Accounting(tuple(by), rows, tuple(unplaced))
