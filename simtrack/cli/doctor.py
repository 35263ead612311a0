"""`simtrack doctor`: does this installation give the numbers that it must?"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from simtrack import __version__
from simtrack.errors import Finding

#: Distributions, and the extra that brings each optional one.
_NEEDED = ("numpy", "scipy", "pandas", "xarray", "h5netcdf", "h5py", "numba", "click", "rich",
           "msgspec", "zstandard")  # fmt: skip
_OPTIONAL = {"matplotlib": "plots", "typst": "paper", "inspect_ai": "bench", "pytest": "dev"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def doctor(as_json: bool) -> None:
    """Check this installation: versions, extras, cache folder, and ten exact values.

    Exits with 3 if a needed library is missing or a value is not what it must be.
    """
    from simtrack._jit import cache

    libraries = {name: _version(name) for name in (*_NEEDED, *_OPTIONAL)}
    store = cache()
    checks = [(name, _passes(check)) for name, check in _CHECKS]
    told = {
        "schema": "simtrack.doctor/1",
        "simtrack": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "libraries": libraries,
        "cache": {"folder": str(store.folder), "writable": store.writable},
        "values": {name: trouble or "ok" for name, trouble in checks},
    }
    print(json.dumps(told, indent=1, ensure_ascii=False)) if as_json else _show(told)
    missing = [name for name in _NEEDED if libraries[name] is None]
    wrong = [name for name, trouble in checks if trouble]
    if missing or wrong:
        raise Finding(f"not sound: {', '.join((*missing, *wrong))}")


def _show(told: dict[str, Any]) -> None:
    print(f"simtrack {told['simtrack']}, Python {told['python']}, {told['machine']}")
    for name, found in told["libraries"].items():
        absent = f"absent (extra: {_OPTIONAL[name]})" if name in _OPTIONAL else "MISSING"
        print(f"  {name:<12} {found or absent}")
    cache = told["cache"]
    state = "writable" if cache["writable"] else "not writable: kernels compile in every process"
    print(f"Kernel cache: {cache['folder']} ({state})")
    print("Exact values:")
    for name, state in told["values"].items():
        print(f"  ok    {name}" if state == "ok" else f"  FAIL  {name}: {state}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _passes(check: Callable[[], tuple[object, object]]) -> str:
    """Give what is wrong, or nothing."""
    try:
        found, wanted = check()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(wanted, float) and isinstance(found, float):
        return "" if abs(found - wanted) <= 1e-11 * abs(wanted) else f"{found!r}, not {wanted!r}"
    return "" if found == wanted else f"{found!r}, not {wanted!r}"


def _philox() -> tuple[object, object]:
    import numpy as np

    from simtrack.kernels.philox import philox4x32

    words = philox4x32(*(np.uint64(0),) * 6)  # Random123, known answer of the zero counter and key
    return tuple(int(w) for w in words), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


def _paths() -> tuple[object, object]:
    from simtrack.probe import StoppingRule
    from simtrack.probe.paths import stopping_states

    states = stopping_states(StoppingRule())
    pairs = zip(states.paths.tolist(), states.k.tolist(), strict=True)
    return sum(n * 4 ** (30 - k) for n, k in pairs), 4**30


def _tie() -> tuple[object, object]:
    from fractions import Fraction

    from simtrack.probe.decisions import exact_high

    return exact_high(2, 1, Fraction(1, 2)), Fraction(3, 4)


def _at(full: str, ablated: str, name: str) -> float:
    from simtrack.probe import StoppingRule, characteristics

    return float(getattr(characteristics(StoppingRule(), full, ablated), name)[0, 0])


def _signs(differences: list[int]) -> str:
    from simtrack.inference import sign_flip

    return str(sign_flip(differences).exact)


def _t() -> tuple[object, object]:
    from simtrack.inference.numerics.special import t_quantile

    return t_quantile(0.975, 11), 2.200985160082949


_DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
_TWELVE = [-5, 3, -8, -2, -7, -1, -4, -6, -9, 2, -3, -5]
_CHECKS: tuple[tuple[str, Callable[[], tuple[object, object]]], ...] = (
    ("Philox4x32-10, zero counter and key (Random123)", _philox),
    ("paths of the frozen probe rule add up to one", _paths),
    ("posterior mass at a tie is 3/4 exactly", _tie),
    ("expected rounds at (0.9, 0.1)",
     lambda: (_at("0.9", "0.1", "expected_rounds"), 11.9983036115886)),
    ("expected rounds at (0.95, 0.05)",
     lambda: (_at("0.95", "0.05", "expected_rounds"), 9.39365525401011)),
    ("bias of the naive effect at (0.8, 0.6)",
     lambda: (_at("0.8", "0.6", "bias_effect"), 0.0176857858460658)),
    ("the unbiased estimate averages the truth 0.9",
     lambda: (_at("0.9", "0.1", "unbiased_full"), 0.9)),
    ("sign-flip p of Darwin's maize: 1726/32768", lambda: (_signs(_DARWIN), "863/16384")),
    ("sign-flip p of twelve clusters: 40/4096", lambda: (_signs(_TWELVE), "5/512")),
    ("t quantile .975 at 11 degrees of freedom", _t),
)  # fmt: skip
