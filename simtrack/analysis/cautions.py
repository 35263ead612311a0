"""What a reader should know of a table before its numbers: units alike, columns not used, arms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import comb
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.crossing import group_codes, lies_within
from simtrack.analysis.scope import OF_TRIALS, REPETITION, Scope
from simtrack.counts import NO_LABEL
from simtrack.note import Note
from simtrack.records import IDENTITY, Records, scored_rows

__all__ = ["cautions_of_arms", "cautions_of_table"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
#: A coarser column is told where the variance by it is so many times that by unit.
_ALIKE = 1.3
#: Fewer levels than this are strata or labels of answers, not a sample of clusters.
_CLUSTERS_MIN = 5
#: A column of a usual name may have fewer, but two are the sides of a comparison.
_NAMED_MIN = 3
#: How often columns without any effect may be proposed, in one table of ten, a hundred, ...
_CHANCE = 0.05
#: Columns whose levels hold several related units, told whatever the scores say.
_COARSER = ("scenario", "episode", "session", "conversation", "dialogue", "problem", "passage",
            "document", "template", "repo", "repository", "question", "base_id")  # fmt: skip
_FAILED = re.compile(
    r"\w(error|exception|timeout)\b"
    r"|\b(error(ed)?|fail(ed)? to \w+|crash(ed)?|time[d]?[ -]?out|timeout|cancel(l?ed)?|aborted"
    r"|infra(structure)?|exception|killed|oom|rate[ -]?limit(ed)?)\b", re.I)  # fmt: skip
_FATE_COLUMNS = ("status", "error", "exception", "outcome", "state", "exit", "termination",
                 "result", "fate")  # fmt: skip
#: Columns of more labels than this hold texts, which may speak of errors, not fates.
_FATES_MAX = 50
_WEIGHTS = ("weight", "weights", "sample_weight", "item_weight")
#: Units of which this many stopped at a first success are no accident.
_STOPPED_MIN = 5
#: Units that one arm ran on were chosen by the other's results if chance is this unlikely.
_CHOSEN = 0.01


def cautions_of_table(scope: Scope, explicit: str | None = None) -> tuple[Note, ...]:
    """Say what the table holds that the rates do not show.

    Parameters
    ----------
    scope : Scope
    explicit : str, optional
        The column of clusters that the user named; then none is proposed.

    Returns
    -------
    tuple of Note
        With the codes "cut-units", "coarser", "fate-column", "weight-column", "first-success".
    """
    found = [*_fates(scope.records), *_weights(scope.records), *_first_success(scope)]
    if explicit is None and scope.unit == scope.cluster:
        found = [*_coarser(scope), *found]
    return (*_cut(scope), *found)


def cautions_of_arms(scope: Scope, a: str, b: str) -> tuple[Note, ...]:
    """Say where two arms can hardly be compared: other scales, or units chosen by their results.

    Returns
    -------
    tuple of Note
        With the codes "scales" and "chosen-subset".
    """
    if scope.factor is None or "value" not in scope.records.numbers:
        return ()
    side = scope.records.factors[scope.factor]
    if not {a, b} <= set(side.levels):
        return ()
    scored = scored_rows(scope.records)
    values = scope.records.numbers["value"]
    masks = {x: scored & (side.codes == side.code_of(x, scope.factor)) for x in (a, b)}
    if not all(mask.any() for mask in masks.values()):
        return ()
    found = []
    most = {x: float(np.abs(values[mask]).max()) for x, mask in masks.items()}
    low, high = sorted(most, key=lambda x: most[x])
    if most[low] <= 1.0 and most[high] > 2.0:
        text = (f"scores of {low} reach {most[low]:g} and those of {high} {most[high]:g}: are they "
                "on one scale?")  # fmt: skip
        found.append(Note("scales", text))
    if scope.unit is not None:
        units = group_codes(scope.records, (scope.unit,))
        for chosen, other in ((a, b), (b, a)):
            found += _chosen(units, values, masks[chosen], masks[other], chosen, other)
    return tuple(found)


def _chosen(
    units: Codes, values: Floats, mine: NDArray[np.bool_], theirs: NDArray[np.bool_],
    chosen: str, other: str,
) -> list[Note]:  # fmt: skip
    """Say where one arm ran only on units that the other had all lost, or all won.

    So many units drawn at random from the other's would all be such ones by a chance of
    C(lost, n) / C(all, n).
    """
    size = int(units.max()) + 1
    tried = np.bincount(units[theirs], minlength=size) > 0
    shared = tried & (np.bincount(units[mine], minlength=size) > 0)
    n, of = int(shared.sum()), int(tried.sum())
    if n < _STOPPED_MIN or n == of:
        return []
    for end, word in ((values[theirs].min(), "least"), (values[theirs].max(), "highest")):
        away = np.bincount(units[theirs & (values != end)], minlength=size) > 0
        ended = int((tried & ~away).sum())
        if not (shared & away).any() and comb(ended, n) < _CHOSEN * comb(of, n):
            text = (f"{chosen} ran only on {n} of the {ended} units where {other} has the {word} "
                    "score: units chosen by a result cannot compare the arms")  # fmt: skip
            return [Note("chosen-subset", text, n=n)]
    return []


def _coarser(scope: Scope) -> list[Note]:
    """Propose a coarser column that units of like scores share, with what it does to the error."""
    records = scope.records
    asked = {*scope.by, scope.factor, *OF_TRIALS, *REPETITION, *IDENTITY[:-1], *scope.conditions}
    outer = [n for n in IDENTITY[:-1] if n in records.factors]
    influence, units = _influence(scope)
    by_unit, size = _variance(influence, units), int(np.unique(units).size)
    held: list[tuple[float, str, int]] = []
    for name, whole in records.factors.items():
        if name in asked or "/" in name or name in {"unit", "cluster"} or (whole.codes < 0).any():
            continue
        part = whole.compact()
        least = _NAMED_MIN if name in _COARSER else _CLUSTERS_MIN
        if not least <= len(part.levels) < size or not lies_within(records, name, (scope.cluster,)):
            continue
        if all(lies_within(records, n, (name,)) for n in outer):
            ratio = (
                _variance(influence, group_codes(records, (name,))) / by_unit
                if by_unit > 0.0
                else 0.0
            )
            held.append((ratio, name, len(part.levels)))
    told = [(ratio, name, levels) for ratio, name, levels in held
            if name in _COARSER or ratio >= max(_ALIKE, _by_chance(levels, len(held)))]  # fmt: skip
    if not told:
        return []
    ratio, name, levels = max(told)
    effect = f" (design effect {ratio:.1f})" if ratio >= _ALIKE else ""
    text = (f"clusters are units; ids share a {name}: --cluster {name} takes the {levels} of them "
            f"as clusters{effect}")  # fmt: skip
    return [Note("coarser", text, n=levels)]


def _by_chance(levels: int, columns: int) -> float:
    """Give the ratio of variances that the largest of so many columns reaches by chance alone.

    The quantile of chi-square over its degrees of freedom, by Wilson and Hilferty (1931), at
    0.05 over the number of columns.
    """
    z, v = NormalDist().inv_cdf(1.0 - _CHANCE / columns), 2.0 / (9.0 * (levels - 1))
    return float((1.0 - v + z * v**0.5) ** 3)


def _cut(scope: Scope) -> list[Note]:
    """Say where trials of one unit are spread over clusters, which are then not independent."""
    n = scope.cut_units
    text = (f"trials of {n} units lie in several clusters: by {scope.cluster} they are not "
            "independent")  # fmt: skip
    return [Note("cut-units", text, n=n)] if n else []


def _influence(scope: Scope) -> tuple[Floats, Codes]:
    """Give each row's share in the error of the mean, or of the mean difference of two levels."""
    records = scope.records
    units = group_codes(records, (scope.cluster,))
    values = records.numbers.get("value")
    found = np.zeros(len(records))
    if values is None:
        return found, units
    keep, sign = scored_rows(records), np.ones(len(records))
    if scope.factor is not None and scope.levels is not None:
        side = records.factors[scope.factor]
        first, second = (side.codes == (side.levels.index(x) if x in side.levels else -2)
                         for x in scope.levels)  # fmt: skip
        keep, sign = keep & (first | second), np.where(second, -1.0, 1.0)
    sides = group_codes(records, tuple(n for n in (*scope.by, scope.factor) if n))
    trials = np.maximum(np.bincount(sides[keep], minlength=int(sides.max()) + 1), 1)
    means = np.bincount(sides[keep], values[keep], minlength=trials.size) / trials
    found[keep] = (sign * (values - means[sides]) / trials[sides])[keep]
    return found, units


