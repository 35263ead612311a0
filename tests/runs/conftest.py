"""A task to run in blocks, importable by name from other processes too."""

from __future__ import annotations

import importlib
import pathlib

import pytest

from simtrack.runs.provenance import source_hash

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def standin(monkeypatch):
    """The module blocks_standin, as spawned processes and Dask workers import it."""
    monkeypatch.syspath_prepend(str(HERE))
    source_hash.cache_clear()  # another process hashes the files as they are now
    return importlib.import_module("blocks_standin")


@pytest.fixture
def task(standin):
    return standin.PairedT()
