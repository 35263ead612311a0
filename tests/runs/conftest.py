"""A task to run in blocks, importable by name from other processes too."""

from __future__ import annotations

import importlib
import pathlib

import pytest

from simtrack.runs import blocks, checkpoint_manifest

HERE = pathlib.Path(__file__).parent
CODE = "c0de" * 16


@pytest.fixture
def standin(monkeypatch):
    """The module blocks_standin, as spawned processes and Dask workers import it."""
    monkeypatch.syspath_prepend(str(HERE))
    module = importlib.import_module("blocks_standin")
    monkeypatch.setenv(module.CODE, CODE)
    for room in (blocks, checkpoint_manifest):
        monkeypatch.setattr(room, "source_hash", lambda: CODE)
    return module


@pytest.fixture
def task(standin):
    return standin.PairedT()