def _variance(influence: Floats, groups: Codes) -> float:
    """Give the cluster variance of a mean from the rows' influences, with G/(G-1)."""
    sums = np.bincount(groups, influence)
    g = int((np.bincount(groups) > 0).sum())
    return float((sums * sums).sum()) * g / max(g - 1, 1)


def _fates(records: Records) -> list[Note]:
    """Name a column that says of some trials that they failed to run, and is not used."""
    used = records.factors.get("status")
    if used is not None and set(used.compact().levels) != {"scored"}:
        return []
    found = []
    for name, whole in records.factors.items():
        plain = name.removeprefix("column.").lower()
        if name in {"status", "reason"} or not any(w in plain.split("_") for w in _FATE_COLUMNS):
            continue
        factor = whole.compact()
        if len(factor.levels) > _FATES_MAX:
            continue
        failed = [level for level in factor.levels if _FAILED.search(level)]
        others = [level for level in factor.levels if level not in failed]
        if (factor.codes < 0).any():
            others.append(factor.fresh(NO_LABEL))
        if not failed or (len(failed) > 1 and not others):
            continue
        n = int(np.isin(factor.codes, [factor.code_of(x, name) for x in failed]).sum())
        cure = f": --where '{name}={'|'.join(others[:3])}' counts others alone" if others else ""
        text = (f"the column {plain} says {_shown(failed)} of {n} trials, whose scores count as "
                f"they stand{cure}")  # fmt: skip
        found.append(Note("fate-column", text, n=n))
    return found


