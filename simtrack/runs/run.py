"""Run a study from its file to its stored result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simtrack.errors import DataError, InputError
from simtrack.runs.calibration import run_calibration
from simtrack.runs.coverage import run_coverage
from simtrack.runs.provenance import (
    KEY,
    content_hash,
    largest_difference,
    provenance,
    rebuild_study,
)
from simtrack.runs.store import read_result, write_numbers, write_result
from simtrack.runs.study import Study, find_study, load_study

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["KINDS", "Run", "run_study"]

#: What each kind of study computes: the arrays, and the numbers that a text quotes.
KINDS: dict[str, Callable[[Study], tuple[xr.Dataset, dict[str, Any]]]] = {
    "probe-calibration": run_calibration,
    "coverage": run_coverage,
}


#: The largest relative difference that floats of two machines may show.
SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Run:
    """Where did a study leave its result?

    Attributes
    ----------
    study : Study
    result, numbers : Path or None
        A NetCDF file with the arrays, a JSON file with what a text quotes. None where a rebuilt
        run differs from the earlier result: then nothing is written.
    sha256 : str
        The content hash of the arrays.
    difference : float or None
        For a run rebuilt from a result: the largest relative difference to it; 0 is byte for byte,
        and `SAME` is what two machines may differ by.
    """

    study: Study
    result: Path | None
    numbers: Path | None
    sha256: str
    difference: float | None = None

    @property
    def repeats(self) -> bool | None:
        """Whether a rebuilt run gave the earlier result again; None for a first run."""
        return None if self.difference is None else self.difference <= SAME


def run_study(wanted: str, folder: str | Path | None = None) -> Run:
    """Run a study: its TOML file, its folder, its name, or a result that it left before.

    A result carries its whole study; running it makes the same call again and says whether the
    content is the same. Where it is not, nothing is written.

    Parameters
    ----------
    wanted : str
        A path or a name: see `find_study`; or a `.nc` file that `run_study` made.
    folder : path, optional
        Where `result.nc` and `numbers.json` go; `results/<name>` if not given. Made if absent.
    """
    path = find_study(wanted)
    old = read_result(path) if _is_result(path) else None
    study = load_study(path) if old is None else rebuild_study(old, str(path))
    if study.kind not in KINDS:
        raise InputError("kind", f"one of {', '.join(KINDS)}", repr(study.kind), where=str(path))
    result, numbers = KINDS[study.kind](study)
    sha256 = content_hash(result)
    about = provenance(study)
    result.attrs[KEY] = _canonical(about)
    result.attrs["content_sha256"] = sha256
    gap = None if old is None else largest_difference(old, result)
    if gap is not None and not gap <= SAME:
        return Run(study, None, None, sha256, gap)
    target = Path(folder) if folder is not None else Path("results") / study.name
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{target} cannot be made: {error.strerror}. Choose another place."
        ) from None
    stored = write_result(result, target / "result.nc")
    told = write_numbers(
        numbers | {"study": about["study"]["study"], "content_sha256": sha256,
                   "simtrack": about["simtrack"]},
        target / "numbers.json",
    )  # fmt: skip
    return Run(study, stored, told, sha256, gap)


def _is_result(path: Path) -> bool:
    with path.open("rb") as opened:
        return opened.read(8) == b"\x89HDF\r\n\x1a\n"


def _canonical(about: Mapping[str, object]) -> str:
    import json

    return json.dumps(about, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
