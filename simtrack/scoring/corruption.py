"""Does any success survive when the replies are destroyed? What survives measures the harness.

Replies are blanked; every value in them is replaced by one that is wrong; a marker that means
nothing is appended. Truth stays as it was fixed. No corrupted reply may earn a success, but where
silence is what is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.plain import Plain
from simtrack.records import Records, Replies
from simtrack.scoring.schemes import Scheme

__all__ = ["Corruption", "CorruptionGate", "corruption_gate"]

_MOST_NAMED = 5
#: What tells a reader which reply it was.
_NAMING = ("model", "unit", "repetition", "depth", "turn", "clause")


@dataclass(frozen=True, slots=True)
class Corruption:
    """How one corruption went.

    Attributes
    ----------
    name, table, view : str
        What was done, which rows were held against it, and in which reading.
    successes_before : int
        Successes of the replies as they were, over the same rows.
    tested : int
        Valid replies that must not succeed.
    survivors : int
        Those that do all the same.
    examples : tuple of str
        The first of them.
    """

    name: str
    table: str
    view: str
    successes_before: int
    tested: int
    survivors: int
    examples: tuple[str, ...] = ()


_WRITTEN = "scheme passed vacuous rows notes"


@dataclass(frozen=True, slots=True)
class CorruptionGate(Plain, schema="simtrack.corruption-gate/1", names=_WRITTEN):
    """Did every success metric collapse?

    Attributes
    ----------
    scheme : str
    rows : tuple of Corruption
    notes : tuple of str
    """

    scheme: str
    rows: tuple[Corruption, ...]
    notes: tuple[str, ...] = ()

    @property
    def vacuous(self) -> bool:
        """Whether there was no success that could have collapsed, or nothing to test it on."""
        could = [row for row in self.rows if row.successes_before]
        return not could or any(not row.tested for row in could)

    @property
    def passed(self) -> bool:
        """Whether there were successes, and none survived."""
        return not self.vacuous and not any(row.survivors for row in self.rows)


def corruption_gate(replies: Replies, scheme: Scheme, protocol: Any) -> CorruptionGate:
    """Score destroyed replies with the pipeline that scored the whole ones, and count successes.

    Parameters
    ----------
    replies : Replies
    scheme : Scheme
        Its `corrupt` gives the corrupted replies, and the labels of rows where silence is right.
    protocol
        What `scheme.load` gave.

    Source: StageIF appendix K.
    """
    whole = scheme.score(replies, protocol)
    rows: list[Corruption] = []
    told: list[str] = []
    for name, corrupted, exempt in scheme.corrupt(replies, protocol):
        for table, found in scheme.score(corrupted, protocol).items():
            rows += _held(name, table, found, whole[table], exempt, scheme.success)
        spared = [label for label in exempt.values() if not isinstance(label, str)]
        told += [f"{name}: not held against {', '.join(labels)}, which it cannot break"
                 for labels in spared]  # fmt: skip
    notes = (*next(iter(whole.values())).notes, *told)
    return CorruptionGate(scheme.name, tuple(rows), notes)


def _held(
    name: str,
    table: str,
    found: Records,
    whole: Records,
    exempt: Mapping[str, str | tuple[str, ...]],
    success: frozenset[str],
) -> list[Corruption]:
    rows = []
    views = found.factors["view"].levels if "view" in found.factors else ("",)
    for view in views:
        mine = found.select(view=view) if view else found
        before = whole.select(view=view) if view else whole
        must = _is_held(mine, exempt)
        survived = np.flatnonzero(must & _has(mine, success))
        rows.append(
            Corruption(
                name,
                table,
                view,
                int((_is_held(before, exempt) & _has(before, success)).sum()),
                int(must.sum()),
                int(survived.size),
                tuple(_name(mine, int(row)) for row in survived[:_MOST_NAMED]),
            )
        )
    return rows


def _is_held(found: Records, exempt: Mapping[str, str | tuple[str, ...]]) -> NDArray[np.bool_]:
    """Say which rows have a code and no excuse."""
    held: NDArray[np.bool_] = found.factors["outcome"].codes >= 0
    if "status" in found.factors:
        status = found.factors["status"]
        held = held & np.array([s == "scored" for s in status.levels], dtype=bool)[status.codes]
    for column, label in exempt.items():
        if column not in found.factors:
            continue
        factor, labels = found.factors[column], (label,) if isinstance(label, str) else label
        codes = [k for k, level in enumerate(factor.levels) if level in labels]
        held = held & ~np.isin(factor.codes, codes)
    return held


def _has(found: Records, success: frozenset[str]) -> NDArray[np.bool_]:
    outcome = found.factors["outcome"]
    codes = [k for k, level in enumerate(outcome.levels) if level in success]
    has: NDArray[np.bool_] = np.isin(outcome.codes, codes)
    return has


def _name(found: Records, row: int) -> str:
    parts = []
    for column in _NAMING:
        factor = found.factors.get(column)
        if factor is not None and factor.codes[row] >= 0:
            parts.append(f"{column} {factor.levels[factor.codes[row]]}")
    return ", ".join(parts) or f"row {row + 1}"
