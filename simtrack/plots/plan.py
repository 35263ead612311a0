"""Power over the designs that were looked at, and the front of cost and power."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simtrack.plots.save import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simtrack.planning import Plan

__all__ = ["plan_plot"]

_MAPPED = 2


def plan_plot(plan: Plan) -> Figure:
    """How does power rise with the size of the study, and with what it costs?

    Parameters
    ----------
    plan : simtrack.planning.Plan

    Returns
    -------
    matplotlib.figure.Figure
        Left: power by the first dimension, one line for each value of the others, with a band of
        two Monte Carlo standard errors. Then power by cost (or trials), the front in black. Of
        plans over two dimensions also a map of power, white dots where the target is met.
    """
    is_map = len(plan.over) == _MAPPED and all(
        len({p.settings[k][1] for p in plan.points}) > 1 for k in range(_MAPPED)
    )
    figure = new_figure(13.0 if is_map else 9.0, 3.8)
    grid = figure.add_gridspec(1, 3 if is_map else 2)
    left = figure.add_subplot(grid[0])
    right = figure.add_subplot(grid[1], sharey=left)
    if is_map:
        _map(figure, figure.add_subplot(grid[2]), plan)
    lines: dict[tuple[tuple[str, int], ...], list[tuple[int, float, float]]] = {}
    for point in plan.points:
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
    right.plot([p.burden for p in plan.points], [p.power for p in plan.points], ".", color="0.7")
    right.plot([p.burden for p in plan.front], [p.power for p in plan.front], color="black",
               marker=".", linewidth=1.0)  # fmt: skip
    has_cost = any(p.cost_usd is not None for p in plan.points)
    right.set_xlabel("cost in dollars" if has_cost else "trials")
    left.set_xlabel(plan.over[0])
    left.set_ylabel("power")
    for axis in (left, right):
        axis.axhline(plan.target_power, color="#D55E00", linewidth=0.8, zorder=0)
        axis.set_ylim(0, 1.02)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _map(figure: Figure, axis: Axes, plan: Plan) -> None:
    """Draw power over both dimensions."""
    across, up = (sorted({p.settings[k][1] for p in plan.points}) for k in range(_MAPPED))
    power = np.full((len(up), len(across)), np.nan)
    for point in plan.points:
        (_, x), (_, y) = point.settings
        power[up.index(y), across.index(x)] = point.power
    drawn = axis.pcolormesh(range(len(across)), range(len(up)), power, vmin=0.0, vmax=1.0,
                            shading="nearest", cmap="cividis")  # fmt: skip
    for row in range(len(up)):
        for column in range(len(across)):
            if power[row, column] >= plan.target_power:
                axis.plot(column, row, ".", color="white", markersize=4)
    for ticks, labels, set_label, name in (
        (axis.set_xticks, across, axis.set_xlabel, plan.over[0]),
        (axis.set_yticks, up, axis.set_ylabel, plan.over[1]),
    ):
        step = -(-len(labels) // 10)
        ticks(range(0, len(labels), step), [str(v) for v in labels[::step]])
        set_label(name)
    figure.colorbar(drawn, ax=axis, label="power (white dots: at the target)")
