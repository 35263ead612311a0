"""A study before it is paid for, in one TOML: design, agent, analysis, goal, and what is asked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar

from simtrack.agents import agent_from_dict
from simtrack.agents.agent import Agent
from simtrack.agents.clustered.paired import PairedAgent
from simtrack.agents.presets.catalogue import preset_agent
from simtrack.analysis import analyses
from simtrack.analysis.named import Analysis
from simtrack.design import Design
from simtrack.errors import DataError, InputError
from simtrack.options import Alternative, choice
from simtrack.planning import Differs, Equivalent, Exactness, Excludes, Goal, Narrow
from simtrack.price import Price
from simtrack.validate import integer, real

__all__ = ["PlanTable", "PowerTable", "Rehearsal", "goal_of", "load_rehearsal", "parse_rehearsal"]

_TABLES: Final = ("study", "design", "agent", "analysis", "goal", "power", "plan", "price")
_GOALS: Final[dict[str, Any]] = {
    "differs": Differs,
    "equivalent": Equivalent,
    "excludes": Excludes,
    "narrow": Narrow,
}
_ANALYSIS: Final = ("method", "estimand", "factor", "first", "second", "level", "options")
_PRICE: Final = ("usd_per_call", "input_usd_per_mtok", "output_usd_per_mtok", "input_tokens",
                 "output_tokens")  # fmt: skip


@dataclass(frozen=True, slots=True)
class PowerTable:
    """How is the power worked out? Fields as the arguments of `simtrack.planning.power`."""

    alpha: float | None = None
    alternative: Alternative | None = None
    mcse: float = 0.005
    max_draws: int = 100_000
    block: int = 1_000
    exact: Exactness = "auto"
    threads: int = 1


@dataclass(frozen=True, slots=True)
class PlanTable:
    """Which designs are looked at? Fields as the arguments of `simtrack.planning.plan`."""

    target_power: float = 0.8
    alpha: float | None = None
    alternative: Alternative | None = None
    mcse: float = 0.01
    max_draws: int = 20_000
    block: int = 1_000
    budget_usd: float | None = None
    exact: Exactness = "auto"
    over: Mapping[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What would be run, by whom, and how it would be analysed?

    Attributes
    ----------
    design : Design
    agent : Agent
    analysis : Analysis or None
        None where nothing is to be analysed.
    goal : Goal or None
        None stands for a difference shown at the level of [power] or [plan].
    price : Price or None
        Of one trial.
    power : PowerTable
    plan : PlanTable
        What [power] and [plan] say, and the defaults of what they do not.
    """

    design: Design
    agent: Agent
    analysis: Analysis | None
    goal: Goal | None
    price: Price | None
    power: PowerTable
    plan: PlanTable


def load_rehearsal(path: str | Path) -> Rehearsal:
    """Read a rehearsal from its TOML file."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Write one with: simtrack init") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise DataError(f"{path} is not valid TOML: {error}. Mend that line.") from None
    return parse_rehearsal(content, str(path))


def parse_rehearsal(content: Mapping[str, Any], where: str) -> Rehearsal:
    """Make a rehearsal from the content of its TOML; `where` names the file in complaints."""
    _only(content, _TABLES, where)
    for name in ("design", "agent"):
        if not isinstance(content.get(name), Mapping):
            raise DataError(f"{where} has no [{name}] table. See: simtrack init")
    for name, table in content.items():
        if not isinstance(table, Mapping):
            raise InputError(name, "a table", type(table).__name__, where=where)
    price, goal = content.get("price"), content.get("goal")
    design = _design(content["design"], f"{where}, [design]")
    return Rehearsal(
        design,
        _agent(content["agent"], f"{where}, [agent]"),
        _analysis(content.get("analysis"), design, f"{where}, [analysis]"),
        None if goal is None else _goal(goal, f"{where}, [goal]"),
        None if price is None else _price(price, f"{where}, [price]"),
        _settings(PowerTable, content.get("power", {}), f"{where}, [power]"),
        _settings(PlanTable, content.get("plan", {}), f"{where}, [plan]"),
    )


def goal_of(study: Rehearsal, alpha: float | None, alternative: Alternative | None) -> Goal:
    """Take the study's goal, or a difference shown at the level and side that are asked for."""
    if study.goal is None:
        return Differs(0.05 if alpha is None else alpha, alternative or "two-sided")
    stated = {"alpha": alpha, "alternative": alternative}
    if asked := [name for name, value in stated.items() if value is not None]:
        raise InputError(" and ".join(asked), "left to [goal], where the study file has one")
    return study.goal


_Table = TypeVar("_Table", PowerTable, PlanTable)
_WHOLE: Final = ("max_draws", "block", "threads")


def _settings(kind: type[_Table], table: Mapping[str, Any], where: str) -> _Table:
    _only(table, tuple(f.name for f in fields(kind)), where)
    for name, value in table.items():
        if name == "alternative":
            choice(name, value, Alternative)
        elif name == "exact":
            choice(name, value, Exactness)
        elif name == "over":
            _ranges(value, where)
        elif name in _WHOLE:
            integer(name, value, 1)
        else:
            _number(name, value, where)
    return kind(**table)


