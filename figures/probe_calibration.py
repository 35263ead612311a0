"""Draw the operating characteristics of a probe study.

usage: python figures/probe_calibration.py IN.nc OUT.png
"""

from __future__ import annotations

import sys
from pathlib import Path

from simtrack.plots import operating_characteristics_map, save_figure
from simtrack.runs.store import read_result


def main(source: str, target: str) -> None:
    save_figure(operating_characteristics_map(read_result(Path(source))), target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
