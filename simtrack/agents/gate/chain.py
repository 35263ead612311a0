"""A two-step task as an absorbing chain: where does a rollout end, under which termination gate?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.taxonomy import GATE

__all__ = [
    "EVENTS",
    "GATES",
    "OUTCOMES",
    "STATES",
    "Gate",
    "Rollout",
    "absorption",
    "events",
    "replay",
    "step",
]


Floats = NDArray[np.float64]
#: B1 reads a marker, B2 stops where no tool is called, A is owned by the runtime, which asks the
#: model to go on; "A_matched" adds the authorisation to use default values.
Gate = Literal["B1", "B2", "A", "A_matched"]
GATES: tuple[str, ...] = get_args(Gate)
#: Where a task stands before a turn of the model; after the last comes the finished task.
STATES = ("clarify", "confirm", "step one", "report", "step two")
#: What a turn of the model can be. Text without a marker, with COMPLETED too early, or with
#: another marker; a tool call that is valid or rejected; or no response.
EVENTS = ("transport", "omitted", "early", "marked", "done", "rejected")
#: How a rollout ends.
OUTCOMES = GATE.codes[:6]
_TRANSPORT, _DEAD_END, _PREMATURE, _STALL, _TURN_CAP, _OK = range(6)
_FINISHED = len(STATES)
#: The next state after a valid call, and after text that the user or the runtime answers.
_AFTER_CALL = (3, 3, 3, _FINISHED, _FINISHED)
_AFTER_TEXT = (1, 2, 2, 4, 4)
#: Up to this state the user has something to say; later text returns to a user who has not.
_SCRIPTED = 2


def step(state: int, event: str, gate: str, resumes: bool) -> tuple[int | None, str]:
    """What follows an event: the next state, or None and the outcome.

    Parameters
    ----------
    state : int
        Index into `STATES`.
    event : str
        One of `EVENTS`.
    gate : str
        One of `GATES`.
    resumes : bool
        Whether the model goes on when the runtime asks it to (gates A).

    Examples
    --------
    >>> step(0, "omitted", "B1", False), step(0, "omitted", "B2", False)
    ((None, 'DEAD_END'), (1, ''))
    """
    if event == "transport":
        return None, "TRANSPORT"
    if event == "rejected":
        return state, ""
    if event == "done":
        after = _AFTER_CALL[state]
        return (None, "TASK_OK") if after == _FINISHED else (after, "")
    if gate == "B1" and event != "marked":
        return None, "DEAD_END" if event == "omitted" else "PREMATURE"
    goes_on = state < _SCRIPTED if gate in ("B1", "B2") else resumes
    return (_AFTER_TEXT[state], "") if goes_on else (None, "STALL")


def events(speak: Floats, omit: float, early: float, valid: float, transport: float) -> Floats:
    """Give the chances of `EVENTS` in a state: shape (..., 6), from P(text) of shape (...)."""
    text, call = (1.0 - transport) * speak, (1.0 - transport) * (1.0 - speak)
    parts = (
        np.broadcast_to(transport, speak.shape),
        text * omit,
        text * early,
        text * (1.0 - omit - early),
        call * valid,
        call * (1.0 - valid),
    )
    return np.stack(parts, axis=-1)


def absorption(chances: Floats, gate: str, resume: float, turn_cap: int | None = None) -> Floats:
    """Where do rollouts end? Exactly.

    Parameters
    ----------
    chances : float64 array, shape (..., 5, 6)
        P(event) in each state.
    gate : str
        One of `GATES`.
    resume : float
        The chance that the model goes on when the runtime asks it to.
    turn_cap : int, optional
        The most turns of the model. With a cap, state is propagated turn by turn; without one the
        linear system is solved, which the order of the states makes a substitution.

    Returns
    -------
    float64 array, shape (..., 6)
        Shares of `OUTCOMES`.
    """
    if gate not in GATES:
        raise InputError("gate", f"one of {', '.join(GATES)}", repr(gate))
    move, end = _system(chances, gate, resume)
    return _solved(move, end) if turn_cap is None else _propagated(move, end, turn_cap)


def _system(chances: Floats, gate: str, resume: float) -> tuple[Floats, Floats]:
    """Give moves between states (..., 5, 5) and ends (..., 5, 6)."""
    shape = chances.shape[:-1]
    move = np.zeros((*shape, len(STATES)))
    end = np.zeros((*shape, len(OUTCOMES)))
    for state in range(len(STATES)):
        for k, event in enumerate(EVENTS):
            for goes_on, weight in ((True, resume), (False, 1.0 - resume)):
                after, outcome = step(state, event, gate, goes_on)
                mass = weight * chances[..., state, k]
                if after is None:
                    end[..., state, OUTCOMES.index(outcome)] += mass
                else:
                    move[..., state, after] += mass
    return move, end


def _solved(move: Floats, end: Floats) -> Floats:
    """No state leads back to an earlier one: substitute from the last."""
    found = np.zeros_like(end)
    for state in reversed(range(len(STATES))):
        total = end[..., state, :].copy()
        for later in range(state + 1, len(STATES)):
            total += move[..., state, later, None] * found[..., later, :]
        leaves = 1.0 - move[..., state, state]
        never = leaves <= 0.0
        found[..., state, :] = total / np.where(never, 1.0, leaves)[..., None]
        found[..., state, _TURN_CAP] += never
    return np.asarray(found[..., 0, :])


def _propagated(move: Floats, end: Floats, turn_cap: int) -> Floats:
    here = np.zeros(move.shape[:-1])
    here[..., 0] = 1.0
    ended = np.zeros(end.shape[:-2] + end.shape[-1:])
    for _ in range(turn_cap):
        ended += (here[..., :, None] * end).sum(axis=-2)
        here = (here[..., :, None] * move).sum(axis=-2)
    ended[..., _TURN_CAP] += here.sum(axis=-1)
    return ended


# Archived rollouts under another gate: cut at the first event at which that gate stops.
@dataclass(frozen=True, slots=True)
class Rollout:
    """What did the model do, turn by turn, and how did the session end?

    Attributes
    ----------
    cluster, repetition : int
    gate : str
        The gate under which it was run.
    turns : tuple of (state, event, resumes)
        Index into `gate_chain.STATES`, one of `gate_chain.EVENTS`, and whether the model went on
        when the runtime asked it to.
    outcome : str
    """

    cluster: int
    repetition: int
    gate: str
    turns: tuple[tuple[int, str, bool], ...]
    outcome: str


def replay(rollouts: Sequence[Rollout], gate: str) -> tuple[Rollout, ...]:
    """How would these rollouts have ended under another gate?

    A gate decides on what came before, so a rollout is cut at its first stop; its law is the
    gate's, no call is made. This needs a prefix that goes far enough.

    Raises
    ------
    InputError
        A rollout that its own gate has already cut where the other gate goes on.

    Examples
    --------
    >>> free = Rollout(0, 0, "B2", ((0, "omitted", False), (1, "done", False)), "TASK_OK")
    >>> replay([free], "B1")[0].outcome
    'DEAD_END'
    """
    if gate not in GATES:
        raise InputError("gate", f"one of {', '.join(GATES)}", repr(gate))
    return tuple(_replayed(rollout, gate) for rollout in rollouts)


def _replayed(rollout: Rollout, gate: str) -> Rollout:
    for k, (state, event, resumes) in enumerate(rollout.turns):
        if event not in EVENTS:
            raise InputError("event", f"one of {', '.join(EVENTS)}", repr(event))
        after, outcome = step(state, event, gate, resumes)
        if after is None:
            turns = rollout.turns[: k + 1]
            return Rollout(rollout.cluster, rollout.repetition, gate, turns, outcome)
        following = rollout.turns[k + 1][0] if k + 1 < len(rollout.turns) else None
        if following is not None and following != after:
            raise InputError(
                "rollouts", f"of a prefix that {gate} would have had as well", rollout.gate
            )
    if rollout.outcome != OUTCOMES[4]:
        raise InputError(
            "rollouts",
            f"long enough for {gate}",
            f"one that {rollout.gate} cut after {len(rollout.turns)} turns",
            cure="Replay from rollouts of a gate that goes on for longer.",
        )
    return Rollout(rollout.cluster, rollout.repetition, gate, rollout.turns, rollout.outcome)
