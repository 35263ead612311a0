"""The only place that knows Numba: how kernels are compiled and where they are kept.

A kernel is a plain function of scalars and arrays in `simtrack/kernels/`, marked `@kernel` (a loop
that is called from Python) or `@inline` (a piece that other kernels call). Nothing here imports
Numba until a kernel is called, so `import simtrack` stays cheap. ``SIMTRACK_JIT=0`` or
``NUMBA_DISABLE_JIT=1`` in the environment runs every kernel as the plain Python that it is: the
results are the same bytes, only later.

Numba's own cache goes stale when a function in another file changes. Hence one folder for each
state of the sources: its name is a hash of all kernel files, this file and Numba's version.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

__all__ = ["Cache", "Kernel", "cache", "enabled", "inline", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")

# nogil: chunks of replicates run side by side in threads. No fastmath and no `parallel`: both would
# let the order of float sums depend on the machine. The error model is NumPy's: kernels never rely
# on an exception for a division by zero.
_OPTIONS = {"nogil": True, "fastmath": False, "parallel": False, "error_model": "numpy"}
_KERNEL_ROOM = "simtrack.kernels"
_LOCK = threading.RLock()
_LOG = logging.getLogger("simtrack")


class Kernel(Generic[P, R]):
    """A function that is compiled when it is first called, and is plain Python when the JIT is off.

    Attributes
    ----------
    py_func : callable
        The function as written. Kernels that say so also take NumPy arrays this way.

    Examples
    --------
    >>> import numpy as np
    >>> from simtrack.kernels.philox import philox4x32
    >>> zero = np.uint64(0)
    >>> [hex(word) for word in philox4x32.py_func(zero, zero, zero, zero, zero, zero)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """

    def __init__(self, function: Callable[P, R], *, is_inline: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._is_inline = is_inline
        self._run: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the kernel, compiling it first if this process has not yet."""
        return (self._run or self._prepare())(*args, **kwargs)

    def __repr__(self) -> str:
        kind = "inline" if self._is_inline else "kernel"
        return f"<{kind} {self.py_func.__module__}.{self.py_func.__qualname__}>"

    @property
    def is_ready(self) -> bool:
        """Whether this process has compiled or loaded it already."""
        return self._run is not None

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks of a global name when it compiles a kernel that calls this one."""
        return getattr(self._prepare(), "_numba_type_")  # noqa: B009

    def _prepare(self) -> Callable[P, R]:
        with _LOCK:
            if self._run is None:
                self._run = _compile(self.py_func, self._is_inline) if enabled() else self.py_func
            return self._run


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a loop that Python calls: arrays in, arrays out, no checks, cached on disk."""
    return Kernel(function, is_inline=False)


def inline(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a small piece that kernels call: always inlined into its caller, never cached alone."""
    return Kernel(function, is_inline=True)


@functools.cache
def enabled() -> bool:
    """Whether kernels are compiled in this process: decided once, from the environment."""
    off = os.environ.get("SIMTRACK_JIT", "1").strip().lower() in {"0", "false", "off", "no"}
    return not off and os.environ.get("NUMBA_DISABLE_JIT", "0").strip() in {"", "0"}


@dataclass(frozen=True, slots=True)
class Cache:
    """Where compiled kernels are kept.

    Attributes
    ----------
    folder : Path or None
        The folder for this state of the sources; None where no home for it can be found.
    writable : bool
        Whether kernels compiled here are there for the next process.
    note : str
        Why not, if not; else empty.
    """

    folder: Path | None
    writable: bool
    note: str = ""


def cache() -> Cache:
    """Say where compiled kernels are kept and whether that place can be written to.

    The root is ``$SIMTRACK_CACHE``, else ``$XDG_CACHE_HOME/simtrack``, else
    ``~/.cache/simtrack``; in it is one folder for each state of the kernel sources, made if it is
    not there yet.

    Examples
    --------
    >>> cache().folder.name.startswith("kernels-")
    True
    """
    import tempfile  # slow to import, and asked for only when a kernel is compiled

    try:
        folder = _cache_root() / f"kernels-{_fingerprint()}"
    except (OSError, RuntimeError) as error:
        return Cache(None, False, str(error))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Cache(folder, False, error.strerror or str(error))
    return Cache(folder, True)


def _cache_root() -> Path:
    if own := os.environ.get("SIMTRACK_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "simtrack"
    return Path.home() / ".cache" / "simtrack"


def _fingerprint() -> str:
    """Hash all that a compiled kernel depends on, so that no stale one can be found."""
    from importlib import metadata

    here = Path(__file__)
    digest = hashlib.blake2b(metadata.version("numba").encode(), digest_size=8)
    for path in [here, *sorted((here.parent / "kernels").glob("**/*.py"))]:
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(here.parent).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@functools.cache
def _process_cache() -> Cache:
    """The cache as this process found it; says once, in the log, when there is none."""
    found = cache()
    if not found.writable:
        place = found.folder or "the cache folder"
        _LOG.warning("kernels are compiled anew each time: cannot write %s: %s", place, found.note)
    return found


def _compile(function: Callable[P, R], is_inline: bool) -> Callable[P, R]:
    import numba
    from numba.core import config as numba_config

    njit: Any = functools.partial(numba.njit, **_OPTIONS)
    config: Any = numba_config
    # A kernel outside the room (in a test) is not in the fingerprint, so it is never cached.
    is_ours = function.__module__.startswith(_KERNEL_ROOM)
    if not is_inline and is_ours and _process_cache().writable:
        before = config.CACHE_DIR  # read by Numba once, while the dispatcher is made
        config.CACHE_DIR = str(_process_cache().folder)
        try:
            return cast("Callable[P, R]", njit(cache=True)(function))
        except RuntimeError as error:  # Numba finds no place for this source file
            _LOG.warning("%s is compiled anew each time: %s", function.__qualname__, error)
        finally:
            config.CACHE_DIR = before
    return cast("Callable[P, R]", njit(forceinline=is_inline)(function))
