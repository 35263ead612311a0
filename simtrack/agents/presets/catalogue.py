"""Every preset by name: `paper/point`, such as "stageif/glm-5.1" or "rebind/load-grid"."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

from simtrack.agents.presets.cited import Preset
from simtrack.agents.presets.gate import B1, gate_preset
from simtrack.agents.presets.rebind import REBIND, rebind
from simtrack.agents.presets.stageif import STAGE_PRESETS, stage_assumptions, stage_preset
from simtrack.agents.presets.statetrack import MODELS, statetrack
from simtrack.agents.presets.trajectory import (
    TRAJECTORY_PRESETS,
    trajectory_assumptions,
    trajectory_preset,
)
from simtrack.errors import InputError

__all__ = ["PRESETS", "preset", "preset_agent"]

_BLOCKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[str], Any]], ...]] = (
    ("stageif", STAGE_PRESETS, stage_preset),
    ("tau2", TRAJECTORY_PRESETS, trajectory_preset),
    ("gate", tuple(B1), gate_preset),
    ("statetrack", tuple(MODELS), statetrack),
    ("rebind", tuple(REBIND), rebind),
)
#: Names of all presets.
PRESETS: Final = tuple(f"{block}/{point}" for block, points, _ in _BLOCKS for point in points)


def preset_agent(name: str) -> Any:
    """Which agent stands for this published operating point?

    Examples
    --------
    >>> type(preset_agent("gate/glm-5.1")).__name__
    'GateAgent'
    """
    found = _made(name)
    return found.agent if isinstance(found, Preset) else found


def preset(name: str) -> dict[str, Any]:
    """What is a preset, and what was it made from: name, agent, inputs and assumptions as text?

    Examples
    --------
    >>> preset("rebind/load-grid")["inputs"][0]
    'relapse, load 2: 0.011 (rebind/load_grid.csv, qwen3-8b bare delayed)'
    """
    found = _made(name)
    if isinstance(found, Preset):
        inputs = [f"{i.quantity}: {i.value} ({i.source})" for i in found.inputs]
        return {"name": name, "agent": found.agent, "inputs": inputs,
                "assumed": list(found.assumed)}  # fmt: skip
    block, _, point = name.partition("/")
    said = (stage_assumptions if block == "stageif" else trajectory_assumptions)(point)
    told = {
        kind: [text.removeprefix(f"{kind}: ") for text in said if text.startswith(kind)]
        for kind in ("input", "assumed")
    }
    return {"name": name, "agent": found, "inputs": told["input"], "assumed": told["assumed"]}


def _made(name: str) -> Any:
    block, _, point = str(name).partition("/")
    for known, points, make in _BLOCKS:
        if block == known and point in points:
            return make(point)
    near = get_close_matches(str(name), PRESETS, 3)
    cure = f"Did you mean {' or '.join(near)}?" if near else "simtrack init --presets lists them."
    raise InputError("preset", "the name of one, such as stageif/glm-5.1", repr(name), cure=cure)
