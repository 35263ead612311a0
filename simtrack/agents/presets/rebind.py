"""ReBIND's arms as relapse agents of qwen3-8b: the load grid, the notes, the loops, the ladder."""

from __future__ import annotations

from typing import Final

from simtrack.agents.presets.cited import Parameters, Preset, block
from simtrack.agents.relapse.agent import RelapseAgent
from simtrack.errors import InputError

__all__ = ["ICC", "REBIND", "REPETITIONS", "TASKS", "TASK_SHARE", "rebind"]

_FOUND: Final = block("rebind")
_COMMON: Final = _FOUND.common or Parameters({}, ())
TASKS: Final[int] = _FOUND.rows("design")["tasks"]
REPETITIONS: Final[int] = _FOUND.rows("design")["repetitions"]
ICC: Final[float] = _COMMON.agent["icc"]
TASK_SHARE: Final[float] = _COMMON.agent["task_share"]
#: Every block by name.
REBIND: Final = tuple(_FOUND.presets)


def rebind(name: str) -> Preset:
    """Which relapse agent stands for a block of ReBIND's results?

    `load-grid` (conditions `load` 2, 5, 8 and `arm` bare, compiled), `notes` (arms bare, placebo,
    tombstone, positive, compiled), `restoration` (arms blind, verifier, compiled), `ladder` (arms
    verifier, fixed, adaptive) and `depth` (condition `depth`).

    Examples
    --------
    >>> from simtrack.design import Design
    >>> from simtrack.estimands import estimand
    >>> design = Design(67, 3, {"arm": ("bare",), "condition": ("delayed",), "load": ("2", "8")})
    >>> round(rebind("load-grid").agent.expectation(estimand("load_contrast"), design), 6)
    0.392
    """
    if name not in REBIND:
        raise InputError("name", f"one of {', '.join(REBIND)}", repr(name))
    own = _FOUND.presets[name]
    agent = RelapseAgent.from_dict({**_COMMON.agent, **own.agent}, f"rebind.toml, {name}")
    return Preset(name, agent, (*own.inputs, *_COMMON.inputs), own.assumed)
