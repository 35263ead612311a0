"""Is a file large enough for compiled code?"""

from __future__ import annotations

import sys

from simtrack._jit import enabled

__all__ = ["COLD_BYTES", "WARM_BYTES", "pays"]

#: From this size on scanning pays: compiled code is loaded in some hundredths of a second where
#: Numba is in use already, and in half a second where it is not.
WARM_BYTES, COLD_BYTES = 16 << 20, 768 << 20


def pays(size: int) -> bool:
    """Say whether so many bytes are worth loading the compiled scanner."""
    return enabled() and size >= (WARM_BYTES if "numba" in sys.modules else COLD_BYTES)
