"""How columns of a trial table lie to each other: inside, across, or crossed by design."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, group_rows
from simtrack.records import Records

__all__ = ["as_factor", "conditions_within", "group_codes", "joined_labels", "lies_within",
           "repeats_across", "tells_apart", "units_across"]  # fmt: skip

Codes = NDArray[np.int64]
#: A column is crossed with units by design if so many of them have one and the same set of levels.
_BY_DESIGN = 0.8
#: A design has no more levels than this; a set of them, and of no label, is held in 64 bits.
_LEVELS_MAX = 50
#: So many trials in pairs are told apart by a label of chance in one table of 32.
_APART_MIN = 5


def group_codes(records: Records, names: Sequence[str]) -> Codes:
    """Give every row the number of its combination of labels, (rows,); rows without names are 0."""
    if not names:
        return np.zeros(len(records), dtype=np.int64)
    columns = {n: records.factors[n].with_missing_named() for n in names}
    return np.asarray(group_rows(columns, len(records)).index, dtype=np.int64)


def lies_within(records: Records, name: str, groups: Sequence[str]) -> bool:
    """Say whether each group has one level of a column only, so that nothing of it is mixed."""
    outer, inner = group_codes(records, groups), records.factors[name].codes
    level = np.empty(int(outer.max(initial=-1)) + 1, dtype=inner.dtype)
    level[outer] = inner
    return bool((level[outer] == inner).all())


def units_across(records: Records, name: str, units: Sequence[str]) -> int:
    """Count the units that have trials at several levels of a column."""
    one = group_codes(records, units)
    pairs = group_codes(records, (*units, name))
    home = np.zeros(int(pairs.max(initial=-1)) + 1, dtype=np.int64)
    home[pairs] = one
    return int((np.bincount(home) > 1).sum())


def repeats_across(
    records: Records, name: str, outer: Sequence[str], inner: Sequence[str] = ()
) -> bool:
    """Say whether a label of `name` (within `inner`) stands under several labels of `outer`."""
    kept = records.take(records.factors[name].codes >= 0)
    ids, wider = group_codes(kept, (*inner, name)), group_codes(kept, (*outer, name))
    return bool(wider.max(initial=-1) > ids.max(initial=-1))


def joined_labels(records: Records, names: Sequence[str]) -> Factor:
    """Give every row the labels of these columns with slashes between; none without the last.

    Equal texts of different labels, as of a/b with c and of a with b/c, are numbered.
    """
    last = records.factors[names[-1]]
    columns = {n: records.factors[n].with_missing_named("") for n in names}
    groups = group_rows(columns, len(records))
    texts = ["/".join(parts) for parts in zip(*(f.values() for f in groups.factors.values()),
                                              strict=True)]  # fmt: skip
    times: dict[str, int] = {}
    for k, text in enumerate(texts):
        times[text] = times.get(text, 0) + 1
        texts[k] = text if times[text] == 1 else f"{text} ({times[text]})"
    found = Factor.from_values(texts)
    codes = np.where(last.codes < 0, -1, found.codes[groups.index])
    return Factor(found.levels, codes.astype(np.int32)).compact()


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
        if 1 < len(factor.levels) <= _LEVELS_MAX and not lies_within(
            records, name, (unit, *groups)
        ):
            _, alike = _sets(units, factor)
            if alike >= _BY_DESIGN * (units.max() + 1):
                found.append(name)
    return tuple(found)


def tells_apart(
    records: Records, unit: str, names: Sequence[str], trial: Sequence[str]
) -> tuple[str, ...]:
    """Name the columns that tell trials apart which agree in unit and in all of `trial`.

    So a column is found that was varied in some units only: no two trials of one repetition share
    a level, and most units with several levels have the same set of them.
    """
    trials = group_codes(records, (*trial, unit))
    again = np.bincount(trials)[trials] > 1
    if np.unique(trials[again]).size < _APART_MIN:
        return ()
    rows = records.take(again)
    keys, units = trials[again], group_codes(rows, (unit,))
    found = []
    for name in names:
        factor = records.factors[name].compact()
        if not 1 < len(factor.levels) <= _LEVELS_MAX:
            continue
        factor = factor.take(again)
        cells = np.unique(keys * (_LEVELS_MAX + 1) + factor.codes + 1).size
        several, alike = _sets(units, factor)
        if cells == keys.size and alike >= _BY_DESIGN * several:
            found.append(name)
    return tuple(found)


def _sets(units: Codes, factor: Factor) -> tuple[int, int]:
    """Count the units with several levels, and those that share their commonest set."""
    seen = np.zeros((int(units.max(initial=-1)) + 1, 64), dtype=bool)
    seen[units, factor.codes + 1] = True
    held = np.packbits(seen, axis=1).view(np.uint64).ravel()
    several = held[held & (held - np.uint64(1)) != 0]
    _, times = np.unique(several, return_counts=True)
    return int(several.size), int(times.max(initial=0))


def as_factor(numbers: NDArray[np.float64]) -> Factor | None:
    """Give a column of numbers as labels, where they are few; None where they are many."""
    values, codes = np.unique(numbers, return_inverse=True)
    if values.size > _LEVELS_MAX:
        return None
    return Factor(tuple(map(repr, values.tolist())), codes.astype(np.int32))
