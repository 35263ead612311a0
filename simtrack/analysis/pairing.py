"""What may be compared with what: the units that both levels have."""

from __future__ import annotations

import numpy as np

from simtrack.analysis.scope import Scope
from simtrack.counts import Loss, Losses, group_rows
from simtrack.records import Records, scored_rows

__all__ = ["in_both"]


def in_both(scope: Scope, a: str, b: str) -> Records:
    """Keep the scored trials of units that both levels have; the rest become losses "unpaired".

    Where clusters hold several units, a level that lost its hard ones would look better than it is.
    Without ids, or where units are the clusters, there is nothing to match below them; nor where no
    unit has both levels, as when every stage of a scenario is a unit.
    """
    records, name, factor = scope.records, scope.cluster, scope.factor
    if factor is None or scope.unit in (None, name) or name not in records.factors:
        return records
    side, unit = records.factor(factor), records.factors[scope.unit]
    codes = (side.code_of(a, factor), side.code_of(b, factor))
    scored = scored_rows(records) & np.isin(side.codes, codes)
    places = {"cluster": records.factors[name], "unit": unit}
    keys = {n: f.with_missing_named() for n, f in places.items()}
    groups = group_rows(keys, len(records))
    both = np.ones(groups.size, dtype=bool)
    for code in codes:
        both &= np.bincount(groups.index[scored & (side.codes == code)], minlength=groups.size) > 0
    lone = scored & ~both[groups.index]
    if not lone.any() or not both.any():  # stages of a scenario are units of their own
        return records
    lost = []
    for code, label, other in ((codes[0], a, b), (codes[1], b, a)):
        units = unit.take(lone & (side.codes == code)).values()
        why = f"its unit has no scored trial in {other}"
        examples = tuple(dict.fromkeys(u for u in units if u is not None))
        lost.append(Loss("unpaired", len(units), why, ((factor, label),), examples))
    kept = records.take(~lone)
    losses = kept.losses + Losses.of(lost)
    return Records(kept.factors, kept.numbers, losses, kept.parents, kept.kind, kept.notes)
