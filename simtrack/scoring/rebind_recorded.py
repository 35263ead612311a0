"""What does the log say of outcomes that are not read from code, such as unit tests?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from simtrack.errors import DataError, InputError
from simtrack.records import Replies
from simtrack.scoring.presence import Check
from simtrack.scoring.rebind_protocol import RebindProtocol

__all__ = ["Recorded", "recorded_columns", "recorded_outcomes"]


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
