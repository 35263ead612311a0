"""What a stopping rule does, drawn over the true pass rates."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from simtrack.plots.save import new_figure

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["operating_characteristics_map"]

#: Distinct for readers with any colour vision; the non-committal outcome is the palest.
COLOURS = {
    "adopted": "#0072B2",
    "redundant": "#009E73",
    "weak": "#E69F00",
    "dead": "#7F7F7F",
    "adverse": "#D55E00",
    "not_confident": "#EFE9DC",
}


def operating_characteristics_map(result: xr.Dataset) -> Figure:
    """Which state does the rule call, how surely, and after how many rounds, at each truth?

    Parameters
    ----------
    result : xarray.Dataset
        Operating characteristics over a grid of `full` and `ablated`, each of at least two points.

    Returns
    -------
    matplotlib.figure.Figure
        Left: the most probable outcome, paler where it is less sure. Middle: the probability of no
        confident call. Right: expected rounds. Lines are the boundaries between true states.
    """
    figure = new_figure(11.0, 3.9)
    axes = figure.subplots(1, 3, sharey=True)
    _draw_states(axes[0], result)
    quiet = result["probability"].sel(state="not_confident")
    _draw_heat(figure, axes[1], result, quiet.values, "P(no confident call)", "Greys", 0.0)
    _draw_heat(figure, axes[2], result, result["expected_rounds"].values, "expected rounds",
               "viridis", None)  # fmt: skip
    rule = json.loads(result.attrs["rule"])
    for axis in axes:
        _draw_boundaries(
            axis, float(Fraction(rule["threshold"])), float(Fraction(rule["zero_band"]))
        )
        axis.set_xlabel("true pass rate, ablated")
        axis.set_aspect("equal")
    axes[0].set_ylabel("true pass rate, full")
    return figure


def _draw_states(axis: Axes, result: xr.Dataset) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    states = [str(s) for s in result["state"].values]
    probability = result["probability"].transpose("state", "full", "ablated").values
    best = probability.argmax(axis=0)
    palette = np.array([to_rgb(COLOURS[state]) for state in states])
    sureness = np.take_along_axis(probability, best[None], axis=0)[0][..., None]
    axis.pcolormesh(
        result["ablated"].values,
        result["full"].values,
        1.0 - sureness * (1.0 - palette[best]),
        shading="nearest",
        rasterized=True,
    )
    present = [state for k, state in enumerate(states) if (best == k).any()]
    handles = [Patch(color=COLOURS[s], label=s.replace("_", " ")) for s in present]
    axis.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False,
        fontsize=8,
    )  # fmt: skip


def _draw_heat(
    figure: Figure,
    axis: Axes,
    result: xr.Dataset,
    values: Any,
    label: str,
    colours: str,
    low: float | None,
) -> None:
    mesh = axis.pcolormesh(
        result["ablated"].values,
        result["full"].values,
        values,
        shading="nearest",
        cmap=colours,
        vmin=low,
        rasterized=True,
    )
    figure.colorbar(mesh, ax=axis, label=label, shrink=0.8)


def _draw_boundaries(axis: Axes, threshold: float, band: float) -> None:
    """The truth changes its name at full = threshold and at full - ablated = ± band."""
    style: dict[str, Any] = {"color": "black", "linewidth": 0.8}
    axis.plot([0.0, 1.0 - band], [band, 1.0], **style)
    axis.plot([band, 1.0], [0.0, 1.0 - band], **style)
    # At full = threshold the level changes, except where the effect is negative: all is adverse.
    axis.plot([0.0, min(1.0, threshold + band)], [threshold, threshold], **style)
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
