"""At which turn does a gate stop a recorded session, and can the record tell at all?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.logs.columns import listed
from simtrack.options import GateName, choice
from simtrack.records import Records, Replies
from simtrack.scoring.replay.protocol import GATE_CODES, ReplayProtocol
from simtrack.scoring.replay.turns import Session, Turn, sessions
from simtrack.scoring.stageif.positions import shared_labels, trajectory_ids
from simtrack.taxonomy import GATE

__all__ = [
    "ENDS",
    "IMPOSSIBLE",
    "ReplayProtocol",
    "Stop",
    "first_stop",
    "looks_cut",
    "replay_gates",
    "why_untold",
]


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


# How would recorded sessions have ended under another termination gate? No model is asked.
#: Fates of a planned session that no gate explains.
_LOST = ("missing", "early-stopped", "invalidated")
_OWN = frozenset({"done", "ended", "gate"})
_UNTOLD = "whether the task was done by then is not told"


def replay_gates(
    replies: Replies,
    gates: Sequence[GateName] = ("marker",),
    protocol: ReplayProtocol | None = None,
) -> Records:
    """How would recorded sessions have ended under these gates?

    A gate decides on what came before, so a session is cut at the first turn at which the gate
    stops it: its outcome is the gate's, exactly, if the record was not shaped by another gate up
    to there. Where it was, all is refused.

    Parameters
    ----------
    replies : Replies
        Every message (`read_replies(..., turns="all")`), with `trajectory`, `turn` and `role`.
    gates : sequence of {"marker", "no-tool-call", "runtime"}
        Marker (B1): a message without a well-formed marker is a dead end, one that says COMPLETED
        stops. No-tool-call (B2): a message returns to the user, and ends the session if the task
        is done or nobody answers. Runtime (A): stops as soon as the task is done.
    protocol : ReplayProtocol, optional

    Returns
    -------
    Records
        One row a session and gate, kind "rollout": the labels that all messages of a session
        share, `gate` (B1, B2, A), `end` (see below), `done` and `stop_turn` (the turn's label) of
        the cut, `outcome` of the taxonomy GATE; the numbers `turns` (of the model, up to the cut)
        and `value` (1 where TASK_OK). Ends: correct stop and finished without a stop (TASK_OK),
        dead end, premature stop, stall, turn cap, transport, other (the record ends on a tool
        call or on words of the user).

    Raises
    ------
    DataError
        Sessions that another gate cut or re-prompted before this one would have stopped them;
        columns that a replay needs.

    Source: StageIF appendix V; terms of appendix W, Table 19.
    """
    used = ReplayProtocol() if protocol is None else protocol
    for gate in gates:
        choice("gate", gate, GateName)
    if not gates or len(set(gates)) < len(gates):
        raise InputError("gates", "one or several, each once", ", ".join(gates) or "none")
    found = sessions(replies, used)
    labels, notes = _labels(replies, found), [*replies.records.notes, *_told(replies, found, used)]
    parts = []
    for gate in gates:
        stops = [first_stop(session, gate, used) for session in found]
        _refuse_untold(found, stops, gate, used)
        parts.append(_rows(labels, found, stops, gate, replies))
    together = Records.concatenate(parts)
    losses, parents = replies.records.losses, replies.records.parents
    return Records(together.factors, together.numbers, losses, parents, "rollout", tuple(notes))


def _refuse_untold(
    found: Sequence[Session], stops: Sequence[Stop], gate: GateName, protocol: ReplayProtocol
) -> None:
    cure = (
        "Replay a record of sessions that go on for longer, keep others with --where, or say "
        "under [record] gate how they were recorded."
    )
    untold = [(s.name, why) for s, stop in zip(found, stops, strict=True)
              if (why := why_untold(s, gate, stop, protocol))]  # fmt: skip
    nameless = sum(1 for s in found if s.recorded == "runtime" and any(t.answered for t in s.turns))
    if gate != "runtime" and nameless and not any(t.reprompted for s in found for t in s.turns):
        raise DataError(
            f"{nameless} sessions were recorded under the runtime gate, and none of their messages "
            "is known to be the runtime's. Say under [record] reprompts how those begin."
        )
    if untold:
        name, why = untold[0]
        raise DataError(
            f"{len(untold)} of {len(found)} sessions cannot be replayed under the {gate} gate: "
            f"{name} {why}. {cure}"
        )
    for group in dict.fromkeys(s.group for s in found if s.recorded is None):
        alike = [s for s in found if s.recorded is None and s.group == group]
        why = looks_cut(alike, gate, protocol)
        if why:
            raise DataError(f"no replay under the {gate} gate: {why}. {cure}")


def _labels(replies: Replies, found: Sequence[Session]) -> dict[str, Factor]:
    """Give the labels that all messages of a session share, one row a session."""
    records = replies.records
    ids = trajectory_ids(records)
    n = int(ids.max(initial=-1)) + 1
    shared = shared_labels(records, ids, n)
    order = ids[np.array([session.first for session in found], dtype=np.intp)]
    return {name: f.take(order) for name, f in shared.items() if name not in _OWN}


def _rows(
    labels: Mapping[str, Factor],
    found: Sequence[Session],
    stops: Sequence[Stop],
    gate: GateName,
    replies: Replies,
) -> Records:
    lost = [session.ended in _LOST and not session.turns for session in found]
    untold = [stop.done < 0 and stop.end in ("premature stop", "stall", "other")
              for stop in stops]  # fmt: skip
    gone = [a or b for a, b in zip(lost, untold, strict=True)]
    outcomes = [None if g else ENDS[s.end] for g, s in zip(gone, stops, strict=True)]
    status = [s.ended if a else "unscored" if b else "scored"
              for s, a, b in zip(found, lost, untold, strict=True)]  # fmt: skip
    kept = [len(s.turns) if stop.turn is None else stop.turn + 1
            for s, stop in zip(found, stops, strict=True)]  # fmt: skip
    own = {
        "gate": Factor.constant(GATE_CODES[gate], len(found)),
        "end": Factor.from_values(
            [None if g else s.end for g, s in zip(gone, stops, strict=True)], list(ENDS)
        ),
        "done": Factor.from_values(
            [None if s.done < 0 else str(s.done) for s in stops], ["0", "1"]
        ),
        "stop_turn": Factor.from_values(_turn_labels(replies, found, stops)),
        "outcome": Factor.from_values(outcomes, GATE.codes),
        "status": Factor.from_values(status),
        "reason": Factor.from_values([_UNTOLD if b else None for b in untold]),
    }
    value = [np.nan if o is None else float(o == "TASK_OK") for o in outcomes]
    numbers = {"value": np.array(value), "turns": np.array(kept, dtype=np.float64)}
    return Records({**labels, **own}, numbers, kind="rollout")


def _turn_labels(
    replies: Replies, found: Sequence[Session], stops: Sequence[Stop]
) -> list[str | None]:
    records = replies.records
    if "turn" in records.factors:
        every = records.factors["turn"].values()
    else:
        every = [None if t != t else f"{t:g}" for t in records.numbers["turn"].tolist()]  # noqa: PLR0124
    return [None if stop.turn is None else every[session.turns[stop.turn].row]
            for session, stop in zip(found, stops, strict=True)]  # fmt: skip


def _told(replies: Replies, found: Sequence[Session], protocol: ReplayProtocol) -> list[str]:
    """Say what was assumed of the record."""
    told = []
    unsaid = sum(session.recorded is None for session in found)
    if unsaid:
        told.append(
            f"nothing says under which gate {unsaid} of {len(found)} sessions were recorded: they "
            "count as ended by no gate"
        )
    if protocol.done_calls:
        called = Counter(name for calls in replies.calls for name in calls or ())
        never = [name for name in dict.fromkeys(protocol.done_calls) if name not in called]
        if never:
            usual = [name for name, _ in called.most_common()]
            told.append(
                f"no message calls {', '.join(never)}, so no task is ever done (the tools that are "
                f"called: {listed(usual) if usual else 'none'})"
            )
    rule = (
        f"a task is done once {', '.join(protocol.done_calls)} "
        f"{'was' if len(protocol.done_calls) == 1 else 'were'} executed"
        if protocol.done_calls
        else f"a task is done where column {protocol.done_column!r} says so"
    )
    return [*told, rule]