def _ranges(over: object, where: str) -> None:
    if not isinstance(over, Mapping) or not all(isinstance(v, list) for v in over.values()):
        cure = "Write clusters = [10, 20, 30]."
        raise InputError("over", "a table of lists", repr(over), where=where, cure=cure)


def _design(table: Mapping[str, Any], where: str) -> Design:
    conditions = table.get("conditions", {})
    if not isinstance(conditions, Mapping):
        raise InputError("conditions", "a table of names and levels", conditions, where=where)
    for name, levels in conditions.items():
        _texts(f"conditions.{name}", levels, where)
    if "between" in table:
        _texts("between", table["between"], where)
    return Design.from_dict(table, where)


def _texts(name: str, value: object, where: str) -> None:
    if not isinstance(value, list) or not all(_is_label(v) for v in value):
        cure = 'Write it as ["a", "b"].'
        raise InputError(name, "a list of texts", repr(value), where=where, cure=cure)


def _is_label(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _agent(table: Mapping[str, Any], where: str) -> Agent:
    """Make an agent: a preset, by kind and parameters, or two arms by their rates."""
    if "preset" in table:
        _only(table, ("preset",), where)
        if not isinstance(table["preset"], str):
            raise InputError("preset", "a text", repr(table["preset"]), where=where)
        chosen: Agent = preset_agent(table["preset"])
        return chosen
    if table.get("kind") == "arms":
        known = ("kind", "first", "second", "icc", "slope_sd", "factor")
        _only(table, known, where)
        rest = {k: v for k, v in table.items() if k != "kind"}
        if "first" not in rest or "second" not in rest:
            raise InputError("first and second", "the rates of the two arms", where=where)
        for name in ("first", "second", "icc", "slope_sd"):
            _number(name, rest.get(name, 0.0), where)
        return PairedAgent.from_rates(rest.pop("first"), rest.pop("second"), **rest)
    if not isinstance(table.get("kind"), str):
        raise InputError("agent", "of a kind or a preset", repr(table.get("kind")), where=where)
    try:
        found: Agent = agent_from_dict(table)
    except TypeError as error:
        raise InputError("agent", f"made of what its kind takes ({error})", where=where) from None
    return found


def _analysis(table: Mapping[str, Any] | None, design: Design, where: str) -> Analysis | None:
    if table is None:
        return None
    _only(table, _ANALYSIS, where)
    if "method" not in table:
        raise InputError("method", "given: see simtrack methods", where=where)
    options = table.get("options", {})
    if not isinstance(options, Mapping):
        raise InputError("options", "a table", repr(options), where=where)
    for name in ("method", "estimand", "factor", "first", "second"):
        if not _is_label(table.get(name, "")):
            raise InputError(name, "a text", repr(table[name]), where=where)
    table = {k: str(v) if type(v) is int else v for k, v in table.items()}
    _levels(table, design, where)
    return analyses.named(
        table["method"],
        table.get("estimand", "rate"),
        table.get("factor"),
        table.get("first"),
        table.get("second"),
        level=table.get("level", 0.95),
        **options,
    )


def _levels(table: Mapping[str, Any], design: Design, where: str) -> None:
    """Refuse levels that the design has not: they would have no trials in any study."""
    known = dict(design.conditions).get(table.get("factor", ""), ())
    for name in ("first", "second"):
        if known and name in table and table[name] not in known:
            near = get_close_matches(table[name], known, 1)
            cure = f"Did you mean {near[0]}?" if near else ""
            rule = f"one of the levels of {table['factor']}: {', '.join(known)}"
            raise InputError(name, rule, repr(table[name]), where=where, cure=cure)
    if known and "first" in table and table["first"] == table.get("second"):
        raise InputError("second", "another level than first", repr(table["first"]), where=where)


def _goal(table: Mapping[str, Any], where: str) -> Goal:
    kind, rest = table.get("kind"), {k: v for k, v in table.items() if k != "kind"}
    if not isinstance(kind, str) or kind not in _GOALS:
        raise InputError("kind", f"one of {', '.join(_GOALS)}", repr(kind), where=where)
    _only(rest, tuple(f.name for f in fields(_GOALS[kind])), where)
    needed = [f.name for f in fields(_GOALS[kind]) if f.default is MISSING]
    absent = [name for name in needed if name not in rest]
    if absent:
        raise InputError("key", f"given: {', '.join(absent)}", where=where)
    goal: Goal = _GOALS[kind](**rest)
    return goal


def _price(table: Mapping[str, object], where: str) -> Price:
    _only(table, _PRICE, where)
    return Price(**{name: _number(name, table[name], where) for name in _PRICE if name in table})


def _number(name: str, value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(name, "a number", repr(value), where=where)
    return real(name, value)


def _only(found: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in found:
        if key not in known:
            near = get_close_matches(key, known, 1)
            cure = f"Did you mean {near[0]}?" if near else ""
            raise InputError("key", f"one of {', '.join(known)}", repr(key), where=where, cure=cure)
