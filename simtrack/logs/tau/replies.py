"""The messages of tau-bench and tau2-bench trajectories as replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from simtrack.logs import transcripts
from simtrack.logs.decode import Decoded, decode
from simtrack.logs.tau.columns import FirstFile, Info, Message, Results, Simulation, Trial, numbered
from simtrack.logs.tau.first import open_first, trials_table
from simtrack.logs.tau.second import open_results, table_of
from simtrack.options import Turns
from simtrack.records import Replies

__all__ = ["first_replies", "second_replies", "simulation_replies"]


class Function(Struct, gc=False):
    """The function of a call, as chat APIs log it."""

    name: str = ""


class Call(Struct, gc=False):
    """One tool call: tau2-bench names it, tau-bench has a function within."""

    name: str | None = None
    function: Function | None = None


class SaidMessage(Message, gc=False):
    """One message with its words and calls."""

    content: Any = None
    tool_calls: list[Call] | None = None


class SaidTrial(Trial):
    """A trajectory of tau-bench with its messages."""

    traj: list[SaidMessage] | None = None


class SaidFile(FirstFile):
    """A whole tau-bench file with messages."""

    trials: list[SaidTrial]  # type: ignore[assignment]


class SaidSimulation(Simulation):
    """A simulation with its messages."""

    messages: list[SaidMessage] | None = None  # type: ignore[assignment]


class SaidResults(Results):
    """A tau2-bench results file with messages."""

    simulations: list[SaidSimulation] | None = None  # type: ignore[assignment]
    simulation_index: list[SaidSimulation] | None = None  # type: ignore[assignment]


def first_replies(data: bytes, label: str, turns: Turns) -> Replies:
    """Read the messages of a list of tau-bench trajectories."""
    seen = Decoded()
    trials: list[Any] = open_first(data, label, seen, SaidFile)
    table = trials_table(trials, label, seen, None)
    order = numbered([t.task_id for t in trials], [t.trial for t in trials])
    dialogues = [_dialogue(t.task_id, k, t.traj or ()) for t, k in zip(trials, order, strict=True)]
    return transcripts.to_replies(table, dialogues, turns)


def second_replies(path: Path, data: bytes, label: str, turns: Turns) -> Replies:
    """Read the messages of a tau2-bench run; those of simulations without any are missing.

    The simulated user may call tools too; its messages keep the role user.
    """
    results, found, notes = open_results(path, data, label, kind=SaidSimulation, file=SaidResults)
    table = table_of(results, found, label, None, notes)
    order = numbered([s.task_id for s in found], [s.trial for s in found])
    dialogues = [
        _dialogue(s.task_id, k, s.messages or ()) for s, k in zip(found, order, strict=True)
    ]
    return transcripts.to_replies(table, dialogues, turns)


def simulation_replies(data: bytes, label: str, turns: Turns) -> Replies:
    """Read the messages of one simulation of the folder form that lies alone."""
    seen = Decoded()
    found = decode(data, SaidSimulation, label, seen)
    table = table_of(Results(Info(num_trials=None)), [found], label, None, seen.notes())
    dialogue = _dialogue(found.task_id, found.trial or 0, found.messages or ())
    return transcripts.to_replies(table, [dialogue], turns)


def _dialogue(task: int | str, trial: int, messages: Any) -> transcripts.Dialogue:
    return transcripts.Dialogue(
        f"{task}/{trial}",
        [
            transcripts.Said(m.role, _text(m), tuple(map(_called, m.tool_calls or ())))
            for m in messages
        ],
    )


def _text(message: SaidMessage) -> str | None:
    """Give the words; a message that calls a tool often has none, which are empty words."""
    if isinstance(message.content, str):
        return message.content
    return "" if message.tool_calls else None


def _called(call: Call) -> str:
    return call.name or (call.function.name if call.function else "") or "tool"
