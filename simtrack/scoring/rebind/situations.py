"""What does the log say of outcomes that are not read from code, such as unit tests?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import DataError, InputError
from simtrack.records import Records, Replies
from simtrack.scoring.artifacts.attribution import RowClause, Situation
from simtrack.scoring.artifacts.presence import Check
from simtrack.scoring.rebind.protocol import ClauseRule, RebindProtocol

__all__ = ["Recorded", "Situations", "recorded_columns", "recorded_outcomes", "situations_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """What was recorded in each row: "passed", "failed", "errored", or None where nothing was?

    Attributes
    ----------
    kinds : mapping of column to list
        One entry a row.
    """

    kinds: Mapping[str, list[str | None]]

    def answers(self, row: int) -> dict[str, bool | None]:
        """Say for each column whether the requirement was met in a row."""
        found = {name: kinds[row] for name, kinds in self.kinds.items()}
        return {name: None if kind is None else kind == "passed" for name, kind in found.items()}

    def kind(self, row: int, check: Check) -> str | None:
        """Give what was recorded for a check that stands on a recorded outcome alone."""
        return self.kinds[check.name][row] if check.kind == "recorded" else None


def recorded_outcomes(replies: Replies, protocol: RebindProtocol) -> Recorded:
    """Read the outcomes that the clauses of a protocol ask for; nothing is ever run.

    A column is found among the labels, the numbers (1 passed, 0 failed) and the verdicts of the
    log, in this order.

    Raises
    ------
    InputError
        There is no such column.
    DataError
        A label or number that the protocol does not know.
    """
    names = recorded_columns(protocol)
    return Recorded({name: _column(replies, name, protocol) for name in names})


def recorded_columns(protocol: RebindProtocol) -> tuple[str, ...]:
    """Name the columns of outcomes that the clauses ask for."""
    return tuple(dict.fromkeys(n for rule in protocol.clauses for n in _columns(rule.check)))


def _columns(check: Check) -> list[str]:
    if check.kind == "recorded":
        return [check.name]
    return [name for part in check.checks for name in _columns(part)]


def _column(replies: Replies, name: str, protocol: RebindProtocol) -> list[str | None]:
    factor = replies.records.factors.get(name)
    if factor is not None:
        kinds = protocol.recorded.kinds()
        for level in factor.compact().levels:
            if level.casefold() not in kinds:
                raise DataError(
                    f"{name} must be one of {', '.join(kinds)}, got {level!r}. Name it in "
                    "[recorded] of the protocol: passed, failed or errored."
                )
        return [None if label is None else kinds[label.casefold()] for label in factor.values()]
    found = replies.records.numbers.get(name)
    found = replies.verdicts.get(name) if found is None else found
    if found is None:
        known = ", ".join(sorted({*replies.records.factors, *replies.records.numbers,
                                  *replies.verdicts}))  # fmt: skip
        raise InputError("a recorded outcome", f"one of {known}", repr(name))
    odd = found[~(np.isnan(found) | (found == 0.0) | (found == 1.0))]
    if odd.size:
        raise DataError(
            f"{name} must be 1 (passed) or 0 (failed), got {odd[0]:g}. Say in the protocol which "
            "column holds passed or failed."
        )
    return [None if np.isnan(v) else ("passed" if v else "failed") for v in found.tolist()]


# What binds in each row, and what was revoked? From labels alone, before replies are read.
_NAMED = ("function", "class", "method", "decorated", "imports", "calls", "attribute", "keyword",
          "binds")  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Situations:
    """Which situation is each row in?

    Attributes
    ----------
    kinds : tuple of Situation
        The different ones.
    codes : int64 array, shape (rows,)
        Index into `kinds`.
    digest : str
        SHA-256 of the situations of all rows in their order.
    """

    kinds: tuple[Situation, ...]
    codes: NDArray[np.int64]
    digest: str

    def has_revoked(self) -> NDArray[np.bool_]:
        """Say for each row whether a clause was revoked in it; the others are control."""
        return np.array([bool(kind.revoked) for kind in self.kinds], dtype=bool)[self.codes]


def situations_of(records: Records, protocol: RebindProtocol) -> Situations:
    """Write out the clauses of every row: which are in force at its end, and which were revoked.

    Raises
    ------
    InputError
        A column that the protocol names is not there.
    DataError
        A row names a revoked or replaced clause that it does not have, has two clauses of one name,
        or lacks a label that a check names.
    """
    names = sorted(protocol.columns())
    if protocol.revoked in records.factors:
        names.append(protocol.revoked)
    elif not any(rule.revoked_when for rule in protocol.clauses):
        cure = "Name it in the protocol (revoked = …), or say revoked_when for a clause."
        known = ", ".join(sorted(records.factors))
        raise InputError("the column of revoked clauses", f"one of {known}",
                         repr(protocol.revoked), cure=cure)  # fmt: skip
    if missing := [name for name in names if name not in records.factors]:
        known = ", ".join(sorted(set(records.factors) - {"status", "reason"}))
        cure = f"Readers leave lists out: write them as a text, parted by {protocol.separator!r}."
        raise InputError("a column of the protocol", f"one of {known}", repr(missing[0]), cure=cure)
    factors = [records.factors[name] for name in names]
    if not factors:
        codes = np.zeros(len(records), dtype=np.int64)
        table = np.zeros((min(len(records), 1), 0), dtype=np.int32)
        first = np.zeros(len(table), dtype=np.int64)
    else:
        stacked = np.stack([factor.codes for factor in factors], axis=1)
        table, first, codes = np.unique(stacked, axis=0, return_index=True, return_inverse=True)
    kinds = []
    for line, row in zip(table.tolist(), first.tolist(), strict=True):
        pairs = zip(names, factors, line, strict=True)
        labels = {name: factor.levels[code] for name, factor, code in pairs if code >= 0}
        kinds.append(_situation(labels, protocol, f"row {row + 1}"))
    return Situations(tuple(kinds), codes.reshape(-1), _digest(kinds, codes))


def _situation(labels: Mapping[str, str], protocol: RebindProtocol, where: str) -> Situation:
    clauses: dict[str, RowClause] = {}
    revoked: set[str] = set()
    short: dict[str, str] = {}
    for rule in protocol.clauses:
        if not _applies(rule.when, labels):
            continue
        for value in _values(rule, labels, protocol.separator):
            clause = _clause(rule, value, labels, protocol.separator, where)
            if clause.id in clauses:
                raise DataError(f"{where} has the clause {clause.id!r} twice. Name it once.")
            clauses[clause.id] = clause
            short.setdefault(value or rule.id, clause.id)
            if rule.revoked_when and _applies(rule.revoked_when, labels):
                revoked.add(clause.id)
    told = labels.get(protocol.revoked, "") if protocol.revoked else ""
    revoked |= {_known(n, clauses, short, where) for n in _split(told, protocol.separator)}
    linked = [_linked(c, clauses, short, where) for c in clauses.values()]
    return Situation(
        tuple(c for c in linked if c.id not in revoked),
        tuple(c for c in linked if c.id in revoked),
    )


def _applies(condition: Mapping[str, tuple[str, ...]], labels: Mapping[str, str]) -> bool:
    return all(labels.get(name) in wanted for name, wanted in condition.items())


def _values(rule: ClauseRule, labels: Mapping[str, str], separator: str) -> list[str]:
    """Give the labels that make a clause each; one empty one for a rule of one clause."""
    return _split(labels.get(rule.each, ""), separator) if rule.each else [""]


def _split(told: str, separator: str) -> list[str]:
    """Part a label; a JSON list of texts is one already."""
    if told.startswith("["):
        with suppress(ValueError, RecursionError):
            listed = json.loads(told)
            if all(isinstance(part, str) for part in listed):
                return [part for part in listed if part]
    return [part.strip() for part in told.split(separator) if part.strip()]


def _clause(
    rule: ClauseRule, value: str, labels: Mapping[str, str], separator: str, where: str
) -> RowClause:
    filling = {**labels, "each": value}
    missing = (rule.check.places() | rule.columns()) - set(filling) - {rule.each}
    missing -= set(rule.when) | set(rule.revoked_when)
    lists = [
        [part for told in listed for part in _split(_filled(told, filling), separator)]
        for listed in (rule.words, rule.replaces, rule.covers)
    ]
    if needed := sorted(missing & rule.check.places()):
        raise DataError(
            f"{where} has no label in {needed[0]}, which the check of clause {rule.id!r} names. "
            "Label it, or say `when` the clause applies."
        )
    check = rule.check.filled(filling)
    named = [part.name for part in check.positives() if part.kind in _NAMED]
    words = tuple(dict.fromkeys(lists[0] or named))
    name = f"{rule.id}:{value}" if rule.each else rule.id
    return RowClause(name, rule.id, check, words, tuple(lists[1]), tuple(lists[2]))


def _filled(told: str, labels: Mapping[str, str]) -> str:
    """Put labels in the place of {column}; a column without a label leaves nothing."""
    for name, label in labels.items():
        told = told.replace(f"{{{name}}}", label)
    return "" if told.startswith("{") and told.endswith("}") else told


def _linked(
    clause: RowClause, clauses: Mapping[str, RowClause], short: Mapping[str, str], where: str
) -> RowClause:
    replaces, covers = (
        tuple(_known(name, clauses, short, where) for name in listed)
        for listed in (clause.replaces, clause.covers)
    )
    return RowClause(clause.id, clause.family, clause.check, clause.words, replaces, covers)


def _known(
    name: str, clauses: Mapping[str, RowClause], short: Mapping[str, str], where: str
) -> str:
    if name in clauses:
        return name
    if name in short:
        return short[name]
    known = ", ".join(clauses) or "none"
    raise DataError(f"{where} names the clause {name!r}, but has {known}. Mend the label.")


def _digest(kinds: list[Situation], codes: NDArray[np.int64]) -> str:
    plain = [
        [
            [[c.id, c.check.to_dict(), c.words, c.replaces, c.covers] for c in side]
            for side in (kind.in_force, kind.revoked)
        ]
        for kind in kinds
    ]
    rows = codes.reshape(-1).tolist()
    return hashlib.sha256(json.dumps([plain, rows], sort_keys=True).encode()).hexdigest()
