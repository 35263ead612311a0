"""Fixtures that every room may use."""

from __future__ import annotations

import pathlib

import pytest


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The study material that may stand beside the checkout; its tests are skipped without it."""
    folder = pathlib.Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the study material is not beside this checkout")
    return folder
