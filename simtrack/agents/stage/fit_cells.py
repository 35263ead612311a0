"""A pilot's table as the cells of a stage agent: what each node passed, cluster by cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.heterogeneity import logit_mean, logit_normal_moments
from simtrack.agents.stage.tables import NONE, OUT_OF_VOCABULARY, POSITIONS
from simtrack.counts import Counts
from simtrack.errors import DataError, InputError
from simtrack.records import Records
from simtrack.taxonomy import STAGEIF, STAGES

__all__ = ["PilotCell", "SpreadPosterior", "confusion_rows", "pilot_cells", "spread_posterior"]


_DETAIL = ("duty", "stage", "position", "reported", "emitted")
_FAILURES = ("APP_DIVERGENCE", "APP_MISS", "MALFORMED", "STATE_WRONG")
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PilotCell:
    """What a pilot shows of one cell.

    Parameters
    ----------
    name : str
        "READY", or "READY, arm=bundle".
    labels : mapping
        Stage or position, and the conditions that the agent differs by.
    is_due : bool
    clean_by, valid_by : int64 arrays, shape (clusters,)
        CLEAN and valid rows of each cluster; clusters in one order for all cells.
    failures : tuple of float
        Rows in APP_DIVERGENCE, APP_MISS, MALFORMED, STATE_WRONG.
    alarms : float
        Rows in APP_FALSE_ALARM.
    tagged : float
        Share of APP_DIVERGENCE rows that carry a report.
    wrong : mapping of value to float
        What STATE_WRONG rows name.
    """

    name: str
    labels: Mapping[str, str]
    is_due: bool
    clean_by: Ints
    valid_by: Ints
    failures: tuple[float, ...]
    alarms: float
    tagged: float
    wrong: Mapping[str, float]

    @property
    def clean(self) -> float:
        """CLEAN rows."""
        return float(self.clean_by.sum())

    @property
    def valid(self) -> float:
        """Rows with a valid response."""
        return float(self.valid_by.sum())


def pilot_cells(
    pilot: Counts | Records, by: tuple[str, ...]
) -> tuple[list[PilotCell], float, tuple[str, ...]]:
    """Split a pilot into cells; give the share of transport failures and what is missing too."""
    counts = _counted(pilot, by)
    STAGEIF.check(counts.outcomes)
    for name in ("duty", "stage", *by):
        if name not in counts.conditions:
            cure = f"Count with by=[..., '{name}']."
            raise InputError("pilot", f"with a condition {name}", ", ".join(counts.conditions),
                             cure=cure)  # fmt: skip
    columns = {name: factor.values() for name, factor in counts.conditions.items()}
    rows: dict[tuple[str, ...], list[int]] = {}
    for k in range(len(counts.cells)):
        rows.setdefault(_key(columns, by, k), []).append(k)
    cells = [_cell(counts, columns, by, key, np.array(found)) for key, found in rows.items()]
    kept = [cell for cell in cells if cell.valid > 0]
    if not kept:
        raise DataError("the pilot has no row with a valid response.")
    lost = counts.cells[:, [o == "TRANSPORT" for o in counts.outcomes]].sum()
    notes = tuple(
        f"the pilot is not split by {name}: {what}"
        for name, what in (
            ("reported", "wrong reports name each other stage as often"),
            ("emitted", "tool calls are taken to carry no report"),
        )
        if name not in counts.conditions
    )
    return sorted(kept, key=_order), float(lost) / counts.n, notes


def confusion_rows(cells: Sequence[PilotCell]) -> list[tuple[dict[str, str], dict[str, float]]]:
    """Give what wrong reports name by cell, or nothing where the pilot does not say."""
    rows = []
    for cell in cells:
        if not cell.is_due:
            continue
        gold = cell.labels["stage"]
        known = {v: n for v, n in cell.wrong.items() if v in (*STAGES, OUT_OF_VOCABULARY)}
        total = sum(known.values())
        even = {z: 1.0 / 3.0 for z in STAGES if z != gold}
        row = {v: n / total for v, n in known.items()} if total else even
        rows.append((dict(cell.labels), row))
    return rows


def _counted(pilot: Counts | Records, by: tuple[str, ...]) -> Counts:
    if isinstance(pilot, Counts):
        return pilot
    known = [n for n in (*_DETAIL, *by) if n in pilot.factors]
    return pilot.counts(by=list(dict.fromkeys(known)))


def _key(
    columns: Mapping[str, Sequence[str | None]], by: tuple[str, ...], k: int
) -> tuple[str, ...]:
    is_due = columns["duty"][k] == "1"
    place = columns["stage"][k] if is_due else columns.get("position", columns["stage"])[k]
    if place not in (STAGES if is_due else POSITIONS):
        kind, known = ("stage", STAGES) if is_due else ("position", POSITIONS)
        raise DataError(
            f"{kind} {place!r} of duty {columns['duty'][k]} is none of {', '.join(known)}. "
            "Map it first."
        )
    return (str(columns["duty"][k]), str(place), *(str(columns[name][k]) for name in by))


def _cell(
    counts: Counts,
    columns: Mapping[str, Sequence[str | None]],
    by: tuple[str, ...],
    key: tuple[str, ...],
    rows: NDArray[np.int64],
) -> PilotCell:
    is_due = key[0] == "1"
    table = counts.cells[rows]
    code = {o: table[:, k].astype(np.float64) for k, o in enumerate(counts.outcomes)}
    none = np.zeros(len(rows))
    clusters = len(counts.cluster.levels)
    where = counts.cluster.codes[rows]
    clean_by, valid_by = (
        np.bincount(where, weights=w, minlength=clusters).astype(np.int64)
        for w in (code.get("CLEAN", none), table.sum(axis=1) - code.get("TRANSPORT", none))
    )
    acted = code.get("APP_DIVERGENCE", none)
    emitted = [columns.get("emitted", [""] * len(columns["duty"]))[k] == "1" for k in rows]
    tagged = float(acted[emitted].sum() / acted.sum()) if acted.sum() else 0.0
    wrong: dict[str, float] = {}
    if "reported" in columns:
        for k, n in zip(rows.tolist(), code.get("STATE_WRONG", none).tolist(), strict=True):
            value = columns["reported"][k] or NONE
            wrong[value] = wrong.get(value, 0.0) + n
    labels = {("stage" if is_due else "position"): key[1], **dict(zip(by, key[2:], strict=True))}
    name = ", ".join([key[1], *(f"{n}={v}" for n, v in zip(by, key[2:], strict=True))])
    failures = tuple(float(code.get(f, none).sum()) for f in _FAILURES)
    alarms = float(code.get("APP_FALSE_ALARM", none).sum())
    seen = {v: n for v, n in wrong.items() if n > 0}
    return PilotCell(name, labels, is_due, clean_by, valid_by, failures, alarms, tagged, seen)


def _order(cell: PilotCell) -> tuple[bool, int, str]:
    places = STAGES if cell.is_due else POSITIONS
    place = cell.labels["stage" if cell.is_due else "position"]
    return (not cell.is_due, places.index(place), cell.name)


# How much clusters differ in adherence, from a pilot: the posterior of level SD and slope SD.
Floats = NDArray[np.float64]
_LEVELS, _SLOPES = 16, 10
_SDS = 3.0
_DEVIATES = np.arange(-16, 17) * 0.25


@dataclass(frozen=True, slots=True, eq=False)
class SpreadPosterior:
    """Grid nodes (n,) of both SDs, their weights, and the design effect (n, cells) at each."""

    sd: Floats
    slope_sd: Floats
    weights: Floats
    design_effect: Floats
    slope_on: tuple[str, str] | None
    notes: tuple[str, ...]


def spread_posterior(
    cells: Sequence[PilotCell], slope_on: tuple[str, str] | None, scale: float
) -> SpreadPosterior:
    """Integrate each cluster's two deviates out, at each cell's pooled adherence.

    The likelihood of (sd, slope_sd) is the product over clusters of
    ∬ Π_c Binomial(clean | valid, expit(m_c + sd·u + slope_sd·v·[c on slope])) φ(u) φ(v) du dv,
    m_c such that the cell's mean is its pooled rate, half a trial added to either side.
    """
    on = [slope_on is not None and c.labels.get(slope_on[0]) == slope_on[1] for c in cells]
    has_slope = any(on) and not all(on)
    root = (np.arange(_LEVELS) + 0.5) / _LEVELS
    sds, prior = _SDS * scale * root * root, np.log(root) - 0.5 * (_SDS * root * root) ** 2
    steps = (np.arange(_SLOPES) + 0.5) / _SLOPES
    slopes = _SDS * scale * steps * steps if has_slope else np.zeros(1)
    slope_prior = np.log(steps) - 0.5 * (_SDS * steps * steps) ** 2 if has_slope else np.zeros(1)
    logs = np.empty((sds.size, slopes.size))
    effects = np.ones((sds.size, slopes.size, len(cells)))
    for i, sd in enumerate(sds.tolist()):
        for j, slope in enumerate(slopes.tolist()):
            spreads = [math.hypot(sd, slope) if here else sd for here in on]
            means = [logit_mean(_rate(c), s) for c, s in zip(cells, spreads, strict=True)]
            logs[i, j] = prior[i] + slope_prior[j] + _log_likelihood(cells, means, on, sd, slope)
            for k, cell in enumerate(cells):
                icc = logit_normal_moments(means[k], spreads[k])[1]
                n = cell.valid_by.astype(np.float64)
                size = float((n * n).sum() / n.sum())
                effects[i, j, k] = 1.0 + icc * max(0.0, size - 1.0)
    weights = np.exp(logs - logs.max()).ravel()
    grid = np.meshgrid(sds, slopes, indexing="ij")
    note = f"half-normal priors of scale {scale:g} on the cluster SDs of adherence"
    if not has_slope and slope_on is not None:
        note += f"; no slope, since the pilot is not on both sides of {'='.join(slope_on)}"
    return SpreadPosterior(
        grid[0].ravel(), grid[1].ravel(), weights / weights.sum(),
        effects.reshape(-1, len(cells)), slope_on if has_slope else None, (note,),
    )  # fmt: skip


def _rate(cell: PilotCell) -> float:
    return (cell.clean + 0.5) / (cell.valid + 1.0)


def _log_likelihood(
    cells: Sequence[PilotCell], means: Sequence[float], on: Sequence[bool], sd: float, slope: float
) -> float:
    """Sum over clusters, the two deviates integrated by trapezium."""
    density = np.exp(-0.5 * _DEVIATES**2)
    density /= density.sum()
    across = _DEVIATES if slope > 0.0 else np.zeros(1)
    along = density if slope > 0.0 else np.ones(1)
    shape = (cells[0].clean_by.size if cells else 1, _DEVIATES.size, across.size)
    log = np.zeros(shape)
    for cell, mean, here in zip(cells, means, on, strict=True):
        logit = mean + sd * _DEVIATES[:, None] + (slope * across[None, :] if here else 0.0)
        k = cell.clean_by[:, None, None]
        n = cell.valid_by[:, None, None]
        log = log - k * np.logaddexp(0.0, -logit) - (n - k) * np.logaddexp(0.0, logit)
    most = log.max(axis=(1, 2))
    inside = np.exp(log - most[:, None, None]) * density[:, None] * along[None, :]
    return float((np.log(inside.sum(axis=(1, 2))) + most).sum())
