"""An agent that may know a rule and not keep it: recall and compliance in two branches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions, expected_value, planned_trials, shuffled_records
from simtrack.agents.categories import Table, categorise, frozen_table, look_up
from simtrack.agents.heterogeneity import logit_normal_moments
from simtrack.agents.recall.repair import Repair
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.options import choice
from simtrack.plain import Document, Pairs
from simtrack.records import Records
from simtrack.rng import Stream, require_distinct
from simtrack.validate import real

__all__ = ["DepthScale", "RecallAgent"]

DepthScale = Literal["probability", "logit"]
Floats = NDArray[np.float64]
OUTCOMES = ("R1B1", "R1B0", "R0B1", "R0B0")
_SPLITS = ({"task": "1", "joint": "1"}, {"task": "1", "joint": "0"}, {"task": "0", "joint": "0"})
#: Where each of the eight categories (task, r, b) goes: (split, outcome).
_PLACES = ((0, 0), (0, 2), (1, 1), (1, 3), (2, 0), (2, 2), (2, 1), (2, 3))
_SUM = 1e-9
_BISECTIONS = 200


@dataclass(frozen=True, slots=True, init=False)
class RecallAgent(Document, schema="simtrack.agent/1", kind="recall"):
    """How often does a model recall a rule (r), keep it (b), and do the task besides?

    Both branches start from one prefix and do not interact, so a probe ends in one of four cells.
    Conditions of the design with a meaning: `depth` (turns since the rule, a number) and `arm`
    (a repair by its name; other levels have none). All others select lines of the tables.

    Parameters
    ----------
    joint : table of (R1B1, R1B0, R0B1, R0B0)
        At depths up to the anchor; one value or lines of (labels, value).
    task : table of float
        Chance that the immediate task is done, given any (r, b).
    slope : table of float
        Change of P(b = 1 | r) a turn beyond the anchor, on `scale`; on the probability scale it
        stops at 0 and 1.
    anchor_depth : float
        The depth up to which nothing changes.
    scale : "probability" or "logit"
    cluster_sd : float
        SD of a scenario's effect on compliance, on the logit scale; rates stay as given.
    repairs : mapping of arm to Reinstatement or Anchoring
        The share of violations (b = 0) that an arm ends, whatever was recalled.
    common : bool
        Arms use the same random numbers: a repair then never turns compliance into violation.

    Examples
    --------
    >>> agent = RecallAgent((0.7, 0.2, 0.06, 0.04), task=0.9)
    >>> from simtrack.estimands import estimand
    >>> design = Design(25, 5, {"depth": ("3", "12")})
    >>> round(agent.expectation(estimand("dissociation"), design), 12)
    0.26
    """

    joint: Table[tuple[float, float, float, float]]
    task: Table[float]
    slope: Table[float]
    anchor_depth: float
    scale: DepthScale
    cluster_sd: float
    repairs: Pairs[Repair]
    common: bool

    def __init__(
        self,
        joint: object,
        task: object = 1.0,
        slope: object = 0.0,
        anchor_depth: float = 12.0,
        scale: DepthScale = "probability",
        cluster_sd: float = 0.0,
        repairs: Mapping[str, Repair] | tuple[tuple[str, Repair], ...] = (),
        common: bool = False,
    ) -> None:
        if isinstance(joint, (list, tuple)) and all(isinstance(v, (int, float)) for v in joint):
            joint = [({}, tuple(joint))]
        pairs = repairs.items() if isinstance(repairs, Mapping) else repairs
        fields = {
            "joint": frozen_table("joint", joint),
            "task": frozen_table("task", task),
            "slope": frozen_table("slope", slope),
            "anchor_depth": real("anchor_depth", anchor_depth, 0.0),
            "scale": choice("scale", scale, DepthScale),
            "cluster_sd": real("cluster_sd", cluster_sd, 0.0, 20.0),
            "repairs": Pairs((str(arm), repair) for arm, repair in pairs),
            "common": bool(common),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        for _, shares in self.joint:
            if len(shares) != len(OUTCOMES) or abs(sum(shares) - 1.0) > _SUM or min(shares) < 0.0:
                raise InputError("joint", "four shares that sum to 1", shares)
        for _, value in self.task:
            real("task", value, 0.0, 1.0)
        for _, value in self.slope:
            real("slope", value)

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw cells of (r, b), split by `task` and `joint` (task and compliance); see `Agent`.

        Trials are drawn one by one: more repetitions, clusters, draws or conditions keep the old
        ones.
        """
        how: DrawOptions = {
            "replicates": draws,
            "clusters": design.clusters,
            "threads": threads,
            "chunk": chunk,
        }
        trials = planned_trials(design)
        streams = [self._stream(seed, cell) for cell in design.cells]
        effects = Stream(seed, "recall-agent-scenario")
        require_distinct([effects, *dict.fromkeys(streams)])
        z = effects.normal(**how)[:, :, 0] if self.cluster_sd else None
        found = [
            categorise(stream, trials[:, c], self._shares(cell, z), how)
            for c, (stream, cell) in enumerate(zip(streams, design.cells, strict=True))
        ]
        return CountsBatch(_spread(found), OUTCOMES, self.labels(design), design.cluster_name)

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study trial by trial: its counts are those of draw 0 of `counts`."""
        order = Stream(seed, "recall-agent-order")
        return shuffled_records(self.counts(design, 1, seed), order)

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value of an estimand, exactly: rates are marginal by construction."""
        trials = planned_trials(design).astype(np.float64)
        found = [trials[:, c, None] * self.cell(cell) for c, cell in enumerate(design.cells)]
        table = _spread([part[None] for part in found])[0]
        return expected_value(what, design, OUTCOMES, table, self.labels(design))

    def labels(self, design: Design) -> tuple[dict[str, str], ...]:
        """Give the labels of the cells of `counts`: the design's, split by task and joint."""
        return tuple({**cell, **split} for cell in design.cells for split in _SPLITS)

    def cell(self, cell: Mapping[str, str]) -> Floats:
        """Give the eight shares of (task, r, b) in a cell, as `_PLACES` orders them."""
        shares: Floats = self._shares(cell, None)
        return shares

    def _stream(self, seed: int, cell: Mapping[str, str]) -> Stream:
        labels = tuple(item for item in cell.items() if not (self.common and item[0] == "arm"))
        return Stream(seed, "recall-agent-trials", cell=labels)

    def _shares(self, cell: Mapping[str, str], z: Floats | None) -> Floats:
        """Shares of the eight categories: (8,), or (draws, clusters, 8) given deviates."""
        r1b1, r1b0, r0b1, r0b0 = look_up("joint", self.joint, cell)
        task = look_up("task", self.task, cell)
        kept = []
        for both, violated in ((r1b1, r1b0), (r0b1, r0b0)):
            total = both + violated
            rate = self._compliance(both / total, cell) if total else 0.0
            kept.append(self._in_scenario(rate, z))
        r1, r0 = r1b1 + r1b0, r0b1 + r0b0
        cells = (r1 * kept[0], r0 * kept[1], r1 * (1.0 - kept[0]), r0 * (1.0 - kept[1]))
        parts = [share * cell_share for share in (task, 1.0 - task) for cell_share in cells]
        return np.stack([np.asarray(part, dtype=np.float64) for part in parts], axis=-1)

    def _compliance(self, rate: float, cell: Mapping[str, str]) -> float:
        """P(b = 1 | r) at the cell's depth and after the arm's repair."""
        turns = max(0.0, _depth(cell) - self.anchor_depth) if "depth" in cell else 0.0
        change = turns * look_up("slope", self.slope, cell)
        if self.scale == "probability":
            rate = min(1.0, max(0.0, rate + change))
        elif 0.0 < rate < 1.0 and change:
            rate = 1.0 / (1.0 + math.exp(-(math.log(rate / (1.0 - rate)) + change)))
        repair = dict(self.repairs).get(cell.get("arm", ""))
        return 1.0 - (1.0 - rate) * (1.0 - repair.recovered) if repair else rate

    def _in_scenario(self, rate: float, z: Floats | None) -> Floats | float:
        if z is None or not 0.0 < rate < 1.0:
            return rate
        from simtrack.kernels.logistic import logistic

        found: Floats = logistic(_logit_mean(rate, self.cluster_sd) + self.cluster_sd * z)
        return found


def _spread(found: list[NDArray[Any]]) -> NDArray[Any]:
    """Lay the eight categories of each cell out as (…, clusters, cells × 3, 4)."""
    shape = (*found[0].shape[:2], len(found), len(_SPLITS), len(OUTCOMES))
    table = np.zeros(shape, dtype=found[0].dtype)
    for c, part in enumerate(found):
        for k, (split, outcome) in enumerate(_PLACES):
            table[:, :, c, split, outcome] = part[..., k]
    return table.reshape(*shape[:2], -1, len(OUTCOMES))


def _depth(cell: Mapping[str, str]) -> float:
    try:
        return real("depth", float(cell["depth"]), 0.0)
    except ValueError:
        raise InputError("depth", "a number of turns", repr(cell["depth"])) from None


def _logit_mean(rate: float, sd: float) -> float:
    """The logit mean at which the marginal rate is met: bisection, since the rate rises with it."""
    centre = math.log(rate / (1.0 - rate))
    reach = 1.0 + 6.0 * sd + abs(centre) * sd
    low, high = centre - reach, centre + reach
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if logit_normal_moments(middle, sd)[0] < rate else (low, middle)
    return 0.5 * (low + high)
