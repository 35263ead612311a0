"""Power over the designs that were looked at, and the front of cost and power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simtrack.plots.save import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simtrack.power import Plan

__all__ = ["plan_plot"]


def plan_plot(plan: Plan) -> Figure:
    """How does power rise with the size of the study, and with what it costs?

    Parameters
    ----------
    plan : simtrack.power.Plan

    Returns
    -------
    matplotlib.figure.Figure
        Left: power by the first dimension, one line for each value of the others, with a band of
        two Monte Carlo standard errors. Right: power by cost (or trials), the front in black.
    """
    figure = new_figure(9.0, 3.8)
    left, right = figure.subplots(1, 2, sharey=True)
    lines: dict[tuple[tuple[str, int], ...], list[tuple[int, float, float]]] = {}
    for point in plan.points:
        if point.power is not None:
            at = lines.setdefault(point.settings[1:], [])
            at.append((point.settings[0][1], point.power, point.mcse or 0.0))
    for others, at in lines.items():
        x, y, error = zip(*sorted(at), strict=True)
        label = ", ".join(f"{value} {name}" for name, value in others) or None
        left.plot(x, y, marker=".", linewidth=1.2, label=label)
        low = [p - 2 * e for p, e in zip(y, error, strict=True)]
        high = [p + 2 * e for p, e in zip(y, error, strict=True)]
        left.fill_between(x, low, high, alpha=0.2, linewidth=0)
    if len(lines) > 1:
        left.legend(fontsize=8, frameon=False)
    known = [p for p in plan.points if p.power is not None]
    right.plot([p.burden for p in known], [p.power for p in known], ".", color="0.7")
    front = [(p.burden, p.power) for p in plan.front if p.power is not None]
    if front:
        right.plot(*zip(*front, strict=True), color="black", marker=".", linewidth=1.0)
    has_cost = any(p.cost_usd is not None for p in known)
    right.set_xlabel("cost in dollars" if has_cost else "trials")
    left.set_xlabel(plan.over[0])
    left.set_ylabel("power")
    for axis in (left, right):
        axis.axhline(plan.target_power, color="#D55E00", linewidth=0.8, zorder=0)
        axis.set_ylim(0, 1.02)
        axis.spines[["top", "right"]].set_visible(False)
    return figure
