"""A column that a protocol names, or a refusal that says what it was wanted for."""

from __future__ import annotations

from difflib import get_close_matches

from simtrack.counts import Factor
from simtrack.errors import InputError
from simtrack.records import Records

__all__ = ["labels_nobody_has", "named_column"]

_NO_CHOICE = frozenset({"status", "reason", "source"})


def named_column(records: Records, name: str, whose: str, cure: str) -> Factor:
    """Give a labelled column; where there is none, say what it is for and how to name another.

    Examples
    --------
    >>> rows = Records.from_columns({"unit": ["a"], "stages": ["READY"]})
    >>> named_column(rows, "stage", "right stage", "Map it: --map stage=COLUMN.")
    Traceback (most recent call last):
    simtrack.errors.InputError: right stage: column must be one of stages, unit, got 'stage'. \
Did you mean stages? Map it: --map stage=COLUMN.
    """
    if name in records.factors:
        return records.factors[name]
    known = sorted(set(records.factors) - _NO_CHOICE)
    near = get_close_matches(name, known, 1)
    guess = f"Did you mean {near[0]}? " if near else ""
    raise InputError(
        f"{whose}: column", f"one of {', '.join(known)}", repr(name), cure=guess + cure
    )


def labels_nobody_has(factor: Factor, labels: tuple[str, ...]) -> list[str]:
    """List the labels that no row has, which a protocol may have misspelt."""
    there = set(factor.compact().levels)
    return [label for label in labels if label not in there]
