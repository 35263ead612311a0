"""At which turn does a gate stop a recorded session, and can the record tell at all?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simtrack.options import GateName
from simtrack.scoring.replay_protocol import ReplayProtocol
from simtrack.scoring.replay_turns import Session, Turn

__all__ = ["ENDS", "IMPOSSIBLE", "Stop", "first_stop", "looks_cut", "why_untold"]

#: How a session ends, in the words of the report, and the code of the taxonomy GATE of each.
ENDS: Mapping[str, str] = {
    "correct stop": "TASK_OK",
    "finished without a stop": "TASK_OK",
    "dead end": "DEAD_END",
    "premature stop": "PREMATURE",
    "stall": "STALL",
    "turn cap": "TURN_CAP",
    "transport": "TRANSPORT",
    "other": "OTHER",
}
_OF_MARKERS = frozenset({"dead end", "premature stop"})
#: Ends that a gate cannot give: without a marker to read there is none to miss.
IMPOSSIBLE: Mapping[GateName, frozenset[str]] = {
    "marker": frozenset(),
    "no-tool-call": _OF_MARKERS,
    "runtime": _OF_MARKERS,
}
#: Ends that hang on nothing that comes after the turn.
_DECIDED = frozenset({"correct stop", "dead end", "premature stop", "transport", "turn cap"})
_LIMITED, _SCORED = ("limited",), ("scored", "unscored")


class Stop(NamedTuple):
    """Where a session ends.

    Attributes
    ----------
    turn : int or None
        Index of the model's turn at which the gate stops; None where the record just ends.
    end : str
        One of `ENDS`.
    done : int
        Whether the task was done by then: 1, 0, or -1 where that is not told.
    """

    turn: int | None
    end: str
    done: int


def first_stop(session: Session, gate: GateName, protocol: ReplayProtocol) -> Stop:
    """Cut a session at the first turn at which a gate stops it.

    The marker gate reads turns that speak: COMPLETED stops, and so does a turn without a
    well-formed marker. The gate without one stops where the model speaks and the task is done or
    nobody answers. The runtime stops as soon as the task is done. What no gate stops ends with the
    record.
    """
    for k, turn in enumerate(session.turns):
        if not turn.valid:
            return Stop(k, "transport", turn.done)
        end = _end_at(turn, gate, protocol)
        if end:
            return Stop(k, end, turn.done)
    return _end_of_record(session)


def why_untold(session: Session, gate: GateName, stop: Stop, protocol: ReplayProtocol) -> str:
    """Say why the record cannot tell how a session would have gone on; empty if it can."""
    last = len(session.turns) - 1
    before = last + 1 if stop.turn is None else stop.turn
    spoken_to = next((k for k in range(before) if session.turns[k].reprompted), None)
    if gate != "runtime" and spoken_to is not None:
        return f"was re-prompted by the runtime after turn {spoken_to + 1} of the model"
    recorded = session.recorded
    if recorded in (None, "none", gate) or stop.end in _DECIDED:
        return ""
    cut = first_stop(session, recorded, protocol)  # type: ignore[arg-type]
    if cut.turn != last or (cut.end == stop.end == "stall" and gate != "runtime"):
        return ""
    return f"was cut by the {recorded} gate at turn {last + 1} of the model"


def looks_cut(found: Sequence[Session], gate: GateName, protocol: ReplayProtocol) -> str:
    """Say why sessions look as if a marker gate had cut them, though nothing says so.

    It takes reports in the record, that no session goes on after the turn at which such a gate
    would stop it, and that one ends there unfinished and undecided for `gate`.
    """
    if gate == "marker" or not any(t.report.emitted for s in found for t in s.turns):
        return ""
    suspects = []
    stopped = 0
    for session in found:
        stop = first_stop(session, "marker", protocol)
        if stop.turn is None or stop.end == "transport":
            continue
        if stop.turn < len(session.turns) - 1:
            return ""
        stopped += 1
        if stop.end != "correct stop" and first_stop(session, gate, protocol).end not in _DECIDED:
            suspects.append(session.name)
    if not suspects:
        return ""
    return (
        f"all {stopped} sessions that a marker gate would stop end at that very turn, "
        f"{len(suspects)} of them unfinished ({', '.join(suspects[:3])}): they look cut by it"
    )


def _end_at(turn: Turn, gate: GateName, protocol: ReplayProtocol) -> str:
    """Say how a session ends at a turn; empty if it goes on."""
    if gate == "marker":
        return _read_marker(turn, protocol) if turn.speaks else ""
    if turn.done == 1 and (gate == "runtime" or turn.speaks):
        return "correct stop"
    is_alone = turn.speaks and not (turn.answered or turn.reprompted)
    return "stall" if gate == "no-tool-call" and is_alone else ""


def _read_marker(turn: Turn, protocol: ReplayProtocol) -> str:
    if not turn.report.well_formed:
        return "dead end" if turn.called or protocol.duty_from == "start" else ""
    if turn.report.value != protocol.completed:
        return ""
    return "correct stop" if turn.done == 1 else "premature stop"


def _end_of_record(session: Session) -> Stop:
    """Say how a session ends that no gate stops: with its record."""
    turns = session.turns
    done = turns[-1].done if turns else 0
    if done == 1:
        return Stop(None, "finished without a stop", done)
    if session.ended in _LIMITED:
        return Stop(None, "turn cap", done)
    if session.ended not in _SCORED or not turns:
        return Stop(None, "transport", done)
    last = turns[-1]
    is_alone = last.speaks and not (last.answered or last.reprompted)
    return Stop(None, "stall" if is_alone else "other", done)
