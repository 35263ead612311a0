"""Time ours and a peer alternately in one run, after their answers were found equal.

Every file beside this one holds one claim. Its `main` makes the input, asserts that both sides
give the same answer, and prints the first (cold) call of each, the medians of the warm calls, and
the ratio of the medians taken pair by pair. Machines drift: read ratios, not seconds.
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """What did one comparison measure? Seconds; `ratio` is peer over ours, pair by pair."""

    title: str
    ours_s: float
    peer_s: float
    ratio: float
    ours_cold_s: float
    peer_cold_s: float
    pairs: int

    def __str__(self) -> str:
        return (
            f"{self.title}\n"
            f"  ours {_seconds(self.ours_s)} (first call {_seconds(self.ours_cold_s)})"
            f"   peer {_seconds(self.peer_s)} (first call {_seconds(self.peer_cold_s)})\n"
            f"  peer / ours = {self.ratio:,.1f}   ({self.pairs} pairs)"
        )


def compare(
    title: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    equal: Callable[[object, object], None],
    pairs: int = 7,
    least_s: float = 2e-3,
) -> Timing:
    """Assert that both answers are equal, then time them in turn and print the ratio.

    `equal` raises AssertionError where the answers differ. Calls shorter than `least_s` are
    repeated within a measurement.
    """
    cold_ours, ours_answer = _timed(ours)
    cold_peer, peer_answer = _timed(peer)
    equal(ours_answer, peer_answer)
    many_ours, many_peer = _repeats(ours, least_s), _repeats(peer, least_s)
    a, b = [], []
    for _ in range(pairs):
        a.append(_mean_time(ours, many_ours))
        b.append(_mean_time(peer, many_peer))
    ratio = statistics.median(y / x for x, y in zip(a, b, strict=True))
    timing = Timing(
        title, statistics.median(a), statistics.median(b), ratio, cold_ours, cold_peer, pairs
    )
    print(timing, flush=True)
    return timing


def process(title: str, arguments: list[str], *, runs: int = 9) -> float:
    """Time a whole process (median wall seconds of warm runs) beside bare Python, and print it."""
    bare = [sys.executable, "-c", "pass"]
    a, b = [], []
    for command in (arguments, bare):
        subprocess.run(command, check=True, capture_output=True)
    for _ in range(runs):
        a.append(_process_time(arguments))
        b.append(_process_time(bare))
    ours, empty = statistics.median(a), statistics.median(b)
    print(
        f"{title}\n  whole process {_seconds(ours)}, bare Python {_seconds(empty)}, "
        f"beyond it {_seconds(ours - empty)}   ({runs} pairs)",
        flush=True,
    )
    return ours


def heading(text: str) -> None:
    """Print what is measured, and on what."""
    print(f"# {text}\n# Python {platform.python_version()}, {platform.machine()}\n", flush=True)


def _timed(call: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def _repeats(call: Callable[[], object], least_s: float) -> int:
    seconds, _ = _timed(call)
    return max(1, min(10_000, int(least_s / max(seconds, 1e-7))))


def _mean_time(call: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def _process_time(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(arguments, check=True, capture_output=True)
    return time.perf_counter() - start


def _seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
