"""Write and read results: NetCDF for arrays, JSON for the numbers that a text quotes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from simtrack.errors import DataError
from simtrack.files import write_text, write_with

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["read_result", "write_numbers", "write_result"]


def write_result(result: xr.Dataset, path: Path) -> Path:
    """Write a result as NetCDF, whole or not at all; equal results give equal files."""
    return write_with(path, lambda p: result.to_netcdf(p, engine="h5netcdf"))


def read_result(path: Path) -> xr.Dataset:
    """Read a whole result into memory."""
    import xarray as xr

    try:
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            return opened.load()
    except Exception as error:  # h5py raises whatever its library meets in a damaged file
        reason = " ".join(str(error).split()).strip("'\"")
        raise DataError(f"{path} is damaged or no NetCDF result: {reason}. Run it anew.") from None


def write_numbers(numbers: Mapping[str, object], path: Path) -> Path:
    """Write the numbers that a text quotes, sorted and indented, whole or not at all."""
    text = json.dumps(numbers, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return write_text(path, text + "\n")
