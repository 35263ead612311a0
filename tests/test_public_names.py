"""The public names and their signatures, frozen: a change here is a change for users.

Write the snapshot anew with SIMTRACK_GOLDEN=write, and read the difference.
"""

from __future__ import annotations

import inspect
import os
import pathlib
from importlib import import_module

import simtrack
from simtrack import inference

SNAPSHOT = pathlib.Path(__file__).parent / "public_names.txt"
ROOMS = ("agents", "analysis", "counts", "design", "errors", "estimands", "inference", "ledger",
         "logs", "options", "plots", "planning", "price", "probe", "records", "rng", "runs",
         "scoring", "taxonomy", "validate")  # fmt: skip


def described(name: str, thing: object) -> list[str]:
    if inspect.isclass(thing):
        own = [vars(kind) for kind in thing.__mro__ if kind.__module__.startswith("simtrack")]
        methods = [
            f"{name}.{m}{signature(v)}"
            for m, v in sorted({m: v for part in reversed(own) for m, v in part.items()}.items())
            if not m.startswith("_") and (callable(v) or isinstance(v, classmethod | staticmethod))
        ]
        return [f"class {name}{signature(thing)}", *methods]
    return [f"{name}{signature(thing)}"] if callable(thing) else [name]


def signature(thing: object) -> str:
    try:
        return str(inspect.signature(getattr(thing, "__func__", thing)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""


def public() -> str:
    lines = [f"simtrack.{name}" for name in simtrack.__all__]
    for room in ROOMS:
        module = import_module(f"simtrack.{room}")
        for name in sorted(module.__all__):
            lines += described(f"simtrack.{room}.{name}", getattr(module, name))
    return "\n".join(lines) + "\n"


def test_public_names_are_those_of_the_snapshot():
    if os.environ.get("SIMTRACK_GOLDEN") == "write":
        SNAPSHOT.write_text(public(), "utf-8")
    assert public().splitlines() == SNAPSHOT.read_text("utf-8").splitlines()


def test_every_public_name_can_be_reached():
    for name in simtrack.__all__:
        assert getattr(simtrack, name) is not None
    assert set(dir(simtrack)) == set(simtrack.__all__)


def test_every_promised_name_of_inference_can_be_reached():
    assert all(callable(getattr(inference, n)) or n.isupper() for n in inference.__all__)
