"""Probabilities by label: which line of a short table holds in a cell of the design?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from simtrack.errors import InputError
from simtrack.taxonomy import NO_REPORT, OUT_OF_VOCABULARY, STAGES
from simtrack.validate import percent_hint, real

__all__ = [
    "CHAIN",
    "NONE",
    "OUT_OF_VOCABULARY",
    "POSITIONS",
    "Leaf",
    "RateTable",
    "Rates",
    "RowTable",
    "Rows",
    "chain_nodes",
    "checkpoint",
    "leaf_share",
    "on_adherence",
    "stage_leaves",
]


#: Where a report is not due, in the order of a task (StageIF, Table 13).
POSITIONS = ("pre_tool", "post_confirmation", "mid_chain", "post_done")
_SUM_TOLERANCE = 1e-9  # shares typed as decimals add up to 1 only so far

Where: TypeAlias = tuple[tuple[str, str], ...]
Row: TypeAlias = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class RateTable:
    """Which probability holds in a cell? That of the last line whose labels all agree.

    Parameters
    ----------
    name : str
        What the probabilities are of; used in messages.
    lines : tuple of (labels, probability)
        Labels are ((factor, level), ...), sorted; none means every cell.

    Examples
    --------
    >>> table = RateTable.of("emits", {"*": 0.9, "READY": 0.2, "stage=READY arm=bundle": 0.7})
    >>> table.at({"stage": "POST_OBS"}), table.at({"stage": "READY", "arm": "bundle"})
    (0.9, 0.7)
    """

    name: str
    lines: tuple[tuple[Where, float], ...]

    @classmethod
    def of(cls, name: str, value: Rates) -> RateTable:
        """Read a number, a mapping from places to numbers, or pairs of labels and numbers.

        A place is a stage or a position, "*" for everywhere, or "factor=level factor=level".
        """
        if isinstance(value, RateTable):
            return cls(name, value.lines)
        lines = [(where, _share(name, found)) for where, found in _lines(value)]
        return cls(name, tuple(lines))

    def at(self, labels: Mapping[str, str]) -> float:
        """Give the probability in a cell, or refuse a cell that no line speaks of."""
        return cast("float", _last(self.name, self.lines, labels))

    def to_plain(self) -> list[list[Any]]:
        """Give the lines as lists, as `of` takes them."""
        return [[dict(where), value] for where, value in self.lines]


@dataclass(frozen=True, slots=True)
class RowTable:
    """Which values does a report name, and with which shares? By the last line that agrees.

    Parameters
    ----------
    name : str
    lines : tuple of (labels, ((value, share), ...))
        Shares of a line add up to 1.

    Examples
    --------
    >>> RowTable.of("confusion", {"POST_OBS": {"READY": 0.9, "COMPLETED": 0.1}}).lines[0][1]
    (('READY', 0.9), ('COMPLETED', 0.1))
    """

    name: str
    lines: tuple[tuple[Where, Row], ...]

    @classmethod
    def of(cls, name: str, value: Rows) -> RowTable:
        """Read a mapping from places to rows, or pairs of labels and rows."""
        if isinstance(value, RowTable):
            return cls(name, value.lines)
        return cls(name, tuple((where, _row(name, found)) for where, found in _lines(value)))

    def at(self, labels: Mapping[str, str]) -> Row:
        """Give the row in a cell, or refuse a cell that no line speaks of."""
        return cast("Row", _last(self.name, self.lines, labels))

    def to_plain(self) -> list[list[Any]]:
        """Give the lines as lists, as `of` takes them."""
        return [[dict(where), dict(row)] for where, row in self.lines]


#: How probabilities may be written: see `RateTable.of`.
Rates: TypeAlias = (
    float | Mapping[str, float] | Iterable[tuple[Mapping[str, str], float]] | RateTable
)
#: How rows of shares may be written: see `RowTable.of`.
Rows: TypeAlias = (
    Mapping[str, Mapping[str, float]]
    | Iterable[tuple[Mapping[str, str], Mapping[str, float]]]
    | RowTable
)


def _lines(value: object) -> list[tuple[Where, Any]]:
    if isinstance(value, Mapping):
        return [(_place(str(key)), found) for key, found in value.items()]
    if isinstance(value, (str, int, float)) or not isinstance(value, Iterable):
        return [((), value)]
    return [(tuple(sorted(dict(where).items())), found) for where, found in value]


def _place(key: str) -> Where:
    if key == "*":
        return ()
    if key in STAGES:
        return (("stage", key),)
    if key in POSITIONS:
        return (("position", key),)
    parts = [part.split("=", 1) for part in key.split()]
    if not parts or any(len(part) != 2 for part in parts):
        rule = "a stage, a position, * or factor=level"
        raise InputError("place", rule, repr(key))
    return tuple(sorted((name, level) for name, level in parts))


def _last(name: str, lines: tuple[tuple[Where, Any], ...], labels: Mapping[str, str]) -> Any:
    for where, value in reversed(lines):
        if all(labels.get(factor) == level for factor, level in where):
            return value
    shown = ", ".join(f"{k}={v}" for k, v in labels.items() if v != "none")
    raise InputError(
        name, "given for every cell", f"none for {shown}", cure="Add a line, or one for '*'."
    )


def _share(name: str, value: Any) -> float:
    try:
        return real(name, value, 0.0, 1.0)
    except InputError as error:
        hint = percent_hint(value) if isinstance(value, (int, float)) else ""
        raise (InputError(name, "from 0 to 1", value, cure=hint) if hint else error) from None


def _row(name: str, value: Any) -> Row:
    row = tuple((str(k), _share(f"{name}[{k}]", v)) for k, v in dict(value).items())
    known = (*STAGES, OUT_OF_VOCABULARY)
    for label, _ in row:
        if label not in known:
            raise InputError(name, f"over {', '.join(known)}", label)
    total = sum(share for _, share in row)
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise InputError(name, "a row of shares that add up to 1", total)
    return row


# What can happen at one checkpoint, and with which probability: the leaves of the chain.
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