def _weights(records: Records) -> list[Note]:
    for name in (*records.numbers, *records.factors):
        if name.removeprefix("column.").lower() in _WEIGHTS:
            text = f"the column {name} is not used: every trial counts alike"
            return [Note("weight-column", text)]
    return []


def _first_success(scope: Scope) -> list[Note]:
    """Say where trials of a unit end with its first success, so that a rate speaks of stopping."""
    records, values = scope.records, scope.records.numbers.get("value")
    if values is None or scope.unit is None or "repetition" not in records.factors:
        return []
    keep = scored_rows(records)
    if not np.isin(values[keep], (0.0, 1.0)).all():
        return []
    asked = (*scope.by, scope.factor or "", *scope.conditions)
    arms = tuple(n for n in asked if n in records.factors)
    units = group_codes(records, (*arms, scope.unit))[keep]
    order = np.lexsort((records.factors["repetition"].codes[keep], units))
    groups, hits = units[order], values[keep][order]
    last = np.append(groups[1:] != groups[:-1], True)
    sizes = np.bincount(groups)
    sizes = sizes[sizes > 0]
    ended = int(hits[last].sum())
    early = hits[~last].sum() > 0
    if early or np.unique(sizes).size < 2 or ended < _STOPPED_MIN:
        return []
    text = (f"trials of {ended} units end with their first success: the rate of trials is not the "
            "rate of an attempt; count units (pass@1 needs a first trial of each)")  # fmt: skip
    return [Note("first-success", text, n=ended)]


def _shown(levels: Sequence[str]) -> str:
    more = ", …" if len(levels) > 2 else ""
    return ", ".join(repr(level) for level in levels[:2]) + more
