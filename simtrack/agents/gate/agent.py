"""An agent that works through a two-step task until it, or the termination gate, stops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions, expected_value, planned_trials, shuffled_records
from simtrack.agents.categories import Table, categorise, frozen_table, look_up
from simtrack.agents.gate.chain import (
    EVENTS,
    GATES,
    OUTCOMES,
    STATES,
    Rollout,
    absorption,
    events,
    step,
)
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.plain import Document
from simtrack.records import Records
from simtrack.rng import Stream, require_distinct
from simtrack.validate import integer, real

__all__ = ["GateAgent"]

Floats = NDArray[np.float64]
_TABLES = ("speak", "omit", "early", "valid", "transport", "resume")
_STEP, _REACH = 1 / 16, 9.0


@dataclass(frozen=True, slots=True, init=False)
class GateAgent(Document, schema="simtrack.agent/1", kind="gate"):
    """How do rollouts end under a termination gate?

    Each turn is a message or a tool call. A message may lack its marker or claim COMPLETED too
    early, at which gate B1 stops; to a message while clarifying or confirming the user answers,
    later the user has nothing to add and the session stalls. Gates A ask the model to go on
    instead. The condition `gate` of the design takes the levels of `gate_chain.GATES`; all others
    select lines of the tables, and so may `gate`.

    Parameters
    ----------
    speak : table of 5 floats
        Chance that a turn is a message, by state (`gate_chain.STATES`).
    omit, early : table of float
        Chance that a message lacks its marker, or claims COMPLETED; together at most 1.
    valid : table of float
        Chance that a tool call is accepted; a rejected one leaves the state as it is.
    transport : table of float
        Chance that a turn has no response.
    resume : table of float
        Chance that the model goes on when the runtime asks it to (gates A).
    turn_cap : int
        The most turns of the model.
    scenario_sd : float
        SD over scenarios of the logit of `speak` after confirmation; 0 for none. Chances are then
        those of a median scenario.
    common : bool
        Gates use the same number for a rollout's outcome (the order of outcomes is that of
        `gate_chain.OUTCOMES`).

    Examples
    --------
    >>> agent = GateAgent(speak=(1.0, 1.0, 0.1, 0.1, 0.1), omit=0.2)
    >>> round(float(agent.outcome({"gate": "B1"})[5]), 12)  # 0.8 * 0.8 * 0.9 * 0.9
    0.5184
    """

    speak: Table[tuple[float, ...]]
    omit: Table[float]
    early: Table[float]
    valid: Table[float]
    transport: Table[float]
    resume: Table[float]
    turn_cap: int
    scenario_sd: float
    common: bool

    def __init__(
        self,
        speak: object,
        omit: object = 0.0,
        early: object = 0.0,
        valid: object = 1.0,
        transport: object = 0.0,
        resume: object = 1.0,
        turn_cap: int = 20,
        scenario_sd: float = 0.0,
        common: bool = False,
    ) -> None:
        if isinstance(speak, (list, tuple)) and all(isinstance(v, (int, float)) for v in speak):
            speak = [({}, tuple(speak))]
        lines = zip(_TABLES, (speak, omit, early, valid, transport, resume), strict=True)
        fields: dict[str, object] = {name: frozen_table(name, table) for name, table in lines}
        fields["turn_cap"] = integer("turn_cap", turn_cap, 1, 10_000)
        fields["scenario_sd"] = real("scenario_sd", scenario_sd, 0.0, 20.0)
        fields["common"] = bool(common)
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        for _, chances in self.speak:
            if not isinstance(chances, tuple) or len(chances) != len(STATES):
                raise InputError("speak", f"a chance for each of {', '.join(STATES)}", chances)
            for chance in chances:
                real("speak", chance, 0.0, 1.0)
        for name in _TABLES[1:]:
            for _, value in getattr(self, name):
                real(name, value, 0.0, 1.0)

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw outcomes by scenario and cell; see `Agent.counts`.

        Rollouts are drawn one by one: more repetitions, clusters, draws or conditions keep the old
        ones.
        """
        how: DrawOptions = {
            "replicates": draws,
            "clusters": design.clusters,
            "threads": threads,
            "chunk": chunk,
        }
        trials = planned_trials(design)
        effects = Stream(seed, "gate-agent", "scenario")
        streams = [self._stream(seed, "outcome", cell) for cell in design.cells]
        require_distinct([effects, *dict.fromkeys(streams)])
        z = effects.normal(**how)[:, :, 0] if self.scenario_sd else None
        found = [
            categorise(stream, trials[:, c], self._law(cell, z), how)
            for c, (stream, cell) in enumerate(zip(streams, design.cells, strict=True))
        ]
        return CountsBatch(np.stack(found, axis=2), OUTCOMES, design.cells, design.cluster_name)

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study, a rollout a row: its counts are those of draw 0 of `counts`."""
        order = Stream(seed, "gate-agent", "order")
        return shuffled_records(self.counts(design, 1, seed), order)

    def rollouts(self, design: Design, cell: Mapping[str, str], seed: int) -> tuple[Rollout, ...]:
        """Draw the rollouts of a cell turn by turn, for `gate_replay.replay`.

        Turns of equal place use the same numbers under all gates. They are other draws than those
        of `counts`.
        """
        n = design.repetitions
        one: DrawOptions = {"replicates": 1, "clusters": design.clusters}
        rest = {name: level for name, level in cell.items() if name != "gate"}
        z = None
        if self.scenario_sd:
            z = Stream(seed, "gate-agent", "scenario").normal(**one)[:, :, 0]
        chances = np.cumsum(self._events(cell, z), axis=-1)
        tables = np.broadcast_to(chances, (1, design.clusters, *chances.shape[-2:]))[0]
        stream = self._stream(seed, "turns", rest)
        words = stream.uniform(**one, draws_each=n * 2 * self.turn_cap)[0]
        words = words.reshape(design.clusters, n, self.turn_cap, 2)
        resume, gate = look_up("resume", self.resume, cell), self._gate(cell)
        return tuple(
            _rollout(g, r, gate, tables[g], words[g, r], resume)
            for g in range(design.clusters)
            if design.runs(g, cell)
            for r in range(n)
        )

    def outcome(self, cell: Mapping[str, str], *, capped: bool = True) -> Floats:
        """How do rollouts of a cell end? Shares of `gate_chain.OUTCOMES`, exactly.

        Scenarios that differ are averaged by quadrature. Without the cap, by a linear solve.
        """
        if not self.scenario_sd:
            return self._law(cell, None, capped)
        count = round(_REACH / _STEP)
        z = np.arange(-count, count + 1, dtype=np.float64) * _STEP
        weight = np.exp(-0.5 * z * z)
        law = self._law(cell, z, capped)
        return np.asarray(np.einsum("z,zk->k", weight / weight.sum(), law))

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value of an estimand, exactly."""
        shares = np.stack([self.outcome(cell) for cell in design.cells])
        trials = planned_trials(design).astype(np.float64)
        return expected_value(what, design, OUTCOMES, trials[..., None] * shares)

    def _law(self, cell: Mapping[str, str], z: Floats | None, capped: bool = True) -> Floats:
        resume, gate = look_up("resume", self.resume, cell), self._gate(cell)
        chances = self._events(cell, z)
        return absorption(chances, gate, resume, self.turn_cap if capped else None)

    def _events(self, cell: Mapping[str, str], z: Floats | None) -> Floats:
        """P(event) by state: (5, 6), or (…, 5, 6) for scenarios with these deviates."""
        omit, early, valid, transport = (
            look_up(name, getattr(self, name), cell) for name in _TABLES[1:5]
        )
        if omit + early > 1.0:
            raise InputError("early", "at most 1 - omit in every cell", early)
        speak = np.array(look_up("speak", self.speak, cell), dtype=np.float64)
        if z is not None:
            speak = _in_scenarios(speak, self.scenario_sd * z)
        return events(speak, omit, early, valid, transport)

    def _gate(self, cell: Mapping[str, str]) -> str:
        gate = cell.get("gate", "")
        if gate not in GATES:
            rule = f"a condition of the design with levels among {', '.join(GATES)}"
            raise InputError("gate", rule, repr(gate) if gate else "none")
        return gate

    def _stream(self, seed: int, part: str, cell: Mapping[str, str]) -> Stream:
        labels = tuple(item for item in cell.items() if not (self.common and item[0] == "gate"))
        return Stream(seed, "gate-agent", part, cell=labels)


def _in_scenarios(speak: Floats, shift: Floats) -> Floats:
    """Shift the logit of P(message) after confirmation; certain chances stay certain."""
    from simtrack.kernels.logistic import logistic

    out = np.broadcast_to(speak, (*shift.shape, speak.size)).copy()
    for state in range(2, speak.size):
        p = float(speak[state])
        if 0.0 < p < 1.0:
            out[..., state] = logistic(math.log(p / (1.0 - p)) + shift)
    return out


def _rollout(
    cluster: int, repetition: int, gate: str, chances: Floats, words: Floats, resume: float
) -> Rollout:
    state, turns = 0, []
    for event_word, resume_word in words.tolist():
        place = int((event_word >= chances[state]).sum())
        event, resumes = EVENTS[min(place, len(EVENTS) - 1)], resume_word < resume
        turns.append((state, event, resumes))
        after, outcome = step(state, event, gate, resumes)
        if after is None:
            return Rollout(cluster, repetition, gate, tuple(turns), outcome)
        state = after
    return Rollout(cluster, repetition, gate, tuple(turns), "TURN_CAP")
