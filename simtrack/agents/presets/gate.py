"""StageIF's deployments as gate agents, from what became of their rollouts under gate B1."""

from __future__ import annotations

import math
from typing import Final

from simtrack.agents.gate.agent import GateAgent
from simtrack.agents.presets.cited import Input, Preset
from simtrack.errors import InputError

__all__ = ["B1", "B2_OK", "REPLAYED", "gate_preset", "marker_gate_fit"]

#: Of 72 rollouts under B1: ok, dead end, premature stop, stall (stageif/table20_counts.csv).
B1: Final = {
    "deepseek-v4-flash": (18, 41, 0, 13),
    "deepseek-v4-pro": (25, 5, 0, 42),
    "glm-5.1": (52, 0, 5, 15),
    "gpt-4.1": (22, 0, 1, 48),
    "gpt-4.1-mini": (17, 5, 1, 47),
    "qwen3.5-122b-a10b": (50, 0, 0, 17),
    "qwen3.5-35b-a3b": (2, 69, 0, 1),
    "qwen3.6-27b": (49, 11, 2, 9),
}
#: Of 72 rollouts under B2: ok (the same table). Kept out of the presets: it is what they are
#: judged on.
B2_OK: Final = {
    "deepseek-v4-flash": 26,
    "deepseek-v4-pro": 31,
    "glm-5.1": 55,
    "gpt-4.1": 30,
    "gpt-4.1-mini": 25,
    "qwen3.5-122b-a10b": 32,
    "qwen3.5-35b-a3b": 51,
    "qwen3.6-27b": 60,
}
#: Archived rollouts under the model-emitted gate: correct, dead end, premature stop, other; and
#: correct under the runtime's (stageif/appendix_v_replay.csv).
REPLAYED: Final = ((114, 62, 8, 152), 164)
#: Turns that end for want of a response: 3 of 576 rollouts of some 4 turns
#: (stageif/appendix_x_terminations.csv).
_TRANSPORT = 3 / 576 / 4
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
    omit, early, says = marker_gate_fit(*counts)
    agent = GateAgent(
        (1.0, 1.0, says, says, says), omit, early, transport=_TRANSPORT,
        resume=[({"gate": "A"}, _GOES_ON[0]), ({}, _GOES_ON[1])],
    )  # fmt: skip
    shown = "{} ok, {} dead end, {} premature, {} stall of 72".format(*counts)
    inputs = (
        Input("outcomes under B1", shown, "stageif/table20_counts.csv"),
        Input("transport under B1", "3 of 576", "stageif/appendix_x_terminations.csv"),
        Input("ok under A, unmatched and matched", "40.8 %, 81.1 %", "stageif/table19_gates.csv"),
    )
    return Preset(deployment, agent, inputs, _ASSUMED)


#: Chance to go on when the runtime asks, without and with the authorisation to use defaults: those
#: at which the eight deployments succeed in 0.408 and 0.811 on average (stageif/table19_gates.csv).
_GOES_ON: Final = (0.721163, 0.932472)
_ASSUMED: Final = (
    "two messages come before the steps; whether a marker is left out does not depend on which",
    "a deployment says something in place of a step as often with B1's instructions as without",
    "scenarios do not differ, calls are never rejected, and no rollout meets the turn cap",
    "going on under A is the same for all deployments",
)


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
