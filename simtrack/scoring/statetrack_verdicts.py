"""Does a reply pass? By the checkers of the protocol, or by verdicts that the log holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import InputError
from simtrack.records import Replies
from simtrack.scoring.named_columns import named_column
from simtrack.scoring.statetrack_protocol import ProbeRule, StateTrackProtocol

__all__ = ["FLAG_LEVELS", "UNKNOWN", "Judged", "coded", "is_valid", "judged"]

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
