"""How would recorded sessions have ended under another termination gate? No model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.logs.columns import listed
from simtrack.options import GateName, choice
from simtrack.records import Records, Replies
from simtrack.scoring.positions import shared_labels, trajectory_ids
from simtrack.scoring.replay_gates import ENDS, Stop, first_stop, looks_cut, why_untold
from simtrack.scoring.replay_protocol import GATE_CODES, ReplayProtocol
from simtrack.scoring.replay_turns import Session, sessions
from simtrack.taxonomy import GATE

__all__ = ["ReplayProtocol", "replay_gates"]

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
