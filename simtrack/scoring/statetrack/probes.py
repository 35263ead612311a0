"""Which replies are the branches of one probe? Joined by labels, never by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Loss, Losses, group_rows
from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring.columns import named_column
from simtrack.scoring.statetrack.protocol import ProbeRule, StateTrackProtocol

__all__ = [
    "COMPLIANCE",
    "FLAG_LEVELS",
    "RECALL",
    "RESTATED",
    "UNKNOWN",
    "Branches",
    "Judged",
    "branches_of",
    "coded",
    "is_valid",
    "judged",
    "lost",
    "probe_columns",
]


COMPLIANCE, RECALL, RESTATED, OTHER = 0, 1, 2, -1
#: Labels by which losses are told apart, so that they go with a selection.
_WHERE = ("model", "category", "depth", "arm")
_NOT_OF_A_PROBE = ("metric", "role", "status", "reason")
#: Names that mean a verdict in the scored table: a log's own columns of these names are renamed.
_VERDICTS = frozenset(
    ("r", "b", "task", "joint", "constraint", "c1", "c2", "old", "new", "error", "outcome")
)
_NAME_BRANCH = "Map it: --map branch=COLUMN; or name it under [branches] column."
Index = NDArray[np.intp]


class Branches(NamedTuple):
    """The replies of a log by branch, and the probe of each.

    Attributes
    ----------
    replies : Replies
        The assistant's, with a label of the probe in all columns that join.
    kind : int array, shape (rows,)
        0 compliance, 1 recall, 2 restated, -1 none of them.
    probe : int array, shape (rows,)
    probes : int
    losses : Losses
        Rows that belong to no probe or no branch.
    """

    replies: Replies
    kind: NDArray[np.int64]
    probe: NDArray[np.int64]
    probes: int
    losses: Losses
    join: tuple[str, ...]

    def rows(self, kind: int) -> Index:
        """Give the positions of one branch."""
        return np.flatnonzero(self.kind == kind)

    def only(self, kind: int, name: str) -> Index:
        """Give for each probe the position of its one reply in a branch, -1 where there is none.

        Raises
        ------
        DataError
            A probe with two of them.
        """
        rows = self.rows(kind)
        found = np.full(self.probes, -1, dtype=np.intp)
        found[self.probe[rows]] = rows
        times = np.bincount(self.probe[rows], minlength=self.probes)
        if times.size and times.max() > 1:
            row = int(found[int(np.argmax(times > 1))])
            shown = ", ".join(f"{n}={_label(self.replies.records, n, row)}" for n in self.join)
            raise DataError(
                f"{int(times.max())} {name} replies share {shown}, so they are no one probe. Name "
                "the columns that tell probes apart: join = [...] in the protocol, and read one "
                "reply a trial."
            )
        return found


def branches_of(replies: Replies, protocol: StateTrackProtocol) -> Branches:
    """Tell branches and probes apart.

    Raises
    ------
    InputError
        No column of branches, or none of those that join.
    DataError
        A probe whose branches have different categories.
    """
    rows = replies
    if "role" in replies.records.factors:
        rows = replies.select(role="assistant")
    records = rows.records
    branch = named_column(records, protocol.column, "branch of a probe", _NAME_BRANCH)
    kinds = dict.fromkeys(protocol.compliance, COMPLIANCE)
    kinds |= dict.fromkeys(protocol.recall, RECALL) | dict.fromkeys(protocol.restated, RESTATED)
    kind = np.array([*(kinds.get(level, OTHER) for level in branch.levels), OTHER])[branch.codes]
    join = protocol.join_of(records.factors)
    if not join:
        raise InputError("join", "columns that tell probes apart, such as unit", "none")
    keys = {f"on:{name}": named_column(records, name, "join", "") for name in join}
    named = np.ones(len(rows), dtype=bool)
    if "unit" in join:
        named = records.factors["unit"].codes >= 0
    whole = {name: factor.with_missing_named() for name, factor in keys.items()}
    grouping = group_rows(whole, len(rows))
    losses = [
        Loss("unlabelled", int(lost_rows.size), reason, (), _ids(records, lost_rows))
        for lost_rows, reason in (
            (np.flatnonzero(~named), "no unit, so it is not known which probe this is"),
            (np.flatnonzero(named & (kind == OTHER)), f"{protocol.column} names no branch"),
        )
    ]
    kind = np.where(named, kind, OTHER)
    found = Branches(rows, kind, grouping.index, grouping.size, Losses.of(losses), join)
    _refuse_two_categories(found)
    return found


def probe_columns(replies: Replies, protocol: StateTrackProtocol) -> dict[str, Factor]:
    """Give the labels of a probe: those of its compliance reply, without the branch.

    A column of the log that is called as a verdict is becomes `column.NAME`, so that nothing but a
    declared verdict is taken for one.
    """
    without = (*_NOT_OF_A_PROBE, protocol.column)
    return {
        (f"column.{name}" if name in _VERDICTS else name): factor
        for name, factor in replies.records.factors.items()
        if name not in without
    }


def lost(branches: Branches, rows: Index, kind: str, reason: str) -> Losses:
    """Count rows as losses by model, category, depth and arm."""
    records = branches.replies.records
    names = [name for name in _WHERE if name in records.factors]
    found: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for row in rows.tolist():
        labels = [(name, _label(records, name, row)) for name in names]
        where = tuple((name, label) for name, label in labels if label is not None)
        found.setdefault(where, []).append(row)
    return Losses.of(
        Loss(kind, len(listed), reason, where, _ids(records, np.array(listed)))
        for where, listed in sorted(found.items())
    )


def _refuse_two_categories(branches: Branches) -> None:
    factor = branches.replies.records.factors.get("category")
    if factor is None:
        return
    rows = np.flatnonzero((branches.kind != OTHER) & (factor.codes >= 0))
    first = np.full(branches.probes, OTHER, dtype=np.int64)
    first[branches.probe[rows[::-1]]] = factor.codes[rows[::-1]]
    odd = rows[factor.codes[rows] != first[branches.probe[rows]]]
    if odd.size:
        row = int(odd[0])
        raise DataError(
            f"branches of the probe {_ids(branches.replies.records, odd[:1])[0]} have the "
            f"categories {factor.levels[int(first[branches.probe[row]])]} and "
            f"{factor.levels[int(factor.codes[row])]}. Mend the log, or join by more columns."
        )


def _ids(records: Records, rows: Index | Sequence[int]) -> tuple[str, ...]:
    return tuple(
        _label(records, "unit", row) or f"row {row + 1}" for row in np.asarray(rows)[:5].tolist()
    )


def _label(records: Records, name: str, row: int) -> str | None:
    factor = records.factors.get(name)
    if factor is None or factor.codes[row] < 0:
        return None
    return factor.levels[int(factor.codes[row])]


# Does a reply pass? By the checkers of the protocol, or by verdicts that the log holds.
#: The levels of a flag, and the code of one that nobody knows.
FLAG_LEVELS, UNKNOWN = ("0", "1"), -1
_SOURCES = ("checker", "column")
_MOST_SHOWN = 5

Codes = NDArray[np.int32]


class Judged(NamedTuple):
    """A flag of every reply (1, 0, or -1 where it is not known), and who said so."""

    codes: Codes
    by: Factor
    notes: tuple[str, ...]


def is_valid(replies: Replies) -> NDArray[np.bool_]:
    """Say for each row whether there is a reply that can be judged."""
    n = len(replies)
    status = replies.records.factors.get("status") or Factor.constant("scored", n)
    valid = np.array([*(level == "scored" for level in status.levels), False])[status.codes]
    return np.asarray(valid & np.array([text is not None for text in replies.texts], dtype=bool))


def judged(replies: Replies, protocol: StateTrackProtocol, flag: str) -> Judged:
    """Judge the valid replies by the first rule that names them, else by the column.

    Raises
    ------
    InputError
        A column, of verdicts or of a rule's condition, that the log does not have.
    """
    valid = is_valid(replies)
    codes = np.full(len(replies), UNKNOWN, dtype=np.int32)
    by = np.full(len(replies), UNKNOWN, dtype=np.int32)
    approximate = False
    for rule in protocol.rules:
        if flag not in rule.checks:
            continue
        rows = np.flatnonzero(valid & (by == UNKNOWN) & _named(replies, rule))
        check = rule.checks[flag].check
        for row in rows.tolist():
            codes[row] = check(replies.texts[row] or "").passed
        by[rows] = 0
        approximate |= bool(rows.size) and rule.checks[flag].is_approximate
    notes = []
    column = protocol.columns.get(flag)
    if column is not None:
        found, odd = _recorded(replies, column, protocol)
        rest = valid & (by == UNKNOWN) & (found != UNKNOWN)
        codes[rest], by[rest] = found[rest], 1
        notes += _odd_words(odd, column)
    said = [f"{int((by == 0).sum())} by checkers"] if (by == 0).any() else []
    said += [f"{int((by == 1).sum())} by column {column}"] if (by == 1).any() else []
    notes.insert(0, f"verdicts on {flag}: {', '.join(said) or 'none'}")
    if approximate:
        notes.append(f"verdicts on {flag} by a checker that is approximate (sentences)")
    return Judged(codes, Factor(_SOURCES, by), tuple(notes))


def labels_of(replies: Replies, column: str) -> list[str | None]:
    """Give a column as text, whether the log holds it as labels, numbers or scores."""
    records = replies.records
    numbers = replies.verdicts.get(column, records.numbers.get(column))
    if numbers is not None:
        return [None if np.isnan(v) else f"{v:g}" for v in numbers.tolist()]
    return named_column(records, column, "verdicts", "Name it under [columns].").values()


def _named(replies: Replies, rule: ProbeRule) -> NDArray[np.bool_]:
    """Say which replies have the labels of a rule; labels that no row has name none."""
    meant = np.ones(len(replies), dtype=bool)
    for name, wanted in rule.when.items():
        factor = named_column(replies.records, name, "when of a [[rule]]", "")
        meant &= np.array([*(level in wanted for level in factor.levels), False])[factor.codes]
    return meant


def _recorded(
    replies: Replies, column: str, protocol: StateTrackProtocol
) -> tuple[Codes, Counter[str]]:
    known: dict[str, int] = {word.casefold(): 1 for word in protocol.passes}
    known |= {word.casefold(): 0 for word in protocol.fails}
    codes = np.full(len(replies), UNKNOWN, dtype=np.int32)
    odd: Counter[str] = Counter()
    for row, said in enumerate(labels_of(replies, column)):
        if said is not None:
            codes[row] = known.get(said.strip().casefold(), UNKNOWN)
            if codes[row] == UNKNOWN:
                odd[said] += 1
    return codes, odd


def _odd_words(odd: Mapping[str, int], column: str) -> list[str]:
    if not odd:
        return []
    shown = ", ".join(f"{word!r} ({n})" for word, n in sorted(odd.items())[:_MOST_SHOWN])
    return [f"column {column} says what is neither pass nor fail and counts as no verdict: {shown} "
            "(declare [words])"]  # fmt: skip


def coded(replies: Replies, column: str, codes: tuple[str, ...]) -> Factor:
    """Read codes that somebody has given, in any case."""
    known = {code.casefold(): k for k, code in enumerate(codes)}
    found = np.full(len(replies), UNKNOWN, dtype=np.int32)
    for row, said in enumerate(labels_of(replies, column)):
        if said is None:
            continue
        word = said.strip().casefold().replace(" ", "_")
        if word not in known:
            raise InputError(column, "one of " + ", ".join(codes), repr(said))
        found[row] = known[word]
    return Factor(codes, found)
