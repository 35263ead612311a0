"""Which fields of tau-bench and tau2-bench files are read? All others are skipped."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

__all__ = ["FirstFile", "Results", "Simulation", "Trial"]

Number = int | float | None


class TrialInfo(Struct, gc=False):
    """What tau-bench says of a trial; `error` is set where the run broke."""

    error: Any = None
    source: str | None = None
    user_cost: Number = None


class Trial(Struct):
    """One trajectory of tau-bench (2024): its reward, without the messages."""

    task_id: int | str
    trial: int | None = None
    reward: Number = None
    info: TrialInfo | None = None


class FirstFile(Struct):
    """A whole tau-bench file, its list put in an object."""

    trials: list[Trial]


class Usage(Struct, gc=False):
    """Tokens of one message."""

    prompt_tokens: Number = None
    completion_tokens: Number = None


class Message(Struct, gc=False):
    """One message, as far as its tokens."""

    role: str = ""
    usage: Usage | None = None


class Reward(Struct):
    """The reward and the factors that it is the product of."""

    reward: Number = None
    reward_breakdown: dict[str, Number] | None = None


class Simulation(Struct):
    """One simulation; a row of `simulation_index` has `reward` in place of `reward_info`."""

    task_id: int | str
    id: str | None = None
    trial: int | None = None
    seed: int | None = None
    termination_reason: str | None = None
    reward_info: Reward | None = None
    reward: Number = None
    agent_cost: Number = None
    user_cost: Number = None
    duration: Number = None
    messages: list[Message] | None = None
    mode: str | None = None


class Party(Struct):
    """The agent or the simulated user."""

    implementation: str | None = None
    llm: str | None = None


class Environment(Struct):
    """The domain."""

    domain_name: str | None = None


class Info(Struct):
    """The plan of a tau2-bench run: every task, `num_trials` times."""

    num_trials: int | None = None
    max_steps: int | None = None
    agent_info: Party | None = None
    user_info: Party | None = None
    environment_info: Environment | None = None
    git_commit: str | None = None


class Task(Struct, gc=False):
    """One task of the plan."""

    id: int | str


class Results(Struct):
    """A tau2-bench results file; in the folder form the simulations lie beside it."""

    info: Info
    tasks: list[Task] = []
    timestamp: str | None = None
    simulations: list[Simulation] | None = None
    simulation_index: list[Simulation] | None = None
