"""How far is a run: a bar on a terminal, few lines elsewhere, nothing unless asked."""

from __future__ import annotations

import io

import numpy as np
import pytest

from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_schedule import block_schedule
from simtrack.runs.progress import Tally, open_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def rows(replicates):
    return {"a": np.zeros(len(replicates))}


class Rows:
    def __call__(self, replicates):
        return rows(replicates)

    def identity(self):
        return {"design": "rows"}


def test_the_rest_is_estimated_at_the_pace_of_this_call():
    # 20 replicates in 5 s, of which none were resumed: 80 more take 20 s.
    assert Tally(20, 100, 2, 10, elapsed_s=5.0).eta_s == 20.0
    # 50 of them resumed: 10 fresh ones in 5 s, so the 40 left take 20 s.
    assert Tally(60, 100, 6, 10, n_resumed=50, elapsed_s=5.0).eta_s == 20.0
    assert Tally(50, 100, 5, 10, n_resumed=50, elapsed_s=5.0).eta_s is None


@pytest.mark.parametrize(
    ("tally", "text"),
    [
        (Tally(0, 100, 0, 10), "0 of 100 replicates (0 of 10 blocks)"),
        (Tally(1, 7325, 1, 7325, elapsed_s=1.0),
         "1 of 7,325 replicates (1 of 7,325 blocks), about 2:02:04 left"),
        (Tally(50, 100, 5, 10, elapsed_s=9.0),
         "50 of 100 replicates (5 of 10 blocks), about 0:09 left"),
        (Tally(100, 100, 10, 10, elapsed_s=9.0), "100 of 100 replicates (10 of 10 blocks)"),
    ],
)  # fmt: skip
def test_a_tally_in_words(tally, text):
    assert str(tally) == text


def test_plain_lines_are_the_first_the_last_and_one_every_few_seconds():
    stream, now = io.StringIO(), [0.0]
    with open_progress("auto", stream=stream, clock=lambda: now[0]) as show:
        show(Tally(10, 1000, 1, 100, n_resumed=10))  # what was resumed: no pace yet
        for k in range(2, 101):
            now[0] += 0.3
            show(Tally(10 * k, 1000, k, 100, n_resumed=10, elapsed_s=now[0]))
    lines = stream.getvalue().splitlines()
    assert lines[0] == "10 of 1,000 replicates (1 of 100 blocks)"
    assert lines[1] == "20 of 1,000 replicates (2 of 100 blocks), about 0:29 left"
    assert lines[-1] == "1,000 of 1,000 replicates (100 of 100 blocks)"
    # From 0.3 s to 29.7 s, one each 5.1 s (17 blocks of 0.3 s), then the last: 2 + 5 + 1 lines.
    assert len(lines) == 8


def test_a_terminal_gets_a_bar_and_a_file_none():
    for style, bar in (("auto", True), ("plain", False)):
        stream = Terminal()
        with open_progress(style, stream=stream) as show:
            show(Tally(500, 1000, 1, 2, elapsed_s=3.0))
        assert ("\x1b[" in stream.getvalue()) == bar
        assert "500 of 1,000" in stream.getvalue()


@pytest.mark.parametrize("style", ["quiet", None])
def test_quiet_says_nothing(style, capsys):
    run_blocks(rows, block_schedule(30, 10), progress=style)
    assert capsys.readouterr() == ("", "")


def test_plain_lines_go_to_standard_error(capsys):
    run_blocks(rows, block_schedule(30, 10), progress="plain")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0].startswith("10 of 30 replicates (1 of 3 blocks), about 0:0")
    assert err.splitlines()[-1] == "30 of 30 replicates (3 of 3 blocks)"


def test_a_callable_hears_of_each_block_and_of_what_was_resumed(tmp_path):
    heard = []
    schedule = block_schedule(35, 10)
    run_blocks(Rows(), schedule, folder=tmp_path, last=1)
    run_blocks(Rows(), schedule, folder=tmp_path, progress=heard.append)
    assert [(t.n_done, t.n_planned, t.blocks_done, t.n_resumed) for t in heard] == [
        (20, 35, 2, 20), (30, 35, 3, 20), (35, 35, 4, 20),
    ]  # fmt: skip
    assert heard[0].eta_s is None
    assert heard[-1].eta_s == 0.0
