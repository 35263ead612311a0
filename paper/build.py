"""Make the paper: every number and figure is read from the results folder.

usage: python paper/build.py RESULTS OUT.pdf
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from shutil import copy

import typst

from simtrack.files import write_bytes

HERE = Path(__file__).resolve().parent
STUDY = "probe_calibration"


def main(results: str, target: str) -> None:
    """Compile offline, with the clock at zero so that equal results give equal files."""
    source = Path(results) / STUDY
    with tempfile.TemporaryDirectory() as folder:
        copy(HERE / "main.typ", folder)
        for name in ("numbers.json", "figure.png"):
            copy(source / name, folder)
        pdf = typst.compile(
            Path(folder) / "main.typ",
            root=folder,
            sys_inputs={"folder": "/"},
            timestamp=0,
            ignore_system_fonts=True,
        )
    write_bytes(target, pdf)


if __name__ == "__main__":
    main(*sys.argv[1:3])
