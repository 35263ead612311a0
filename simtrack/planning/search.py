"""The smallest or cheapest design that reaches a power, or why there is none."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from simtrack.agents.agent import Agent
from simtrack.analysis.named import Analysis
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.options import Alternative
from simtrack.planning.answers import Exactness, Progress, answer
from simtrack.planning.goals import Differs, Goal
from simtrack.planning.question import Question
from simtrack.planning.result import Power
from simtrack.price import Price
from simtrack.validate import integer, open_unit, real

__all__ = ["Plan", "PlanPoint", "plan"]

_DIMENSIONS: Final = ("clusters", "repetitions")
_MOST_POINTS: Final = 5_000
#: A power that equals the target but for rounding reaches it.
_SLACK: Final = 1e-12


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """One design that was looked at.

    Attributes
    ----------
    settings : tuple of (str, int)
        The dimensions that were varied.
    trials : int
    cost_usd : float or None
    power : float
    mcse, low, high : float or None
        As in `Power`: studies without an answer are misses. A power far from the target is worked
        out no closer than to tell that.
    works : bool
        The power reaches the target.
    reasons : tuple of (str, float)
        Why studies have no answer, and their share.
    """

    settings: tuple[tuple[str, int], ...]
    trials: int
    cost_usd: float | None
    power: float
    mcse: float | None
    low: float | None
    high: float | None
    works: bool
    reasons: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        where = ", ".join(f"{name}={value}" for name, value in self.settings)
        cost = "" if self.cost_usd is None else f", ${self.cost_usd:,.2f}"
        return f"PlanPoint({where}: power {self.power:.4g}{cost})"

    @property
    def burden(self) -> float:
        """What the design takes: dollars where there is a price, else trials."""
        return float(self.trials) if self.cost_usd is None else self.cost_usd


@dataclass(frozen=True, slots=True)
class Plan:
    """Which designs in range reach the target power, and which is the one to take?

    Attributes
    ----------
    target_power : float
    over : tuple of str
        The dimensions that were varied.
    points : tuple of PlanPoint
        Every design that was looked at, in the order of the ranges.
    first : PlanPoint or None
        With one dimension: the smallest design that works. Larger ones may fail (sawtooth).
    all_larger : PlanPoint or None
        With one dimension: the smallest design from which all larger ones in range work.
    cheapest : PlanPoint or None
        Of those that work, the one with the least cost (without a price, the fewest trials).
    front : tuple of PlanPoint
        Designs to which no other is better in both power and cost, from the cheapest on.
    why : str or None
        Where none works: which constraint cannot be met.
    """

    target_power: float
    over: tuple[str, ...]
    points: tuple[PlanPoint, ...]
    first: PlanPoint | None
    all_larger: PlanPoint | None
    cheapest: PlanPoint | None
    front: tuple[PlanPoint, ...]
    budget_usd: float | None
    analysis: str
    goal: str
    why: str | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        plain = asdict(self)
        for name in ("first", "all_larger", "cheapest"):
            plain[name] = _plain_point(getattr(self, name))
        for name in ("points", "front"):
            plain[name] = [_plain_point(p) for p in getattr(self, name)]
        lists = {"over": list(self.over), "notes": list(self.notes)}
        return {"schema": "simtrack.plan/1"} | plain | lists

    def __repr__(self) -> str:
        if self.cheapest is None:
            return f"Plan(impossible: {self.why})"
        if self.first is None or self.all_larger is None:
            return f"Plan(cheapest {self.cheapest!r})"
        return f"Plan(first {self.first!r}, all larger from {self.all_larger!r})"


def plan(
    agent: Agent | Callable[[Design], Agent],
    design: Design,
    analysis: Analysis,
    *,
    target_power: float = 0.8,
    over: Mapping[str, Iterable[int]],
    price: Price | None = None,
    budget_usd: float | None = None,
    calls_per_trial: float = 1.0,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    goal: Goal | None = None,
    mcse: float = 0.005,
    max_draws: int = 20_000,
    block: int = 1_000,
    seed: int = 0,
    exact: Exactness = "auto",
    threads: int = 1,
    progress: Progress | None = None,
) -> Plan:
    """How many clusters or repetitions does a study need, and what does it cost?

    Every design in range is looked at: with discrete data power is a sawtooth, so that bisection
    may return a size that works while the next ones do not. All designs share their draws.

    Parameters
    ----------
    agent : Agent, or callable from Design to Agent
    design : Design
        The conditions, and whatever `over` does not vary.
    analysis : Analysis
    target_power : float
    over : mapping of "clusters" or "repetitions" to integers
    price : Price, optional
        Of a call; a trial takes `calls_per_trial` of them.
    budget_usd : float, optional
        Designs above it are left out; needs a price.
    alpha, alternative, goal, mcse, max_draws, block, seed, exact, threads
        As for `power`. A design whose power is four standard errors from the target is not
        simulated any further.
    progress : callable (done, total, seconds left), optional
        Called after every design.

    Examples
    --------
    >>> from simtrack.agents import ClusteredAgent
    >>> from simtrack.analysis import analyses
    >>> test = analyses.binomial_exact("rate", null=0.05)
    >>> plan(ClusteredAgent(0.2), Design(25), test, over={"clusters": range(25, 41)}, alpha=0.025,
    ...      alternative="greater")
    Plan(first PlanPoint(clusters=33: power 0.8179), all larger from PlanPoint(clusters=39: \
power 0.82))
    """
    aim = goal if goal is not None else Differs(alpha, alternative)
    open_unit("target_power", target_power)
    ranges = _ranges(over)
    cost = _Cost(price, budget_usd, calls_per_trial)

    def look(settings: dict[str, int]) -> PlanPoint:
        here = design.with_(**settings)
        who = agent(here) if callable(agent) else agent
        question = Question(here, who, analysis, aim, mcse, max_draws, block, seed,
                            decided_at=target_power)  # fmt: skip
        found = answer(question, exact=exact, threads=threads)
        return _point(settings, here.trials, cost.of(here), found, target_power)

    grid = [
        dict(zip(ranges, values, strict=True)) for values in itertools.product(*ranges.values())
    ]
    costs = [cost.of(design.with_(**settings)) for settings in grid]
    within = [s for s, c in zip(grid, costs, strict=True) if cost.allows(c)]
    points, started = [], time.monotonic()
    for done, settings in enumerate(within):
        points.append(look(settings))
        if progress is not None:
            spent = time.monotonic() - started
            progress(done + 1, len(within), spent / (done + 1) * (len(within) - done - 1))
    beyond = sorted((c, k) for k, c in enumerate(costs) if c is not None and not cost.allows(c))
    why = None
    if not any(p.works for p in points):
        why = _why(points, [look(grid[k]) for _, k in beyond], target_power, cost)
    return _plan(ranges, points, target_power, cost, analysis.name, str(aim), why)


@dataclass(frozen=True, slots=True)
class _Cost:
    price: Price | None
    budget_usd: float | None
    calls_per_trial: float

    def __post_init__(self) -> None:
        real("calls_per_trial", self.calls_per_trial, 0.0)
        if self.budget_usd is not None:
            real("budget_usd", self.budget_usd, 0.0)
            if self.price is None:
                raise InputError("price", "given where there is a budget")

    def of(self, design: Design) -> float | None:
        """What a study of this design costs, in dollars."""
        return self.price.usd(design.trials * self.calls_per_trial) if self.price else None

    def allows(self, cost_usd: float | None) -> bool:
        """Whether the budget covers it."""
        return self.budget_usd is None or cost_usd is None or cost_usd <= self.budget_usd


def _ranges(over: Mapping[str, Iterable[int]]) -> dict[str, list[int]]:
    ranges = {}
    for name, values in over.items():
        if name not in _DIMENSIONS:
            raise InputError("over", f"ranges of {' or '.join(_DIMENSIONS)}", repr(name))
        ranges[name] = sorted({integer(name, v, 1) for v in values})
    count = 1
    for values in ranges.values():
        count *= len(values)
    if not ranges or not 0 < count <= _MOST_POINTS:
        raise InputError("over", f"1 to {_MOST_POINTS} designs", count if ranges else "none")
    return ranges


def _point(
    settings: Mapping[str, int], trials: int, cost: float | None, found: Power, target: float
) -> PlanPoint:
    works = found.power >= target - _SLACK
    return PlanPoint(
        tuple(settings.items()), trials, cost, found.power, found.mcse, found.low, found.high,
        works, found.reasons,
    )  # fmt: skip


def _plan(
    ranges: Mapping[str, Sequence[int]],
    points: Sequence[PlanPoint],
    target: float,
    cost: _Cost,
    analysis: str,
    goal: str,
    why: str | None,
) -> Plan:
    working = [p for p in points if p.works]
    first = all_larger = None
    if len(ranges) == 1 and working:
        first = working[0]
        fails = [k for k, p in enumerate(points) if not p.works]
        start = fails[-1] + 1 if fails else 0
        all_larger = points[start] if start < len(points) else None
    cheapest = min(working, key=lambda p: (p.burden, -p.power), default=None)
    notes = []
    if first is not None and first != all_larger:
        notes.append("power is not monotone: sizes between the first and the last dip fail")
    if working and all_larger is None and len(ranges) == 1:
        notes.append("the largest size in range fails: from where all larger ones work is unknown")
    if any(p.mcse for p in points):
        notes.append("powers are simulated: sizes near the target may be one off")
    return Plan(
        target, tuple(ranges), tuple(points), first, all_larger, cheapest, _front(points),
        cost.budget_usd, analysis, goal, why, tuple(notes),
    )  # fmt: skip


def _front(points: Iterable[PlanPoint]) -> tuple[PlanPoint, ...]:
    """Keep what no other design beats in both power and cost, from the cheapest on.

    A design that can never reach the goal is worth no money.
    """
    front: list[PlanPoint] = []
    for point in sorted(points, key=lambda p: (p.burden, -p.power)):
        if point.power > (front[-1].power if front else 0.0):
            front.append(point)
    return tuple(front)


def _why(
    points: Sequence[PlanPoint], beyond: Sequence[PlanPoint], target: float, cost: _Cost
) -> str:
    """Say which constraint cannot be met; `beyond` are the designs above the budget, by cost."""
    reached = next((p for p in beyond if p.works), None)
    if reached is not None:
        return (
            f"budget_usd must be at least {reached.cost_usd:,.2f} for power {target:g} "
            f"({_where(reached)}), got {cost.budget_usd:,.2f}"
        )
    looked = (*points, *beyond)
    if all(sum(share for _, share in p.reasons) > 1.0 - _SLACK for p in looked):
        reasons = dict.fromkeys(why for p in looked for why, _ in p.reasons)
        return f"no design in range gives an answer: {', '.join(reasons)}"
    best = max(looked, key=lambda p: p.power)
    return (
        f"target_power {target:g} is not reached by any design in range: the highest is "
        f"{best.power:.4g} ({_where(best)})"
    )


def _where(point: PlanPoint) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.settings)


def _plain_point(point: PlanPoint | None) -> dict[str, object] | None:
    if point is None:
        return None
    return asdict(point) | {"settings": dict(point.settings), "reasons": dict(point.reasons)}
