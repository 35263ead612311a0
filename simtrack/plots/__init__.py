"""Drawing, and nothing else: labelled arrays in, matplotlib figures out."""

from simtrack.plots.coverage import coverage_plot
from simtrack.plots.monitor import monitor_plot
from simtrack.plots.plan import plan_plot
from simtrack.plots.probe import operating_characteristics_map
from simtrack.plots.save import save_figure

__all__ = [
    "coverage_plot",
    "monitor_plot",
    "operating_characteristics_map",
    "plan_plot",
    "save_figure",
]
