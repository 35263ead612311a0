"""Claim: simtrack starts quickly. Whole processes, warm, beside bare Python in the same run.

Asserts first that the exact command imports none of the heavy libraries, and that it prints the
same state probabilities as the library computes.
"""

from __future__ import annotations

import json
import subprocess
import sys

from harness import heading, process

HEAVY = ("xarray", "pandas", "scipy", "numba", "matplotlib")


def main() -> None:
    """Measure import, help and the frozen rule."""
    heading("start-up")
    check_answers()
    check_imports()
    python = sys.executable
    process("import simtrack", [python, "-c", "import simtrack"])
    process("simtrack --help", [python, "-m", "simtrack", "--help"])
    process("simtrack calibrate (the frozen rule)", [python, "-m", "simtrack", "calibrate"])


def check_answers() -> None:
    """The JSON of the command equals the library's own numbers."""
    import simtrack

    command = [sys.executable, "-m", "simtrack", "calibrate", "--truth", "0.9,0.1", "--json"]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    exact = simtrack.StoppingRule().operating_characteristics([0.9], [0.1])
    assert shown["truths"][0]["expected_rounds"] == float(exact["expected_rounds"].item())


def check_imports() -> None:
    """The exact command loads NumPy and nothing heavier."""
    code = (
        "import sys; from simtrack.cli.main import main; main(['calibrate']); "
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.strip() == "[]", done.stderr


if __name__ == "__main__":
    main()
