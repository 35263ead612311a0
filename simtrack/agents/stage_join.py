"""Several stage agents as one: a panel of models, or arms that were fitted apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simtrack.agents.stage import StageAgent
from simtrack.agents.stage_effects import ClusterEffect
from simtrack.errors import InputError

__all__ = ["join_stage_agents"]

_RATES = ("speaks", "emits", "well_formed", "right", "false_alarm", "emits_on_divergence",
          "transport")  # fmt: skip
_ROWS = ("confusion", "alarm_values")


def join_stage_agents(
    factor: str,
    agents: Mapping[str, StageAgent],
    *,
    effects: Sequence[ClusterEffect] | None = None,
    common: Sequence[str] = (),
) -> StageAgent:
    """Which one agent behaves like each of these at its own level of a design condition?

    Parameters
    ----------
    factor : str
        The condition: "model", "arm".
    agents : mapping of level to StageAgent
    effects : sequence of ClusterEffect, optional
        How clusters differ in all of them; needed where the agents' own effects are not equal.
        With own=(factor,) every level has cluster deviates of its own, else they share them.
    common : sequence of str
        As for `StageAgent`.

    Raises
    ------
    InputError
        No agent, or agents of different effects and no `effects` given.

    Examples
    --------
    >>> pair = join_stage_agents("arm", {"a": StageAgent(emits=0.5), "b": StageAgent(emits=0.6)})
    >>> pair.emits.at({"stage": "READY", "arm": "b"})
    0.6
    """
    if not agents:
        raise InputError("agents", "at least one")
    found = {agent.effects for agent in agents.values()}
    if effects is None and len(found) > 1:
        cure = "Pass effects=[ClusterEffect(...)] that hold for all of them."
        raise InputError("effects", "given, since those of the agents differ", cure=cure)
    tables: dict[str, Any] = {
        name: [
            ({**dict(where), factor: level}, value if name in _RATES else dict(value))
            for level, agent in agents.items()
            for where, value in getattr(agent, name).lines
        ]
        for name in (*_RATES, *_ROWS)
    }
    shared = next(iter(found)) if effects is None else tuple(effects)
    return StageAgent(**tables, effects=shared, common=common)
