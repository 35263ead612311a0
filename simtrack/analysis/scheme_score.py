"""Replies scored by a scheme: account, composition, and every estimand that the columns allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simtrack.analysis.estimate import estimate
from simtrack.analysis.scope import default_cluster, differing, find_factor
from simtrack.analysis.score import account_rows
from simtrack.counts import Counts, group_rows
from simtrack.errors import DataError, InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.estimands import estimand as look_up
from simtrack.inference import sign_flip_contrast
from simtrack.inference.contrasts import contrast_t
from simtrack.note import Note, plain_notes
from simtrack.options import MissingCluster
from simtrack.records import Accounting, Records, Replies, account
from simtrack.scoring.schemes import Scheme, load_protocol, scheme_of
from simtrack.validate import confidence_level

__all__ = ["Composition", "SchemeRow", "SchemeScore", "needed_columns", "score_replies"]

#: Estimates that differ by less are one.
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class SchemeRow:
    """What is one estimand in one group?

    `numerator` and `denominator` are None for contrasts; `pvalue` is the exact sign-flip p over
    clusters of a contrast, None for rates. What is not defined is None, and `notes` say why.
    """

    estimand: str
    symbol: str
    labels: tuple[str, ...]
    estimate: float | None
    low: float | None
    high: float | None
    numerator: int | None
    denominator: int | None
    clusters: int
    pvalue: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Composition:
    """How many replies ended in each code, by group? `codes` are the columns of `counts`."""

    by: tuple[str, ...]
    codes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class SchemeScore:
    """What do these replies say under a scheme?

    Attributes
    ----------
    scheme, cluster : str
    by : tuple of str
        The grouping columns; `view` is among them where there are several readings.
    level : float
    accounting : Accounting
    composition : Composition
    rows : tuple of SchemeRow
    left_out : mapping of estimand to the reason
        Estimands of the scheme that this table cannot serve.
    notes : tuple of str
    """

    scheme: str
    cluster: str
    by: tuple[str, ...]
    level: float
    accounting: Accounting
    composition: Composition
    rows: tuple[SchemeRow, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        names = ("symbol", "estimate", "low", "high", "numerator", "denominator", "clusters",
                 "pvalue")  # fmt: skip
        table = self.composition
        return {
            "schema": "simtrack.scheme-score/2",
            "scheme": self.scheme,
            "cluster": self.cluster,
            "by": list(self.by),
            "level": self.level,
            "accounting": account_rows(self.accounting),
            "composition": [
                dict(zip(table.by, labels, strict=True)) | dict(zip(table.codes, n, strict=True))
                for labels, n in zip(table.labels, table.counts, strict=True)
            ],
            "rows": [
                {"estimand": r.estimand, "labels": dict(zip(self.by, r.labels, strict=True))}
                | {name: getattr(r, name) for name in names}
                | {"notes": plain_notes(r.notes)}
                for r in self.rows
            ],
            "left_out": dict(self.left_out),
            "notes": plain_notes(self.notes),
        }


def score_replies(
    replies: Replies,
    scheme: str,
    *,
    protocol: str | Path | Mapping[str, Any] | None = None,
    by: Sequence[str] = (),
    cluster: str | None = None,
    level: float = 0.95,
    icc: float | None = None,
    missing_cluster: MissingCluster = "refuse",
) -> tuple[SchemeScore, Mapping[str, Records]]:
    """What do archived replies say under a scheme of the papers?

    Parameters
    ----------
    replies : Replies
        See `simtrack.logs.read_replies`.
    scheme : {"stageif", ...}
    protocol : path or plain data, optional
        How replies are read and what is right; the paper's if not given.
    by : sequence of str
        Grouping columns; without any, those of task, model, arm and source that differ.
    cluster : str, optional
        The resampling unit; the scheme's usual column if the table has one.
    level, icc, missing_cluster
        As in `estimate`.

    Returns
    -------
    SchemeScore, mapping of str to Records
        The report, and the scored tables by what their rows are, for any other verb.
    """
    confidence_level("level", level)
    how = scheme_of(scheme)
    settings = (
        how.load(protocol, "protocol")
        if isinstance(protocol, Mapping)
        else load_protocol(how, protocol)
    )
    tables = how.score(replies, settings)
    found = next(iter(tables.values()))
    usual = (*how.clusters, "unit")
    unit = find_factor(found, cluster) if cluster else default_cluster(found, usual)
    names = list(dict.fromkeys(find_factor(found, name) for name in by)) or _differing(
        replies.records, found, unit
    )
    if unit in names:
        raise InputError("by", f"other than the cluster, {unit}")
    if "view" in found.factors and "view" not in names:
        names.insert(0, "view")
    groups = tuple(names)
    accounting = account(found, groups)
    _refuse_empty(found, accounting)
    rows: list[SchemeRow] = []
    left_out: dict[str, str] = {}
    for table in tables.values():
        _add_rows(table, how, groups, (unit, missing_cluster), (level, icc), rows, left_out)
    composition = _composition(found, how, groups)
    alone: tuple[str, ...] = ()
    if cluster is None and unit == "unit" and how.clusters:
        cure = "--cluster names another that units belong to"
        text = f"clusters are units, for want of a column {how.clusters[0]}; {cure}"
        alone = (Note("clusters-are-units", text),)
    score = SchemeScore(scheme, unit, groups, level, accounting, composition, tuple(rows),
                        left_out, (*found.notes, *alone))  # fmt: skip
    return score, tables


def _differing(before: Records, found: Records, unit: str) -> list[str]:
    """Group by the columns of the log that differ, under the names that the scheme left them."""
    if unit not in before.factors:
        return list(differing(found, unit))
    kept = {n: f"column.{n}" for n in differing(before, unit)}
    names = [own if own in found.factors else n for n, own in kept.items()]
    return [name for name in names if name in found.factors]


def needed_columns(what: Estimand | Contrast) -> tuple[str, ...]:
    """Name the columns that an estimand is defined on."""
    parts = [what] if isinstance(what, Estimand) else [e for _, e in what.terms]
    return tuple(dict.fromkeys(f for e in parts for c in (*e.where, *e.among) for f in c.factors))


def _add_rows(
    table: Records,
    how: Scheme,
    by: tuple[str, ...],
    counted: tuple[str, MissingCluster],
    ends: tuple[float, float | None],
    rows: list[SchemeRow],
    left_out: dict[str, str],
) -> None:
    for name in how.estimands:
        what = look_up(name)
        mine = what if isinstance(what, Estimand) else what.terms[0][1]
        if not set(table.factors["outcome"].levels) <= set(mine.taxonomy.codes):
            continue
        if name in how.only_by and not set(how.only_by[name]) & set(by):
            continue
        needed = needed_columns(what)
        lacking = [f for f in needed if f not in table.factors]
        if lacking:
            left_out[name] = f"needs the column {', '.join(lacking)}"
            continue
        groups = tuple(n for n in by if n in table.factors)
        columns = list(dict.fromkeys((*groups, *needed)))
        counts = table.counts(cluster=counted[0], by=columns, missing_cluster=counted[1])
        if isinstance(what, Estimand):
            made = _rates(counts, what, groups, *ends)
        else:
            made = _contrasts(counts, what, groups, ends[0])
        if not any(row.estimate is not None for row in made):
            left_out[name] = "has no reply in its denominator"
        else:
            rows += [replace(row, labels=_padded(row.labels, groups, by)) for row in made]


def _padded(
    labels: tuple[str, ...], groups: tuple[str, ...], by: tuple[str, ...]
) -> tuple[str, ...]:
    """Give a label for every grouping column; empty where the table does not have the column."""
    known = dict(zip(groups, labels, strict=True))
    return tuple(known.get(name, "") for name in by)


def _rates(
    counts: Counts, what: Estimand, by: tuple[str, ...], level: float, icc: float | None
) -> list[SchemeRow]:
    found = []
    totals = what.totals(counts, by)
    sizes = {c: totals.numerator[:, k].sum() for k, c in enumerate(totals.conditions)}
    for row in estimate(counts, what, by=by, level=level, icc=icc).rows:
        undefined = () if row.n else ("not defined: its denominator is empty",)
        found.append(
            SchemeRow(what.name, what.symbol, row.labels, row.rate, row.low, row.high,
                      round(float(sizes[row.labels])), row.n, row.clusters,
                      notes=(*undefined, *row.notes))
        )  # fmt: skip
    return found


def _contrasts(
    counts: Counts, what: Contrast, by: tuple[str, ...], level: float
) -> list[SchemeRow]:
    found = []
    for labels in _groups(counts, by):
        part = counts.select(**dict(zip(by, labels, strict=True))) if by else counts
        totals, weights = what.stacked(part)
        ends = contrast_t(totals, weights, level=level)
        notes = list(ends.notes)
        pvalue = None
        try:
            test = sign_flip_contrast(totals, weights)
            pvalue = test.pvalue
            if abs(test.statistic - (ends.estimate or 0.0)) > _EQUAL:
                notes.append(
                    f"p is of another quantity: {test.statistic:+.4f}, the mean of clusters "
                    f"that have every term ({test.clusters}); the estimate pools trials"
                )
            notes += test.notes
        except InputError as error:
            notes.append(f"no sign-flip p: {error}")
        found.append(
            SchemeRow(what.name, what.symbol, labels, ends.estimate, ends.low, ends.high,
                      None, None, ends.clusters, pvalue, tuple(dict.fromkeys(notes)))
        )  # fmt: skip
    return found


def _groups(counts: Counts, by: tuple[str, ...]) -> list[tuple[str, ...]]:
    if not by:
        return [()]
    factors = [counts.conditions[name] for name in by]
    seen = {tuple(int(f.codes[k]) for f in factors) for k in range(len(counts.cells))}
    return [
        tuple(f.levels[c] for f, c in zip(factors, codes, strict=True)) for codes in sorted(seen)
    ]


def _composition(found: Records, how: Scheme, by: tuple[str, ...]) -> Composition:
    """Count codes by group, and by stage and duty where there are such columns."""
    finer = [n for n in ("duty", "stage") if n in found.factors and n not in by]
    names = (*by, *finer)
    outcome = found.factors["outcome"]
    known = how.taxonomy.codes
    if not set(outcome.levels) <= set(known):
        known = outcome.levels
    filled = {f"by:{n}": found.factors[n].with_missing_named() for n in names}
    groups = group_rows(filled, len(found))
    places = np.array([*(known.index(level) for level in outcome.levels), len(known)])
    cells = groups.index * (len(known) + 1) + places[outcome.codes]
    counts = np.bincount(cells, minlength=groups.size * (len(known) + 1))
    table = counts.reshape(groups.size, len(known) + 1).tolist()
    made = list(groups.factors.values())
    order = sorted(range(groups.size), key=lambda k: [int(f.codes[k]) for f in made])
    keys = [tuple(f.levels[f.codes[k]] for f in made) for k in order]
    table = [table[k] for k in order]
    codes = (*known, "(unscored)")
    kept = [k for k in range(len(codes)) if any(line[k] for line in table)]
    return Composition(
        names,
        tuple(codes[k] for k in kept),
        tuple(keys),
        tuple(tuple(line[k] for k in kept) for line in table),
    )


def _refuse_empty(found: Records, accounting: Accounting) -> None:
    if accounting.total("scored"):
        return
    raise DataError(
        f"no reply can be scored: {accounting.planned} planned, none valid. "
        + " ".join(found.notes)
    )
