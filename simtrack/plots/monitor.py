"""A running study: the mean so far, and the band that holds at every look at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simtrack.plots.save import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["monitor_plot"]

_BAND, _LINE = "#56B4E9", "#0072B2"


def monitor_plot(
    trials: NDArray[np.int64],
    mean: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    what: str = "rate",
    unit: str = "trials",
    null: float | None = None,
    alpha: float = 0.05,
    looks: Sequence[int] = (),
) -> Figure:
    """How does the statement narrow as trials come in?

    Parameters
    ----------
    trials, mean, low, high : arrays, shape (looks,)
    null : float, optional
        A grey line.
    looks : sequence of int
        Planned looks, drawn as ticks at the bottom.
    """
    figure = new_figure(6.4, 3.6)
    axis = figure.subplots()
    axis.fill_between(trials, low, high, color=_BAND, alpha=0.35, linewidth=0,
                      label=f"{100 * (1 - alpha):g} % at all times")  # fmt: skip
    axis.plot(trials, mean, color=_LINE, linewidth=1.2, label=f"{what} so far")
    if null is not None:
        axis.axhline(null, color="0.5", linewidth=0.8, linestyle="--", label=f"null {null:g}")
    if looks:
        bottom = float(np.nanmin(low))
        axis.plot(list(looks), [bottom] * len(looks), "|", color="black", label="planned looks")
    axis.set_xlabel(unit)
    axis.set_ylabel(what)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    return figure
