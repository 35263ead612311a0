"""The smallest effect that a study can be relied on to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, cast

from simtrack.agents.agent import Agent
from simtrack.analysis.named import Analysis
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.options import Alternative, Computation, Guarantee
from simtrack.planning.answers import Exactness, Power, answer
from simtrack.planning.goals import Differs, Goal
from simtrack.planning.question import Question
from simtrack.validate import integer, open_unit, real

__all__ = ["DetectableEffect", "minimum_detectable_effect"]

_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class DetectableEffect:
    """Which effects does a study of this design detect with the target power?

    Attributes
    ----------
    effect : float or None
        The smallest value of the agent's parameter at which the power reaches the target.
    all_larger : float or None
        The smallest from which all larger ones (on the grid of the search) do: power can dip.
    contrast : float or None
        The true value of the analysed contrast at `effect`: the effect on the scale of results.
    power, mcse : float or None
        At `effect`; the error of `effect` itself is about mcse over the slope of the power curve.
    curve : tuple of (effect, contrast, power)
        The grid of the search; every point has the same draws.
    """

    effect: float | None
    all_larger: float | None
    contrast: float | None
    power: float | None
    mcse: float | None
    target_power: float
    curve: tuple[tuple[float, float, float | None], ...]
    notes: tuple[str, ...]
    computation: Computation
    guarantee: Guarantee = "descriptive"

    def to_dict(self) -> dict[str, Any]:
        """Give plain values for JSON."""
        lists = {"curve": [list(point) for point in self.curve], "notes": list(self.notes)}
        return {"schema": "simtrack.detectable-effect/1"} | asdict(self) | lists

    def __repr__(self) -> str:
        if self.effect is None:
            return f"DetectableEffect(none: {self.notes[0]})"
        return f"DetectableEffect({self.effect:.4g}, a contrast of {self.contrast:.4g})"


def minimum_detectable_effect(
    design: Design,
    agent: Agent | Callable[[float], Agent],
    analysis: Analysis,
    *,
    vary: str = "effect",
    between: tuple[float, float],
    target_power: float = 0.8,
    grid: int = 13,
    tolerance: float | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    goal: Goal | None = None,
    mcse: float = 0.005,
    max_draws: int = 20_000,
    block: int = 1_000,
    seed: int = 0,
    exact: Exactness = "auto",
    threads: int = 1,
) -> DetectableEffect:
    """What is the smallest effect that this study shows with the target power?

    The power curve is worked out on a grid, on the same draws throughout (common random numbers),
    and the first and the last crossing of the target are narrowed down by bisection.

    Parameters
    ----------
    agent : Agent, or callable from an effect to an Agent
    vary : str
        The field of the agent that is varied; not used with a callable.
    between : (low, high)
        Where to look.
    grid : int
        Points of the curve, at least 3.
    tolerance : float, optional
        Of the effect; a thousandth of the range by default.
    target_power, alpha, alternative, goal, mcse, max_draws, block, seed, exact, threads
        As for `plan`.

    Examples
    --------
    >>> from simtrack.agents import PairedAgent
    >>> from simtrack.analysis import analyses
    >>> minimum_detectable_effect(
    ...     Design(6, 4, {"arm": ("a", "b")}), PairedAgent(0.5),
    ...     analyses.sign_flip("rate", "arm", "a", "b"), between=(0.0, 8.0))
    DetectableEffect(3.099, a contrast of 0.6497)
    """
    low, high = real("between", between[0]), real("between", between[1])
    if not low < high:
        raise InputError("between", "two ascending numbers", between)
    open_unit("target_power", target_power)
    aim = goal if goal is not None else Differs(alpha, alternative)
    step = real("tolerance", tolerance or (high - low) / 1000.0, 0.0)
    found: dict[float, Power] = {}

    def reaches(effect: float) -> bool:
        if effect not in found:
            question = Question(
                design, _at(agent, vary, effect), analysis, aim, mcse, max_draws, block, seed,
                decided_at=target_power,
            )  # fmt: skip
            found[effect] = answer(question, exact=exact, threads=threads)
        share = found[effect].power
        return share is not None and share >= target_power - _SLACK

    count = integer("grid", grid, 3, 1000)
    places = [low + (high - low) * k / (count - 1) for k in range(count)]
    works = [reaches(x) for x in places]
    curve = tuple((x, found[x].truth, found[x].power) for x in places)
    exactly = found[low].computation != "monte-carlo"
    how: Computation = "optimisation" if exactly else "monte-carlo"
    if not any(works):
        best = max(places, key=lambda x: found[x].power or 0.0)
        why = f"power {target_power:g} is not reached: at {best:g} it is {found[best].power}"
        return DetectableEffect(None, None, None, None, None, target_power, curve, (why,), how)
    first = works.index(True)
    effect = low if first == 0 else _crossing(reaches, places[first - 1], places[first], step)
    fails = [k for k, ok in enumerate(works) if not ok]
    last = effect
    notes = ["the smallest effect looked at works already"] if first == 0 else []
    all_larger: float | None = effect
    if fails and fails[-1] > first:
        notes.append("power is not monotone in the effect")
        all_larger = None
        if fails[-1] + 1 < count:
            all_larger = _crossing(reaches, places[fails[-1]], places[fails[-1] + 1], step)
    there = found[last]
    return DetectableEffect(
        effect, all_larger, there.truth, there.power, there.mcse, target_power, curve,
        tuple(notes), how,
    )  # fmt: skip


def _crossing(reaches: Callable[[float], bool], fails: float, works: float, step: float) -> float:
    """Narrow down where the target is reached, to the last effect seen to work."""
    while works - fails > step:
        middle = 0.5 * (fails + works)
        if reaches(middle):
            works = middle
        else:
            fails = middle
    return works


def _at(agent: Agent | Callable[[float], Agent], vary: str, effect: float) -> Agent:
    if callable(agent):
        return agent(effect)
    known = [f.name for f in fields(cast("Any", agent))]
    if vary not in known:
        raise InputError("vary", f"a field of the agent ({', '.join(known)})", repr(vary))
    return cast("Agent", replace(cast("Any", agent), **{vary: effect}))
