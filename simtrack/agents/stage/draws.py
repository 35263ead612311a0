"""From a stage agent's nodes to arrays, and from arrays to drawn counts and trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions
from simtrack.agents.heterogeneity import logit_mean
from simtrack.agents.stage.effects import ClusterEffect
from simtrack.agents.stage.tables import (
    CHAIN,
    NONE,
    OUT_OF_VOCABULARY,
    Leaf,
    leaf_share,
    on_adherence,
)
from simtrack.counts import Factor
from simtrack.kernels import stage as kernels
from simtrack.records import Records
from simtrack.rng import Stream, require_distinct
from simtrack.rng.keys import Label
from simtrack.rng.plan import Plan
from simtrack.taxonomy import STAGEIF, STAGES

__all__ = ["StageCell", "StagePlan", "stage_records"]


_DETAIL = ("reported", "emitted")


@dataclass(frozen=True, slots=True)
class StageCell:
    """A cell of the design: its labels, its nodes' mean rates and its leaves.

    Parameters
    ----------
    labels : mapping
        Design conditions, duty, stage, position and gold.
    rates : mapping of node to probability
    leaves : tuple of Leaf
        Those that can occur.
    own : mapping of str to str
        The design conditions alone.
    """

    labels: Mapping[str, str]
    rates: Mapping[str, float]
    leaves: tuple[Leaf, ...]
    own: Mapping[str, str]

    @classmethod
    def of(
        cls,
        labels: Mapping[str, str],
        rates: Mapping[str, float],
        leaves: Sequence[Leaf],
        own: Mapping[str, str],
        effects: Sequence[ClusterEffect],
    ) -> StageCell:
        """Put adherence in the chain's place where an effect acts on it; drop impossible leaves."""
        found, nodes = list(leaves), dict(rates)
        if labels["duty"] == "1" and any(e.node == "adherence" for e in effects):
            found, nodes["adherence"] = on_adherence(leaves, rates)
        kept = tuple(leaf for leaf in found if leaf_share(leaf, nodes) > 0.0)
        return cls(labels, nodes, kept, own)

    def kinds(self, split: Sequence[str]) -> list[dict[str, str]]:
        """Give the labels that the leaves are split by, each once, in a fixed order."""
        found = {tuple(_detail(leaf)[name] for name in split) for leaf in self.leaves}
        return [dict(zip(split, kind, strict=True)) for kind in sorted(found)]


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Everything that a draw of one design needs.

    Parameters
    ----------
    cells : tuple of StageCell
    effects : tuple of ClusterEffect
    common : tuple of str
        Design conditions whose levels share their trials' random numbers.
    trials : int64 array, shape (clusters, cells)
    """

    cells: tuple[StageCell, ...]
    effects: tuple[ClusterEffect, ...]
    common: tuple[str, ...]
    trials: NDArray[np.int64]

    def table(self, split: Sequence[str]) -> tuple[list[dict[str, str]], NDArray[np.int64]]:
        """Give the labels of each table cell, and the slot (cell × outcomes) of each leaf."""
        labels: list[dict[str, str]] = []
        slot = np.zeros((len(self.cells), self._most_leaves()), dtype=np.int64)
        for c, cell in enumerate(self.cells):
            kinds = cell.kinds(split)
            for k, leaf in enumerate(cell.leaves):
                kind = {name: _detail(leaf)[name] for name in split}
                place = len(labels) + kinds.index(kind)
                slot[c, k] = place * len(STAGEIF.codes) + STAGEIF.codes.index(leaf.outcome)
            labels += [{**cell.labels, **kind} for kind in kinds]
        return labels, slot

    def expected(self, split: Sequence[str]) -> tuple[list[dict[str, str]], NDArray[np.float64]]:
        """Give the labels and mean counts (clusters, table cells, outcomes)."""
        labels, slot = self.table(split)
        clusters, codes = len(self.trials), len(STAGEIF.codes)
        mean = np.zeros((clusters, len(labels) * codes))
        for c, cell in enumerate(self.cells):
            for k, leaf in enumerate(cell.leaves):
                mean[:, slot[c, k]] += self.trials[:, c] * leaf_share(leaf, cell.rates)
        return labels, mean.reshape(clusters, len(labels), codes)

    def counts(
        self, draws: int | range, seed: int, threads: int, chunk: int | None, split: Sequence[str]
    ) -> tuple[list[dict[str, str]], NDArray[np.int64]]:
        """Draw counts: labels, and int64 (draws, clusters, table cells, outcomes)."""
        labels, slot = self.table(split)
        effects, keys = self._effects(draws, seed, threads, chunk), self._keys(seed)
        arrays = self._arrays()
        shape = (len(effects), len(self.trials), len(labels) * len(STAGEIF.codes))
        out = np.zeros(shape, dtype=np.int64)

        def fill(_0: Any, _1: Any, first: Any, _2: Any, rows: Any, part: Any) -> None:
            before, after = arrays[:5], arrays[5:]
            run: Any = kernels.leaf_counts
            run(*keys, first, self.trials, *before, rows, *after, slot, part)

        self._plan(draws, threads, chunk).fill(fill, out, rows=_rows(effects), work=self._work())
        return labels, out.reshape(*shape[:2], len(labels), len(STAGEIF.codes))

    def leaf_of_trials(self, seed: int) -> NDArray[np.int16]:
        """Draw the leaf of every trial of draw 0: int16 (clusters, cells, repetitions)."""
        effects, keys = self._effects(1, seed, 1, None), self._keys(seed)
        shape = (1, *self.trials.shape, int(self.trials.max(initial=0)))
        out = np.zeros(shape, dtype=np.int16)
        arrays = self._arrays()
        run: Any = kernels.leaf_trials
        run(*keys, np.uint64(0), self.trials, *arrays[:5], effects, *arrays[5:], out)
        found: NDArray[np.int16] = out[0]
        return found

    def _most_leaves(self) -> int:
        return max(len(cell.leaves) for cell in self.cells)

    def _work(self) -> int:
        return max(1, int(self.trials.sum()) // max(1, len(self.trials)))

    def _plan(self, draws: int | range, threads: int, chunk: int | None) -> Plan:
        zero = np.uint64(0)
        return Plan.of((zero, zero), draws, len(self.trials), threads, chunk)

    def _keys(self, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The key of each cell's trials; cells that differ in common factors alone share one."""
        found = [_trial_stream(seed, cell.own, self.common) for cell in self.cells]
        require_distinct({stream.labels: stream for stream in found}.values())
        words = [stream.words for stream in found]
        first, second = (np.array([w[k] for w in words], dtype=np.uint64) for k in (0, 1))
        return first, second

    def _effect_streams(self) -> dict[tuple[Label, ...], int]:
        """Number the deviates: by node, own labels, and level or slope."""
        found: dict[tuple[Label, ...], int] = {}
        for effect in self.effects:
            for cell in self.cells:
                for part in ("level", "slope"):
                    found.setdefault(_effect_label(effect, cell, part), len(found))
        return found

    def _effects(
        self, draws: int | range, seed: int, threads: int, chunk: int | None
    ) -> NDArray[np.float64]:
        """Draw all deviates: (draws, clusters, effects)."""
        how: DrawOptions = {
            "replicates": draws,
            "clusters": len(self.trials),
            "threads": threads,
            "chunk": chunk,
        }
        streams = [Stream(seed, "stage-agent-effect", *label) for label in self._effect_streams()]
        require_distinct(streams)
        drawn = [stream.normal(**how) for stream in streams]
        if not drawn:
            plan = self._plan(draws, threads, chunk)
            return np.zeros((plan.n_replicates, len(self.trials), 1))
        return np.concatenate(drawn, axis=2)

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """Give rate, mean, spread, effect_of, beta; weight, sign, leaves: see the kernel."""
        n, m, most = len(self.cells), len(CHAIN), self._most_leaves()
        rate, mean = np.zeros((n, m)), np.zeros((n, m))
        spread, beta = np.zeros((n, m, 2)), np.zeros((n, m, 2))
        effect_of = np.full((n, m, 2), -1, dtype=np.int64)
        weight, sign = np.zeros((n, most)), np.full((n, most, m), -1, dtype=np.int64)
        number = self._effect_streams()
        for c, cell in enumerate(self.cells):
            rate[c] = [cell.rates.get(node, 0.0) for node in CHAIN]
            for k, leaf in enumerate(cell.leaves):
                weight[c, k] = leaf.weight
                for node, passed in leaf.passed:
                    sign[c, k, CHAIN.index(node)] = int(passed)
            for effect in self.effects:
                at = CHAIN.index(effect.node)
                share = float(rate[c, at])
                level, slope = effect.spread(dict(cell.labels))
                if parameters := effect.beta(share):
                    beta[c, at] = parameters
                elif max(level, slope) > 0.0 and 0.0 < share < 1.0:
                    mean[c, at] = logit_mean(share, float(np.sqrt(level * level + slope * slope)))
                    spread[c, at] = level, slope
                    effect_of[c, at] = [
                        number[_effect_label(effect, cell, part)] for part in ("level", "slope")
                    ]
        leaves = np.array([len(cell.leaves) for cell in self.cells], dtype=np.int64)
        return rate, mean, spread, effect_of, beta, weight, sign, leaves


def _detail(leaf: Leaf) -> dict[str, str]:
    return {"reported": leaf.reported, "emitted": str(int(leaf.emitted))}


def _trial_stream(seed: int, own: Mapping[str, str], common: Sequence[str]) -> Stream:
    labels = tuple(sorted((k, v) for k, v in own.items() if k not in common))
    return Stream(seed, "stage-agent-trial", *labels)


def _effect_label(effect: ClusterEffect, cell: StageCell, part: str) -> tuple[Label, ...]:
    own = tuple((name, cell.labels.get(name, "none")) for name in sorted(effect.own))
    return (effect.node, part, *own)


def _rows(effects: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.require(effects, requirements=["C", "W"])


# Drawn checkpoints as the trial table that a reader of their log would give.
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
