"""Drawn dialogues as the trial table that a reader of their log would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simtrack.counts import Factor
from simtrack.records import Records
from simtrack.taxonomy import STAGEIF, TRAJECTORY

__all__ = ["cell_of", "trajectories", "trajectory_records"]


def trajectories(records: Records) -> Records:
    """Were a dialogue's mid-task reports all wrong, all right, or both? One row a dialogue.

    Dialogues with fewer than two mid-task reports leave the table, as in StageIF §2.2.

    Parameters
    ----------
    records : Records
        One reading: columns trajectory, cluster, stage and outcome; select a `view` first.
    """
    rows = records.select(stage="POST_OBS")
    names = [n for n in rows.factors if n not in _OF_REPORTS]
    keys = [tuple(rows.factors[n].values()[k] for n in names) for k in range(len(rows))]
    clean = [value == "CLEAN" for value in rows.factor("outcome").values()]
    found: dict[tuple[str | None, ...], list[bool]] = {}
    for key, right in zip(keys, clean, strict=True):
        found.setdefault(key, []).append(right)
    several = {key: rights for key, rights in found.items() if len(rights) > 1}
    columns = {n: [key[k] for key in several] for k, n in enumerate(names)}
    columns["outcome"] = [
        "ALL_RIGHT" if all(rights) else "MIXED" if any(rights) else "ALL_WRONG"
        for rights in several.values()
    ]
    levels = {n: rows.factors[n].levels for n in names} | {"outcome": TRAJECTORY.codes}
    return Records.from_columns(columns, levels=levels, kind="episode")


_OF_REPORTS = ("unit", "duty", "stage", "bin", "gold", "reported", "emitted", "outcome")


def cell_of(label: Mapping[str, str], cells: Sequence[Mapping[str, str]]) -> int:
    """Say in which cell a row with these labels lies."""
    return next(k for k, cell in enumerate(cells) if all(label[n] == v for n, v in cell.items()))


def trajectory_records(rows: list[tuple[Any, ...]], labels: Sequence[Mapping[str, str]]) -> Records:
    """Build the table from (cluster, repetition, kind, place, labels, code) rows."""
    names = list(labels[0])
    columns: dict[str, list[str]] = {
        "cluster": [f"{row[0] + 1}" for row in rows],
        "trajectory": [f"{row[0] + 1}.{row[1] + 1}" for row in rows],
        "unit": [f"{row[0] + 1}.{row[1] + 1}:{row[2] + 1}.{row[3] + 1}" for row in rows],
        "repetition": [f"{row[1] + 1}" for row in rows],
    }
    columns |= {name: [row[4][name] for row in rows] for name in names}
    columns["outcome"] = [row[5] for row in rows]
    levels: dict[str, tuple[str, ...]] = {
        name: tuple(dict.fromkeys(label[name] for label in labels)) for name in names
    }
    levels["outcome"] = STAGEIF.codes
    factors = {n: Factor.from_values(v, levels.get(n)) for n, v in columns.items()}
    value = np.array([float(row[5] == "CLEAN") for row in rows])
    return Records(factors, {"value": value}, kind="checkpoint")
