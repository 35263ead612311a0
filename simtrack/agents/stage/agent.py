"""An agent that reports the stage of its task: speaks, emits, well formed, right value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simtrack.agents.agent import expected_value, planned_trials
from simtrack.agents.stage.draws import StageCell, StagePlan, stage_records
from simtrack.agents.stage.effects import ClusterEffect
from simtrack.agents.stage.tables import (
    CHAIN,
    POSITIONS,
    Rates,
    RateTable,
    Rows,
    RowTable,
    checkpoint,
    stage_leaves,
)
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.plain import Document
from simtrack.records import Records
from simtrack.taxonomy import STAGEIF, STAGES

__all__ = ["StageAgent", "join_stage_agents"]


_SPLIT = ("reported", "emitted")
_RATES = ("speaks", "emits", "well_formed", "right", "false_alarm", "emits_on_divergence",
          "transport")  # fmt: skip
_ROWS = ("confusion", "alarm_values")
#: A wrong report names one of the other stages, each as likely; a false alarm the stage it is at.
_OTHER_STAGES = {z: {o: 1 / 3 for o in STAGES if o != z} for z in STAGES}
_STAGE_AT = {p: {z: 1.0} for p, z in zip(POSITIONS, STAGES, strict=True)}


@dataclass(frozen=True, slots=True, init=False)
class StageAgent(Document, schema="simtrack.agent/1", kind="stage"):
    """How does an agent report the stage of its task, where a report is due and where it is not?

    Where one is due: it speaks rather than calls a tool (else APP_DIVERGENCE), its reply carries a
    report (else APP_MISS), which is well formed (else MALFORMED) and names the right stage (else
    STATE_WRONG, with a value of `confusion`). A tool call may carry a report too; it stays
    APP_DIVERGENCE and counts as emitted. Where none is due, it reports all the same with
    probability `false_alarm`. A transport failure pre-empts everything.

    Parameters
    ----------
    speaks, emits, well_formed, right : Rates
        Of the four nodes, each given those before it: a number, or {"READY": 0.2, "*": 0.9,
        "stage=READY arm=bundle": 0.7}; the last line that agrees with a cell holds (`RateTable`).
        All are means over clusters.
    false_alarm : Rates
        By position: pre_tool, post_confirmation, mid_chain, post_done.
    emits_on_divergence, transport : Rates
        Probability that a tool call carries a report; that there is no valid response.
    confusion : Rows
        What a wrong report names, by gold stage: shares over the other stages and
        "out_of_vocabulary". By default each other stage is as likely.
    alarm_values : Rows
        What a report that is not due names, by position; by default the stage the task is at.
    effects : sequence of ClusterEffect
        How clusters differ; at most one for each node, independent of each other.
    common : sequence of str
        Design conditions whose levels share the random numbers of their trials (common random
        numbers): then a better arm only turns other ends into CLEAN, trial by trial.

    Notes
    -----
    Trials are drawn one by one, each with one 32-bit word (64 on ties), so more repetitions,
    clusters, draws or conditions' levels keep the old trials, `records` are the trials of draw 0
    of `counts`, and a cell costs in proportion to its trials.

    Examples
    --------
    >>> agent = StageAgent(speaks=0.9, emits={"*": 0.5, "COMPLETED": 0.9}, right=0.95)
    >>> design = Design(12, 20, {"stage": STAGES})
    >>> from simtrack.estimands import estimand
    >>> round(agent.expectation(estimand("stage_gap"), design), 6)
    -0.342
    >>> agent.counts(design, draws=3, seed=7, split=()).cells.shape
    (3, 12, 4, 7)
    """

    speaks: RateTable
    emits: RateTable
    well_formed: RateTable
    right: RateTable
    false_alarm: RateTable
    emits_on_divergence: RateTable
    transport: RateTable
    confusion: RowTable
    alarm_values: RowTable
    effects: tuple[ClusterEffect, ...]
    common: tuple[str, ...]

    def __init__(
        self,
        *,
        speaks: Rates = 1.0,
        emits: Rates = 1.0,
        well_formed: Rates = 1.0,
        right: Rates = 1.0,
        false_alarm: Rates = 0.0,
        emits_on_divergence: Rates = 0.0,
        transport: Rates = 0.0,
        confusion: Rows = _OTHER_STAGES,
        alarm_values: Rows = _STAGE_AT,
        effects: Iterable[ClusterEffect] = (),
        common: Sequence[str] = (),
    ) -> None:
        given = (speaks, emits, well_formed, right, false_alarm, emits_on_divergence, transport)
        for name, value in zip(_RATES, given, strict=True):
            object.__setattr__(self, name, RateTable.of(name, value))
        for row_name, rows in zip(_ROWS, (confusion, alarm_values), strict=True):
            object.__setattr__(self, row_name, RowTable.of(row_name, rows))
        object.__setattr__(self, "effects", _checked(effects))
        object.__setattr__(self, "common", tuple(common))

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
        split: Sequence[str] = _SPLIT,
    ) -> CountsBatch:
        """Draw studies of this design; see `Agent.counts`.

        Parameters
        ----------
        split : sequence of "reported", "emitted"
            What the table's cells are split by besides the design's conditions, duty, stage,
            position and gold. Estimands of outcome codes alone need none, and the table is smaller.
        """
        names = _splits(split)
        labels, cells = self.plan(design).counts(draws, seed, threads, chunk, names)
        return CountsBatch(cells, STAGEIF.codes, tuple(labels), design.cluster_name)

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study trial by trial: one row a checkpoint, the trials of draw 0 of `counts`."""
        plan = self.plan(design)
        return stage_records(plan.cells, plan.leaf_of_trials(seed), plan.trials)

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value: the mean of each numerator over that of its denominator, exact.

        Cluster effects leave the means of counts as the tables say, so no quadrature is needed.
        """
        labels, mean = self.plan(design).expected(_SPLIT)
        return expected_value(what, design, STAGEIF.codes, mean, labels)

    def plan(self, design: Design) -> StagePlan:
        """Work out the nodes and leaves of every cell of a design."""
        cells = tuple(self._cell(cell) for cell in design.cells)
        named = [name for name, _ in design.conditions]
        for name in self.common:
            if name not in named:
                raise InputError("common", f"among the conditions ({', '.join(named)})", name)
        return StagePlan(cells, self.effects, self.common, planned_trials(design))

    def with_(self, **changes: Any) -> StageAgent:
        """Give this agent with some fields changed; all checks are made again."""
        names = (*_RATES, *_ROWS, "effects", "common")
        return StageAgent(**{**{name: getattr(self, name) for name in names}, **changes})

    def _cell(self, cell: dict[str, str]) -> StageCell:
        labels = {**cell, **checkpoint(cell)}
        is_due = labels["duty"] == "1"
        due = ("speaks", "emits", "well_formed", "right", "emits_on_divergence")
        asked = ("transport", *(due if is_due else ("false_alarm",)))
        rates = dict.fromkeys(CHAIN, 0.0) | {n: getattr(self, n).at(labels) for n in asked}
        wrong = self.confusion.at(labels) if is_due and rates["right"] < 1.0 else ()
        for value, share in wrong:
            if value == labels["gold"] and share > 0.0:
                raise InputError("confusion", "over values other than the right one", value)
        quiet = is_due or rates["false_alarm"] == 0.0
        alarm = () if quiet else self.alarm_values.at(labels)
        leaves = stage_leaves(labels, wrong, alarm)
        return StageCell.of(labels, rates, leaves, cell, self.effects)


def _checked(effects: Iterable[ClusterEffect]) -> tuple[ClusterEffect, ...]:
    found = tuple(effects)
    nodes = [effect.node for effect in found]
    if len(set(nodes)) != len(nodes):
        raise InputError("effects", "of different nodes", ", ".join(nodes))
    if "adherence" in nodes and set(nodes) - {"adherence", "false_alarm"}:
        rule = "on adherence as a whole or on single nodes, not both"
        raise InputError("effects", rule, ", ".join(nodes))
    return found


def _splits(split: Sequence[str]) -> tuple[str, ...]:
    for name in split:
        if name not in _SPLIT:
            raise InputError("split", f"of {', '.join(_SPLIT)}", repr(name))
    return tuple(name for name in _SPLIT if name in split)


# Several stage agents as one: a panel of models, or arms that were fitted apart.
def join_stage_agents(
    factor: str,
    agents: Mapping[str, StageAgent],
    *,
    effects: Sequence[ClusterEffect] | None = None,
    common: Sequence[str] = (),
) -> StageAgent:
    """Which one agent behaves like each of these at its own level of a design condition?

    Parameters
    ----------
    factor : str
        The condition: "model", "arm".
    agents : mapping of level to StageAgent
    effects : sequence of ClusterEffect, optional
        How clusters differ in all of them; needed where the agents' own effects are not equal.
        With own=(factor,) every level has cluster deviates of its own, else they share them.
    common : sequence of str
        As for `StageAgent`.

    Raises
    ------
    InputError
        No agent, or agents of different effects and no `effects` given.

    Examples
    --------
    >>> pair = join_stage_agents("arm", {"a": StageAgent(emits=0.5), "b": StageAgent(emits=0.6)})
    >>> pair.emits.at({"stage": "READY", "arm": "b"})
    0.6
    """
    if not agents:
        raise InputError("agents", "at least one")
    found = {agent.effects for agent in agents.values()}
    if effects is None and len(found) > 1:
        cure = "Pass effects=[ClusterEffect(...)] that hold for all of them."
        raise InputError("effects", "given, since those of the agents differ", cure=cure)
    tables: dict[str, Any] = {
        name: [
            ({**dict(where), factor: level}, value if name in _RATES else dict(value))
            for level, agent in agents.items()
            for where, value in getattr(agent, name).lines
        ]
        for name in (*_RATES, *_ROWS)
    }
    shared = next(iter(found)) if effects is None else tuple(effects)
    return StageAgent(**tables, effects=shared, common=common)
