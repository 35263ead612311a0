"""Is there enough to read for compiled code?

Answers do not depend on it. The plain reader needs about a nanosecond a byte and some hundreds a
row and a cell, the compiled one a fraction of it; but to load Numba and the kernels takes most of a
second in a process, and to compile them, once on a machine, some ten. What was read plainly before
counts too, so that many files of middling size pay together.
"""

from __future__ import annotations

import sys

from simtrack import _jit
from simtrack.kernels.json_lines import scan_lines

__all__ = ["pays"]

#: Seconds of the plain reader by what there is, as measured.
_BYTE_S, _ROW_S, _CELL_S = 1e-9, 0.5e-6, 0.25e-6
#: Seconds of plain reading from which on compiled code pays.
_READY_S, _NUMBA_THERE_S, _CACHED_S, _COMPILED_ANEW_S = 0.02, 0.5, 0.8, 10.0
_spent = {"plain_s": 0.0}


def pays(size: int, row_bytes: float, columns: int) -> bool:
    """Say whether so many bytes, in rows of about this length, are worth the compiled scanner."""
    if not _jit.enabled():
        return False
    rows = size / max(row_bytes, 1)
    plain_s = size * _BYTE_S + rows * (_ROW_S + columns * _CELL_S)
    if plain_s < _READY_S:  # most files: not worth a look at what is there
        return False
    if plain_s + _spent["plain_s"] >= _least_s():
        return True
    _spent["plain_s"] += plain_s
    return False


def _least_s() -> float:
    if scan_lines.is_ready:
        return _READY_S
    folder = _jit.cache().folder
    if folder is None or not any(folder.glob("**/json_lines.scan_lines*.nbi")):
        return _COMPILED_ANEW_S
    return _NUMBA_THERE_S if "numba" in sys.modules else _CACHED_S
