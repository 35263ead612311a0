"""How columns of a trial table lie to each other: inside, across, or crossed by design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, group_rows
from simtrack.records import Records

__all__ = ["as_factor", "conditions_within", "group_codes", "lies_within", "repeats_across"]

Codes = NDArray[np.int64]
#: A column is crossed with units by design if so many of them have one and the same set of levels.
_BY_DESIGN = 0.8
#: A design has no more levels than this.
_LEVELS_MAX = 50


def group_codes(records: Records, names: Sequence[str]) -> Codes:
    """Give every row the number of its combination of labels, (rows,); rows without names are 0."""
    if not names:
        return np.zeros(len(records), dtype=np.int64)
    columns = {n: records.factors[n].with_missing_named() for n in names}
    return np.asarray(group_rows(columns, len(records)).index, dtype=np.int64)


def lies_within(records: Records, name: str, groups: Sequence[str]) -> bool:
    """Say whether each group has one level of a column only, so that nothing of it is mixed."""
    outer, inner = group_codes(records, groups), group_codes(records, (name,))
    return bool(np.unique(np.stack([outer, inner]), axis=1).shape[1] == np.unique(outer).size)


def repeats_across(
    records: Records, name: str, outer: Sequence[str], inner: Sequence[str] = ()
) -> bool:
    """Say whether a label of `name` (within `inner`) stands under several labels of `outer`."""
    ids = group_codes(records, (*inner, name))
    kept = records.factors[name].codes >= 0
    wider = group_codes(records, (*outer, name))
    return bool(np.unique(wider[kept]).size > np.unique(ids[kept]).size)


def conditions_within(
    records: Records, unit: str, names: Sequence[str], groups: Sequence[str]
) -> tuple[str, ...]:
    """Name the columns that vary within a unit of one group, by design.

    A column is a condition if most units have one and the same set of several levels; labels that
    differ from unit to unit, such as answers or times, are what trials gave, not how they were
    put.
    """
    units = group_codes(records, (*groups, unit))
    found = []
    for name in names:
        factor = records.factors[name].compact()
        if not 1 < len(factor.levels) <= _LEVELS_MAX or lies_within(records, name, (unit, *groups)):
            continue
        pairs = np.unique(np.stack([units, factor.codes.astype(np.int64)]), axis=1)
        patterns: dict[int, list[int]] = {}
        for one, level in pairs.T.tolist():
            patterns.setdefault(one, []).append(level)
        ((levels, times),) = Counter(map(tuple, patterns.values())).most_common(1)
        if len(levels) > 1 and times >= _BY_DESIGN * len(patterns):
            found.append(name)
    return tuple(found)


def as_factor(numbers: NDArray[np.float64]) -> Factor | None:
    """Give a column of numbers as labels, where they are few; None where they are many."""
    values, codes = np.unique(numbers, return_inverse=True)
    if values.size > _LEVELS_MAX:
        return None
    return Factor(tuple(f"{v:g}" for v in values), codes.astype(np.int32))
