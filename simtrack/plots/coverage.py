"""Coverage of intervals and size of tests over a grid of populations, drawn by method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simtrack.plots.save import new_figure

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["coverage_plot"]

#: Variable, its family of methods, the heading, the nominal value, and the worse direction.
_PANELS = (
    ("rate_coverage", "rate_method", "one rate: coverage", 0.95, "low"),
    ("paired_coverage", "paired_method", "paired difference: coverage", 0.95, "low"),
    ("paired_tests_rejected", "paired_tests_method", "paired tests: size", 0.05, "high"),
    ("unpaired_coverage", "unpaired_method", "unpaired difference: coverage", 0.95, "low"),
    ("unpaired_tests_rejected", "unpaired_tests_method", "unpaired tests: size", 0.05, "high"),
)
COLOURS = ("#D55E00", "#E69F00", "#56B4E9", "#0072B2")


def coverage_plot(result: xr.Dataset) -> Figure:
    """How far from its promise is each method, by number of clusters?

    Parameters
    ----------
    result : xarray.Dataset
        What a study of kind "coverage" leaves.

    Returns
    -------
    matplotlib.figure.Figure
        One panel a family. Dot: mean over the rest of the grid; line: to the worst population.
        The grey line is the nominal level. Methods are sorted by their worst case.
    """
    panels = [panel for panel in _PANELS if panel[0] in result]
    rows = [result.sizes[panel[1]] for panel in panels]
    figure = new_figure(8.0, 0.42 * sum(rows) + 0.9 * len(panels))
    axes = np.atleast_1d(figure.subplots(len(panels), 1, height_ratios=[r + 0.8 for r in rows]))
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, result, *panel)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _draw(
    axis: Axes, result: xr.Dataset, name: str, family: str, title: str, nominal: float, worse: str
) -> None:
    table = result[name]
    clusters = result["clusters"].values.tolist()
    other = [d for d in table.dims if d not in {family, "clusters"}]
    mean = table.mean(other).transpose(family, "clusters").values
    edge = (table.min(other) if worse == "low" else table.max(other)).transpose(family, "clusters")
    worst = edge.values
    order = np.argsort(worst[:, 0] if worse == "low" else -worst[:, 0])
    for place, row in enumerate(order):
        for k, g in enumerate(clusters):
            y = place + 0.18 * (k - (len(clusters) - 1) / 2)
            colour = COLOURS[k % len(COLOURS)]
            axis.plot([mean[row, k], worst[row, k]], [y, y], color=colour, linewidth=1.4)
            label = f"{g} clusters" if place == 0 else None
            axis.plot(mean[row, k], y, "o", color=colour, markersize=3.5, label=label)
    axis.axvline(nominal, color="0.6", linewidth=0.8, zorder=0)
    axis.set_yticks(range(len(order)), [str(result[family].values[r]) for r in order])
    axis.set_title(title, loc="left", fontsize=9)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
