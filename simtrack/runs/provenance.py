"""Where a result comes from, so that the call that made it can be made again."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simtrack._version import __version__
from simtrack.errors import DataError
from simtrack.runs.study import Study, parse_study

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["content_hash", "largest_difference", "provenance", "rebuild_study", "source_hash"]

KEY = "simtrack_provenance"


def provenance(study: Study) -> dict[str, Any]:
    """Give what a result must carry: the study itself, and the code that ran it.

    No clock and no path are in it, so equal runs give equal bytes.
    """
    return {
        "schema": "simtrack.provenance/1",
        "study": study.to_dict(),
        "simtrack": __version__,
        "source_sha256": source_hash(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
    }


def rebuild_study(result: xr.Dataset, where: str) -> Study:
    """Give the study that made a result, from the result alone."""
    if KEY not in result.attrs:
        raise DataError(f"{where} carries no provenance, so it was not made by simtrack run.")
    try:
        found = json.loads(result.attrs[KEY])["study"]
    except (ValueError, TypeError, KeyError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"the provenance of {where} is damaged: it holds no study. Run it anew.")
    return parse_study(found, f"the provenance of {where}")


def content_hash(result: xr.Dataset) -> str:
    """SHA-256 of every array of a result with its name, dimensions and labels.

    Attributes, compression and file layout are left out, so it survives another library version.
    """
    digest = hashlib.sha256()
    for name in sorted(map(str, result.variables)):
        array = result.variables[name]
        values = np.asarray(array.values)
        digest.update(json.dumps([name, list(map(str, array.dims)), list(values.shape)]).encode())
        if values.dtype.kind in "OUT":
            digest.update(json.dumps([str(v) for v in values.ravel().tolist()]).encode())
        else:
            kind = "<f8" if values.dtype.kind == "f" else "<i8"
            digest.update(np.ascontiguousarray(values, dtype=kind).tobytes())
    return digest.hexdigest()


def largest_difference(first: xr.Dataset, second: xr.Dataset) -> float:
    """How far apart are two results: the largest relative difference of any number?

    Infinite where variables, shapes, labels, integers or missing values differ; 0 where all bytes
    agree. Two machines agree to about 1e-12.
    """
    if set(first.variables) != set(second.variables):
        return float("inf")
    worst = 0.0
    for name in first.variables:
        a, b = np.asarray(first[name].values), np.asarray(second[name].values)
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            return float("inf")
        if a.dtype.kind != "f":
            worst = worst if np.array_equal(a, b) else float("inf")
            continue
        scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-3)
        with np.errstate(invalid="ignore"):  # infinity minus itself is a difference, too
            gap = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b) / scale)
        worst = max(worst, float("inf") if np.isnan(gap).any() else float(gap.max(initial=0.0)))
    return worst


@cache
def source_hash() -> str:
    """SHA-256 of simtrack's own source files: which code ran, even between versions."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()
