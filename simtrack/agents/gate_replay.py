"""Archived rollouts under another gate: cut at the first event at which that gate stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simtrack.agents.gate_chain import EVENTS, GATES, OUTCOMES, step
from simtrack.errors import InputError

__all__ = ["Rollout", "replay"]


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
