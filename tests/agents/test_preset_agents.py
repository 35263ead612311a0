"""Every preset is the agent that it was: digits, published inputs and assumptions as frozen.

Write the file anew with SIMTRACK_GOLDEN=write, and read the difference.
"""

from __future__ import annotations

import json
import os
import pathlib

from simtrack.agents.presets.catalogue import PRESETS, preset
from simtrack.agents.presets.statetrack import statetrack_ledger, statetrack_recovery

FROZEN = pathlib.Path(__file__).parent / "preset_agents.json"


def now() -> dict[str, object]:
    found: dict[str, object] = {}
    for name in PRESETS:
        about = preset(name)
        found[name] = about | {"agent": about["agent"].to_dict()}
    for made in (statetrack_recovery(), statetrack_ledger()):
        found[f"statetrack/{made.name}"] = {
            "agent": made.agent.to_dict(),
            "inputs": [f"{i.quantity}: {i.value} ({i.source})" for i in made.inputs],
            "assumed": list(made.assumed),
        }
    return found


def test_every_preset_is_the_agent_that_was_frozen():
    text = json.dumps(now(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("SIMTRACK_GOLDEN") == "write":
        FROZEN.write_text(text, encoding="utf-8")
    assert text == FROZEN.read_text(encoding="utf-8")
