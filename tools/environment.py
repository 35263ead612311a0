"""Write environment.yml from pyproject.toml, so that there is one list of what simtrack needs.

usage: python tools/environment.py [--check]
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What the conda channel calls otherwise than the package index.
CONDA_NAMES = {"build": "python-build"}
#: What only the Python package index has.
INDEX_ONLY = {"google-re2", "typst"}


def environment() -> str:
    """Give the text of environment.yml: everything that `pip install 'simtrack[dev]'` brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in ("parquet", "plots", "paper", "dask", "dev"):
        wanted += [w for w in project["optional-dependencies"][extra] if "simtrack[" not in w]
    lines = [
        "# Made by tools/environment.py from pyproject.toml; change that file, not this one.",
        "name: simtrack",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        f"  - python{project['requires-python']}",
        "  - pip",
        *sorted(f"  - {_renamed(w)}" for w in wanted if _name(w) not in INDEX_ONLY),
        "  - pip:",
        *sorted(f"      - {w}" for w in wanted if _name(w) in INDEX_ONLY),
        "      - -e .",
    ]
    return "\n".join(lines) + "\n"


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9_.-]+", requirement)
    return found.group() if found else requirement


def _renamed(requirement: str) -> str:
    name = _name(requirement)
    return CONDA_NAMES.get(name, name) + requirement[len(name) :]


def main() -> int:
    """Write the file, or with --check say whether it is up to date."""
    target = ROOT / "environment.yml"
    if "--check" in sys.argv[1:]:
        fresh = target.read_text(encoding="utf-8") == environment()
        print("environment.yml is up to date" if fresh else "run: python tools/environment.py")
        return 0 if fresh else 3
    target.write_text(environment(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
