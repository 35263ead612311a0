"""Draw the coverage and size of every method with few clusters.

usage: python figures/few_clusters.py IN.nc OUT.png
"""

from __future__ import annotations

import sys
from pathlib import Path

from simtrack.plots import coverage_plot, save_figure
from simtrack.runs.store import read_result


def main(source: str, target: str) -> None:
    save_figure(coverage_plot(read_result(Path(source))), target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
