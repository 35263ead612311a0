"""Drawn checkpoints as the trial table that a reader of their log would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.stage_draws import StageCell
from simtrack.agents.stage_leaves import NONE, Leaf
from simtrack.agents.stage_tables import OUT_OF_VOCABULARY
from simtrack.counts import Factor
from simtrack.records import Records
from simtrack.taxonomy import STAGEIF, STAGES

__all__ = ["stage_records"]

_FLAGS = ("spoke", "emitted", "well_formed", "correct")
_LEVELS = {
    "outcome": STAGEIF.codes,
    "reported": (*STAGES, OUT_OF_VOCABULARY, NONE),
    "error": ("transport",),
} | dict.fromkeys(_FLAGS, ("0", "1"))


def stage_records(
    cells: Sequence[StageCell], leaf_of: NDArray[np.int16], trials: NDArray[np.int64]
) -> Records:
    """Give one row a trial: cluster by cluster, cell by cell, repetition by repetition.

    Parameters
    ----------
    cells : sequence of StageCell
    leaf_of : int16 (clusters, cells, repetitions)
        Which leaf of its cell each trial ended in.
    trials : int64 (clusters, cells)

    Returns
    -------
    Records
        Columns cluster, unit (the scripted checkpoint of a cluster), repetition, the labels of the
        cell, outcome, expected, reported, spoke, emitted, well_formed, correct, error (missing
        where there is none) and value: 1 where CLEAN, else 0, NaN for a transport failure. A flag
        is missing where its node was not reached.
    """
    g, c, t = np.nonzero(np.arange(leaf_of.shape[2]) < trials[:, :, None])
    leaf = leaf_of[g, c, t]
    ends, place = _ends(cells)
    end = place[c, leaf]
    factors = {
        "cluster": _numbered(g, len(trials)),
        "unit": _units(cells, g, c, len(trials)),
        "repetition": _numbered(t, leaf_of.shape[2]),
    }
    for name in cells[0].labels:
        values = [cell.labels[name] for cell in cells]
        levels = tuple(dict.fromkeys(values))
        factors[name] = Factor(levels, np.array([levels.index(v) for v in values])[c])
    factors["expected"] = factors["gold"]
    for name, levels in _LEVELS.items():
        code = np.array([levels.index(e[name]) if e[name] else -1 for e in ends], dtype=np.int32)
        factors[name] = Factor(levels, code[end])
    value = np.array([_VALUE.get(e["outcome"] or "", 0.0) for e in ends])[end]
    return Records(factors, {"value": value}, kind="checkpoint")


_VALUE = {"CLEAN": 1.0, "TRANSPORT": float("nan")}


def _ends(cells: Sequence[StageCell]) -> tuple[list[dict[str, str | None]], NDArray[np.int64]]:
    """Describe every leaf of every cell once, and say which one (cell, leaf) is."""
    ends: list[dict[str, str | None]] = []
    place = np.zeros((len(cells), max(len(cell.leaves) for cell in cells)), dtype=np.int64)
    for c, cell in enumerate(cells):
        for k, leaf in enumerate(cell.leaves):
            place[c, k] = len(ends)
            ends.append(_described(leaf, cell.labels))
    return ends, place


def _described(leaf: Leaf, labels: Mapping[str, str]) -> dict[str, str | None]:
    is_lost = leaf.outcome == "TRANSPORT"
    is_act = leaf.outcome == "APP_DIVERGENCE"
    is_due = labels["duty"] == "1"
    named = leaf.reported != NONE
    formed = ("1" if named else "0") if leaf.emitted else None
    return {
        "outcome": leaf.outcome,
        "reported": leaf.reported,
        "error": "transport" if is_lost else None,
        "spoke": None if is_lost or not is_due else str(int(not is_act)),
        "emitted": str(int(leaf.emitted)),
        "well_formed": formed,
        "correct": str(int(leaf.reported == labels["gold"])) if named else None,
    }


def _numbered(index: NDArray[np.intp], size: int) -> Factor:
    return Factor(tuple(f"{k + 1}" for k in range(size)), index.astype(np.int32))


def _units(
    cells: Sequence[StageCell], g: NDArray[np.intp], c: NDArray[np.intp], clusters: int
) -> Factor:
    """The scripted thing is a cluster's checkpoint, whatever the arm."""
    places = [x.labels["stage"] if x.labels["duty"] == "1" else x.labels["position"] for x in cells]
    names = list(dict.fromkeys(places))
    at = np.array([names.index(p) for p in places])[c]
    levels = tuple(f"{k + 1}:{name}" for k in range(clusters) for name in names)
    return Factor(levels, (g * len(names) + at).astype(np.int32))
