"""Which fields of tau-bench and tau2-bench files are read? All others are skipped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct

from simtrack.counts import Loss
from simtrack.errors import DataError
from simtrack.logs.columns import Column
from simtrack.logs.columns import label as as_label

__all__ = [
    "RUN_COLUMNS",
    "SIMULATION_COLUMNS",
    "TRIAL_COLUMNS",
    "FirstFile",
    "Results",
    "Simulation",
    "Trial",
    "breakdown_column",
    "missing_cells",
    "numbered",
]


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


# Which trials were planned, and which of them left no row?
#: More cells than anyone runs.
CELLS_MAX = 10**9


def numbered(task_ids: Sequence[Any], trials: Sequence[int | None]) -> list[int]:
    """Give every trial its number; those without one are counted within their task, from 0."""
    times: Counter[Any] = Counter()
    found = []
    for task, trial in zip(task_ids, trials, strict=True):
        found.append(times[task] if trial is None else trial)
        times[task] += 1
    return found


def missing_cells(
    tasks: Iterable[Any], trials: int, cells: Sequence[tuple[Any, int]], label: str, reason: str
) -> tuple[list[Loss], list[str]]:
    """Give the planned task × trial cells without a row as a loss, and what is odd about the rows.

    Raises
    ------
    DataError
        A cell that occurs twice: its trials would be counted twice; or a plan that nobody runs.
    """
    keys = [(as_label(task) or "", trial) for task, trial in cells]
    twice = [key for key, times in Counter(keys).items() if times > 1]
    if twice:
        raise DataError(
            f"{label}: task {twice[0][0]}, trial {twice[0][1]} occurs more than once "
            f"({len(twice)} such). Keep one of them in the file."
        )
    names = list(dict.fromkeys(as_label(task) or "" for task in tasks))
    if len(names) * trials > CELLS_MAX:
        raise DataError(f"{label}: plans more than {CELLS_MAX:.0e} trials. Mend num_trials.")
    have = set(keys)
    absent = [f"{t} trial {k}" for k in range(trials) for t in names if (t, k) not in have]
    known = set(names)
    beyond = [key for key in keys if key[0] not in known or not 0 <= key[1] < trials]
    notes = [f"{len(beyond)} trials are not in the plan and count beyond it"] if beyond else []
    return [Loss("missing", len(absent), reason, (), tuple(absent[:5]))][: len(absent)], notes


# The declared column maps of tau-bench and tau2-bench: which field becomes which column.
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
