"""Simulated counts are the same bytes for any threads and chunks, with the JIT on and off."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("reproducible_counts.py")
# Frozen with scheme simtrack/1. If it changes, the scheme must have another name.
FROZEN = "014530b969521434c9f8e072dcfd24b37b1b73eec740cbba5ea6938f901f2956"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunk", [1, 7, 1000, None])
def test_same_hash_for_threads_and_chunks(threads, chunk):
    assert runpy.run_path(str(SCRIPT))["digest"](threads, chunk) == FROZEN


@pytest.mark.parametrize(
    ("jit", "threads", "chunk"),
    [("0", 1, 1), ("0", 1, 1000), ("0", 2, 1), ("0", 2, 7), ("1", 1, 1), ("1", 2, 7)],
)
def test_same_hash_in_other_processes_with_the_jit_on_and_off(jit, threads, chunk):
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    found = subprocess.run(
        [sys.executable, str(SCRIPT), str(threads), str(chunk)],
        env=environment | {"SIMTRACK_JIT": jit},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == FROZEN
