"""What can happen at one checkpoint, and with which probability: the leaves of the chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from simtrack.agents.stage_tables import POSITIONS
from simtrack.errors import InputError
from simtrack.taxonomy import NO_REPORT, STAGES

__all__ = [
    "CHAIN",
    "NONE",
    "Leaf",
    "chain_nodes",
    "checkpoint",
    "leaf_share",
    "on_adherence",
    "stage_leaves",
]

#: The label of what is not there: no report, no stage, no position.
NONE = NO_REPORT
#: All nodes, in the order of kernels.
CHAIN = (
    "transport",
    "speaks",
    "emits",
    "well_formed",
    "right",
    "emits_on_divergence",
    "adherence",
    "false_alarm",
)
#: The stage of the task where no report is due: each position is a flip of that checkpoint
#: (StageIF, App. N), and post-confirmation lies between READY and the first action.
_GOLD_AT = dict(zip(POSITIONS, STAGES, strict=True))


@dataclass(frozen=True, slots=True)
class Leaf:
    """One way a checkpoint can end.

    Parameters
    ----------
    outcome : str
        A code of `taxonomy.STAGEIF`.
    reported : str
        The value that the reply named, or "none".
    emitted : bool
        Whether it carried a report at all.
    passed : tuple of (node, bool)
        The nodes on the way here, and whether each was passed.
    weight : float
        The share of this leaf among those with the same `passed`.
    """

    outcome: str
    reported: str
    emitted: bool
    passed: tuple[tuple[str, bool], ...]
    weight: float = 1.0


def checkpoint(cell: Mapping[str, str]) -> dict[str, str]:
    """Which duty, stage, position and gold value does a cell of the design stand for?

    The design names it by a condition `stage`, `position` or `checkpoint` (of both kinds).

    Examples
    --------
    >>> checkpoint({"checkpoint": "mid_chain"})
    {'duty': '0', 'stage': 'none', 'position': 'mid_chain', 'gold': 'POST_OBS'}
    """
    kinds = {"stage": STAGES, "position": POSITIONS, "checkpoint": (*STAGES, *POSITIONS)}
    named = [name for name in kinds if name in cell]
    if len(named) != 1:
        rule = "of exactly one condition named stage, position or checkpoint"
        raise InputError("design", rule, ", ".join(named) or "none of them")
    place = cell[named[0]]
    if place not in kinds[named[0]]:
        raise InputError(named[0], f"one of {', '.join(kinds[named[0]])}", repr(place))
    if place in STAGES:
        return {"duty": "1", "stage": place, "position": NONE, "gold": place}
    return {"duty": "0", "stage": NONE, "position": place, "gold": _GOLD_AT[place]}


def chain_nodes(lost: tuple[float, float, float], clean: float) -> dict[str, float]:
    """Which four nodes give these shares of divergence, omission, malformed reports and CLEAN?

    What is left over are wrong values.

    Examples
    --------
    >>> {node: round(rate, 6) for node, rate in chain_nodes((0.2, 0.4, 0.1), 0.24).items()}
    {'speaks': 0.8, 'emits': 0.5, 'well_formed': 0.75, 'right': 0.8}
    """
    nodes, left = {}, 1.0
    for node, share in zip(("speaks", "emits", "well_formed"), lost, strict=True):
        nodes[node] = min(1.0, max(0.0, 1.0 - share / left)) if left > 1e-12 else 1.0
        left -= share
    return nodes | {"right": min(1.0, clean / left) if left > 1e-12 else 1.0}


def stage_leaves(
    labels: Mapping[str, str],
    wrong: Iterable[tuple[str, float]],
    alarm: Iterable[tuple[str, float]],
) -> tuple[Leaf, ...]:
    """List the ends of a checkpoint: CLEAN first, transport failure last.

    So on one random number a larger adherence turns other ends into CLEAN, never the other way.

    Parameters
    ----------
    labels : mapping
        With `duty` and `gold`.
    wrong, alarm : (value, share) pairs
        What a wrong report names where one is due, and what a report names where none is.
    """
    alive, dead = (("transport", False),), (("transport", True),)
    lost = Leaf("TRANSPORT", NONE, False, dead)
    if labels["duty"] == "0":
        heard = (*alive, ("false_alarm", True))
        quiet = Leaf("CLEAN", NONE, False, (*alive, ("false_alarm", False)))
        loud = (Leaf("APP_FALSE_ALARM", value, True, heard, share) for value, share in alarm)
        return (quiet, *loud, lost)
    wrong = tuple(wrong)
    spoken, acted = (*alive, ("speaks", True)), (*alive, ("speaks", False))
    said = _report((*spoken, ("emits", True)), labels["gold"], wrong, None)
    missed = Leaf("APP_MISS", NONE, False, (*spoken, ("emits", False)))
    beside = (*acted, ("emits_on_divergence", True))
    tagged = _report(beside, labels["gold"], wrong, "APP_DIVERGENCE")
    silent = Leaf("APP_DIVERGENCE", NONE, False, (*acted, ("emits_on_divergence", False)))
    return (*said, missed, silent, *tagged, lost)


def leaf_share(leaf: Leaf, rates: Mapping[str, float]) -> float:
    """Give the probability of a leaf: its weight times every node on the way."""
    share = leaf.weight
    for node, passed in leaf.passed:
        share *= rates[node] if passed else 1.0 - rates[node]
    return share


def on_adherence(leaves: Iterable[Leaf], rates: Mapping[str, float]) -> tuple[list[Leaf], float]:
    """Put a single node, CLEAN or not, in the place of the chain; give its rate too.

    What is not CLEAN keeps its mix, so its share in each cluster moves in proportion.
    """
    alive = dict(rates) | {"transport": 0.0}
    listed = list(leaves)
    clean = leaf_share(listed[0], alive)
    found = [Leaf("CLEAN", listed[0].reported, True, _node(True))]
    for leaf in listed[1:-1]:
        share = leaf_share(leaf, alive) / (1.0 - clean) if clean < 1.0 else 0.0
        found.append(replace(leaf, passed=_node(False), weight=share))
    return [*found, listed[-1]], clean


def _node(passed: bool) -> tuple[tuple[str, bool], ...]:
    return (("transport", False), ("adherence", passed))


def _report(
    passed: tuple[tuple[str, bool], ...],
    gold: str,
    wrong: tuple[tuple[str, float], ...],
    code: str | None,
) -> tuple[Leaf, ...]:
    """A report that is there: right, wrong or ill-formed (which names nothing)."""
    formed = (*passed, ("well_formed", True))
    ill = Leaf(code or "MALFORMED", NONE, True, (*passed, ("well_formed", False)))
    right = Leaf(code or "CLEAN", gold, True, (*formed, ("right", True)))
    off = tuple(
        Leaf(code or "STATE_WRONG", value, True, (*formed, ("right", False)), share)
        for value, share in wrong
    )
    return (right, *off, ill)
