"""Every preset by name: `paper/point`, such as "stageif/glm-5.1" or "rebind/load-grid"."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

from simtrack.agents.agent import Agent
from simtrack.agents.presets.cited import About, Preset
from simtrack.agents.presets.gate import B1, gate_preset
from simtrack.agents.presets.rebind import REBIND, rebind
from simtrack.agents.presets.stageif import STAGE_PRESETS, stage_about, stage_preset
from simtrack.agents.presets.statetrack import MODELS, statetrack
from simtrack.agents.presets.trajectory import (
    TRAJECTORY_PRESETS,
    trajectory_about,
    trajectory_preset,
)
from simtrack.errors import InputError

__all__ = ["PRESETS", "preset", "preset_agent"]

Made = tuple[Agent, About]


def _cited(make: Callable[[str], Preset]) -> Callable[[str], Made]:
    def both(point: str) -> Made:
        found = make(point)
        return found.agent, found.about

    return both


_BLOCKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[str], Made]], ...]] = (
    ("stageif", STAGE_PRESETS, lambda point: (stage_preset(point), stage_about(point))),
    ("tau2", TRAJECTORY_PRESETS, lambda p: (trajectory_preset(p), trajectory_about(p))),
    ("gate", tuple(B1), _cited(gate_preset)),
    ("statetrack", tuple(MODELS), _cited(statetrack)),
    ("rebind", REBIND, _cited(rebind)),
)
#: Names of all presets.
PRESETS: Final = tuple(f"{block}/{point}" for block, points, _ in _BLOCKS for point in points)


def preset_agent(name: str) -> Agent:
    """Which agent stands for this published operating point?

    Examples
    --------
    >>> type(preset_agent("gate/glm-5.1")).__name__
    'GateAgent'
    """
    return _made(name)[0]


def preset(name: str) -> dict[str, Any]:
    """What is a preset, and what was it made from: name, agent, inputs and assumptions as text?

    Examples
    --------
    >>> preset("rebind/load-grid")["inputs"][0]
    'relapse, load 2: 0.011 (rebind/load_grid.csv, qwen3-8b bare delayed)'
    """
    agent, about = _made(name)
    return {"name": name, "agent": agent, "inputs": list(about.inputs),
            "assumed": list(about.assumed)}  # fmt: skip


def _made(name: str) -> Made:
    block, _, point = str(name).partition("/")
    for known, points, make in _BLOCKS:
        if block == known and point in points:
            return make(point)
    near = get_close_matches(str(name), PRESETS, 3)
    cure = f"Did you mean {' or '.join(near)}?" if near else "simtrack init --presets lists them."
    raise InputError("preset", "the name of one, such as stageif/glm-5.1", repr(name), cure=cure)
