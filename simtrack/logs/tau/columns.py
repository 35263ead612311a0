"""The declared column maps of tau-bench and tau2-bench: which field becomes which column."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from simtrack.logs.columns import Column
from simtrack.logs.tau.fields import Results, Simulation, Trial

__all__ = ["RUN_COLUMNS", "SIMULATION_COLUMNS", "TRIAL_COLUMNS", "breakdown_column"]

#: Ids of telecom tasks say what was combined: [family]issue|issue[PERSONA:name].
_TELECOM = re.compile(r"\[([^\[\]]+)\]([^\[\]]*)\[PERSONA:([^\[\]]*)\]")


def _part(group: int) -> Callable[[Simulation], str | None]:
    def take(simulation: Simulation) -> str | None:
        found = _TELECOM.fullmatch(str(simulation.task_id))
        return found[group] if found else None

    return take


def _issues(simulation: Simulation) -> str | None:
    issues = _part(2)(simulation)
    return None if issues is None else str(issues.count("|") + 1 if issues else 0)


def _tokens(name: str) -> Callable[[Simulation], float | None]:
    """Add up the agent's tokens; None where no message says."""

    def take(simulation: Simulation) -> float | None:
        amounts = [
            amount
            for message in simulation.messages or ()
            if message.role == "assistant" and message.usage is not None
            and (amount := getattr(message.usage, name)) is not None
        ]  # fmt: skip
        return float(sum(amounts)) if amounts else None

    return take


def _priced(simulation: Simulation) -> float | None:
    """Give the agent's cost; 0 means that the model has no price there, not that it was free."""
    return simulation.agent_cost or None


def _turns(simulation: Simulation) -> int | None:
    return len(simulation.messages) if simulation.messages else None


def _reward(simulation: Simulation) -> float | None:
    found = simulation.reward_info
    return found.reward if found is not None else simulation.reward


def _info(name: str) -> Callable[[Trial], Any]:
    def take(trial: Trial) -> Any:
        return getattr(trial.info, name) if trial.info else None

    return take


#: tau-bench: one value a trajectory.
TRIAL_COLUMNS = (
    Column("unit", "label", attrgetter("task_id")),
    Column("repetition", "label", attrgetter("trial")),
    Column("reward", "number", attrgetter("reward")),
    Column("user_cost_usd", "number", _info("user_cost")),
)
#: tau2-bench: one value a run.
RUN_COLUMNS: tuple[tuple[str, Callable[[Results], Any]], ...] = (
    ("run", lambda r: "@".join(t for t in (r.info.git_commit, r.timestamp) if t) or None),
    ("task", lambda r: r.info.environment_info and r.info.environment_info.domain_name),
    ("model", lambda r: r.info.agent_info and r.info.agent_info.llm),
    ("solver", lambda r: r.info.agent_info and r.info.agent_info.implementation),
    ("user_model", lambda r: r.info.user_info and r.info.user_info.llm),
    ("user", lambda r: r.info.user_info and r.info.user_info.implementation),
)
#: tau2-bench: one value a simulation.
SIMULATION_COLUMNS = (
    Column("unit", "label", attrgetter("task_id")),
    Column("repetition", "label", attrgetter("trial")),
    Column("simulation", "label", attrgetter("id")),
    Column("seed", "label", attrgetter("seed")),
    Column("termination", "label", attrgetter("termination_reason")),
    Column("family", "label", _part(1)),
    Column("issues", "label", _issues),
    Column("persona", "label", _part(3)),
    Column("reward", "number", _reward),
    Column("tokens_in", "number", _tokens("prompt_tokens")),
    Column("tokens_out", "number", _tokens("completion_tokens")),
    Column("duration_s", "number", attrgetter("duration")),
    Column("cost_usd", "number", _priced),
    Column("user_cost_usd", "number", attrgetter("user_cost")),
    Column("turns", "number", _turns),
)


def breakdown_column(name: str) -> Column:
    """Give the column of one factor of the reward, such as reward.DB."""

    def take(simulation: Simulation) -> float | None:
        found = simulation.reward_info
        return (found.reward_breakdown or {}).get(name) if found else None

    return Column(f"reward.{name}", "number", take)
