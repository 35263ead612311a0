"""StageIF's deployments as gate agents, from what became of their rollouts under gate B1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from simtrack.agents.gate.agent import GateAgent
from simtrack.agents.presets.cited import Preset, block
from simtrack.errors import InputError

__all__ = ["B1", "B2_OK", "REPLAYED", "gate_preset", "marker_gate_fit"]

_FOUND: Final = block("gate")
#: Of 72 rollouts under B1: ok, dead end, premature stop, stall.
B1: Final[Mapping[str, tuple[int, int, int, int]]] = _FOUND.rows("B1")
#: Of 72 rollouts under B2: ok. Kept out of the presets: it is what they are judged on.
B2_OK: Final[Mapping[str, int]] = _FOUND.rows("B2_ok")
#: Archived rollouts under the model-emitted gate: correct, dead end, premature stop, other; and
#: correct under the runtime's.
REPLAYED: Final = (_FOUND.rows("replayed")["model"], _FOUND.rows("replayed")["runtime"])
_TURNS = 4  # of a rollout, some
_BISECTIONS = 200


def gate_preset(deployment: str) -> Preset:
    """Which gate agent stands for a deployment of StageIF's rollouts?

    It asks and confirms, each in a message that the user answers, then calls two tools; before
    each it may say something instead, which stalls. Omission, early claims and stalling are those
    that give its outcomes under B1. For A, the chance to go on when asked is that of all
    deployments together (Table 19).

    Examples
    --------
    >>> agent = gate_preset("glm-5.1").agent
    >>> [round(float(agent.outcome({"gate": gate})[5]), 2) for gate in ("B1", "B2")]
    [0.72, 0.77]
    """
    if deployment not in B1:
        raise InputError("deployment", f"one of {', '.join(B1)}", repr(deployment))
    counts = B1[deployment]
    lost, rollouts = _FOUND.rows("transport")["all"]
    goes_on = _FOUND.rows("goes_on")
    omit, early, says = marker_gate_fit(*counts)
    agent = GateAgent(
        (1.0, 1.0, says, says, says), omit, early, transport=lost / rollouts / _TURNS,
        resume=[({"gate": "A"}, goes_on["A"]), ({}, goes_on["other"])],
    )  # fmt: skip
    numbers = _FOUND.numbers
    inputs = (numbers["B1"].input(deployment), numbers["transport"].input(), numbers["A"].input())
    return Preset(deployment, agent, inputs, _FOUND.about["deployment"].assumed)


def marker_gate_fit(ok: int, dead: int, premature: int, stall: int) -> tuple[float, float, float]:
    """Which chances of omission, early claim and stalling give these outcomes under B1?

    With q the chance that a message passes the gate and ρ the chance to call both tools without a
    message: P(ok) = q² ρ and P(stall) = q³ (1 − ρ), a message in place of a step being read by the
    gate too. Hence q³ − P(ok) q = P(stall), which rises in q where it matters.

    Returns
    -------
    omit, early, says : float
        says = 1 − √ρ before each of the two steps.

    Examples
    --------
    >>> omit, early, says = marker_gate_fit(18, 41, 0, 13)
    >>> round(omit, 3), early, round((1 - says) ** 2, 3)  # P(ok) without a gate on markers
    (0.29, 0.0, 0.496)
    """
    n = ok + dead + premature + stall
    a, b = ok / n, stall / n
    low, high = math.sqrt(a), 1.0
    for _ in range(_BISECTIONS):
        q = 0.5 * (low + high)
        low, high = (q, high) if q**3 - a * q < b else (low, q)
    q = 0.5 * (low + high)
    stopped = dead + premature
    omit = (1.0 - q) * dead / stopped if stopped else 0.0
    early = (1.0 - q) * premature / stopped if stopped else 0.0
    return omit, early, 1.0 - math.sqrt(min(1.0, a / q**2))
