"""The generator of RELAPSE-style slices: who asks for what, and when it is withdrawn."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Final

from simtrack.errors import InputError
from simtrack.ledger.pool import FILLERS, MARKERS, Pool
from simtrack.ledger.slices import ASKING, CONDITIONS, Condition, Slice, Slices, Turn
from simtrack.ledger.tasks import Task, require_unique
from simtrack.options import choice
from simtrack.validate import integer

__all__ = ["make_slices"]

#: Which marker is revoked: the second, as in the paper.
_REVOKED: Final = 1


def make_slices(
    tasks: Sequence[Task],
    *,
    seed: int,
    load: int = 5,
    conditions: Sequence[Condition] = CONDITIONS,
    delay: int = 1,
    depth: int = 0,
    markers: Pool = MARKERS,
    fillers: Pool = FILLERS,
) -> Slices:
    """Which scripts ask for `load` markers and, outside the control, withdraw the second?

    The paper's section 3.3 and Appendix D: the task turn; one turn a marker; auxiliary turns; and
    a revocation by name that asks to keep the code lean. Delayed: `delay` auxiliary turns stand
    before the revocation. Where the paper is silent: in the immediate condition the same turns
    stand after it, and the control has them without it, so that the scripts of a task differ in the
    revocation and its place alone; `depth` more auxiliary turns follow at the end in all three.
    Markers and fillers of a task are the first of one order each, so loads, delays and depths are
    nested: the revoked marker is the same at every load.

    Parameters
    ----------
    tasks : sequence of Task
    seed : int, 0 to 2^63 - 1
    load : int, at least 2
        Markers of a script; the paper has 2, 5 and 8.
    conditions : sequence of Condition
    delay : int, at least 1
        Auxiliary turns between marker block and delayed revocation.
    depth : int, at least 0
        Auxiliary turns after all that.
    markers, fillers : Pool
        Growing them leaves every script as it was.

    Examples
    --------
    >>> found = make_slices([Task("t1", "Reverse a text.", "flip")], seed=7, load=2)
    >>> found.slices[1].markers, [turn.role for turn in found.slices[1].turns]
    (('helper_check', 'validate_input'), ['task', 'marker', 'marker', 'auxiliary', 'revocation'])
    >>> print(found.slices[1].turns[1].text)
    One more requirement: Define an extra function helper_check; its body may be empty.
    """
    load = integer("load", load, 2, len(markers.names))
    delay = integer("delay", delay, 1, len(fillers.names))
    depth = integer("depth", depth, 0, len(fillers.names) - delay)
    for condition in conditions:
        choice("conditions", condition, Condition)
    if not conditions or len(set(conditions)) < len(conditions):
        rule = "at least one, each of them once"
        raise InputError("conditions", rule, ", ".join(conditions) or "none")
    _require_names(markers)
    require_unique("tasks", [task.id for task in tasks])
    made = []
    for task in tasks:
        if task.entry_point in markers.names:
            cure = "Take another pool of markers."
            raise InputError(
                "markers", "other names than entry points", task.entry_point, cure=cure
            )
        drawn = markers.draw(load, seed=seed, purpose="marker", task=task.id)
        extra = fillers.draw(delay + depth, seed=seed, purpose="filler", task=task.id)
        made += [_slice(task, condition, drawn, extra, delay) for condition in conditions]
    return Slices(tuple(made), tuple(tasks), markers, fillers, seed, load, delay, depth)


def _slice(
    task: Task, condition: Condition, markers: tuple[str, ...], extra: tuple[str, ...], delay: int
) -> Slice:
    revoked = None if condition == "control" else markers[_REVOKED]
    required = " ".join(clause.text for clause in task.requirements)
    apart = "\n\n" if "\n" in task.statement else " "  # code keeps its lines
    opening = task.statement.rstrip() + apart + required
    turns = [Turn("task", opening)]
    turns += [Turn("marker", ASKING + _asks(name)) for name in markers]
    block = [Turn("auxiliary", text) for text in extra]
    if revoked is not None:
        withdrawal = Turn("revocation", _withdraws(revoked))
        block.insert(0 if condition == "immediate" else delay, withdrawal)
    name = f"{task.id}:{condition}:m{len(markers)}"
    return Slice(name, task, condition, markers, revoked, (*turns, *block))


def _asks(marker: str) -> str:
    return f"Define an extra function {marker}; its body may be empty."


def _withdraws(marker: str) -> str:
    return (
        f"The requirement of {marker} no longer holds: leave {marker} undefined and keep the "
        "code lean."
    )


def _require_names(markers: Pool) -> None:
    for name in markers.names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InputError("markers", "Python names that can be defined", repr(name))
