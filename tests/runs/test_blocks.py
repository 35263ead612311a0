"""Long runs in blocks: the same bytes however they are cut, spread, stopped and resumed."""

from __future__ import annotations

import hashlib
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from simtrack.errors import InputError
from simtrack.runs import blocks
from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_schedule import Blocks, block_schedule, in_words, schedule_from


class Squares:
    """A task of exact integers that notes which blocks it was asked for, and may misbehave."""

    def __init__(self, act=lambda block: None):
        self.act = act
        self.asked = []
        self.finished = []

    def __call__(self, replicates):
        self.asked.append(replicates.start)
        self.act(replicates)
        self.finished.append(replicates.start)
        return {"square": np.array(replicates, dtype=np.int64) ** 2}

    def identity(self):
        return {"design": "squares"}


@pytest.fixture
def whole(task):
    """All replicates in one call of the task itself: no runner, no blocks."""
    return task(range(200))


@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_block_sizes_and_a_folder_do_not_show(task, whole, tmp_path, block_size):
    schedule = block_schedule(200, block_size)
    for folder in (None, tmp_path / "blocks"):
        found = run_blocks(task, schedule, folder=folder)
        assert found.complete
        assert set(found.arrays) == set(whole)
        for name, array in whole.items():
            assert found.arrays[name].tobytes() == array.tobytes()
    assert found.sha256 == run_blocks(task, block_schedule(200, 40)).sha256


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_numbers_of_threads_do_not_show(task, standin, tmp_path, workers):
    found = run_blocks(
        task, standin.SCHEDULE, folder=tmp_path, executor="threads", workers=workers
    )  # fmt: skip
    assert found.sha256 == run_blocks(task, standin.SCHEDULE).sha256


def test_processes_do_not_show(task, standin, tmp_path):
    found = run_blocks(
        task, block_schedule(200, 7), folder=tmp_path, executor="processes", workers=2
    )  # fmt: skip
    assert found.sha256 == run_blocks(task, standin.SCHEDULE).sha256


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_numbers_of_processes_do_not_show(task, standin, workers, block_size):
    schedule = block_schedule(200, block_size)
    found = run_blocks(task, schedule, executor="processes", workers=workers)
    assert found.sha256 == run_blocks(task, standin.SCHEDULE).sha256


def test_the_order_of_arrival_does_not_show():
    later = threading.Event()

    def first_block_waits(block):
        if block.start == 0:
            assert later.wait(10)
        elif block.start == 20:
            later.set()

    slow = Squares(first_block_waits)
    with ThreadPoolExecutor(2) as pool:
        found = run_blocks(slow, block_schedule(30, 10), executor=pool)
    assert slow.finished.index(0) > slow.finished.index(10)
    assert found.arrays["square"].tolist() == [i * i for i in range(30)]


def test_sha256_is_of_replicates_names_types_shapes_and_bytes():
    arrays = {"b": np.array([True, False]), "a": np.array([[1.5], [-0.0]])}
    found = Blocks(arrays, (range(3, 5),), (range(3, 5),))
    digest = hashlib.sha256(b"simtrack.blocks/1")
    digest.update(b'["replicates", "<i8", [2]]' + np.array([3, 4], "<i8").tobytes())
    digest.update(b'["a", "<f8", [2, 1]]' + np.array([1.5, -0.0], "<f8").tobytes())
    digest.update(b'["b", "|b1", [2]]' + b"\x01\x00")
    assert found.sha256 == digest.hexdigest()
    positive = Blocks(arrays | {"a": np.array([[1.5], [0.0]])}, found.schedule, found.done)
    moved = Blocks(arrays, (range(4, 6),), (range(4, 6),))
    big = Blocks(arrays | {"a": arrays["a"].astype(">f8")}, found.schedule, found.done)
    assert len({found.sha256, positive.sha256, moved.sha256}) == 3
    assert big.sha256 == found.sha256


def test_max_seconds_stops_between_blocks_with_honest_counts(tmp_path):
    squares = Squares()
    schedule = block_schedule(35, 10)
    counts = []
    for _ in range(4):
        found = run_blocks(squares, schedule, folder=tmp_path, max_seconds=0)
        counts.append((found.n_done, found.n_planned, found.stopped, found.n_resumed))
    assert counts == [
        (10, 35, "max-seconds", 0),
        (20, 35, "max-seconds", 1),
        (30, 35, "max-seconds", 2),
        (35, 35, "finished", 3),
    ]
    assert squares.asked == [0, 10, 20, 30]
    assert found.sha256 == run_blocks(squares, schedule).sha256


def test_blocks_that_run_when_time_is_over_are_kept(monkeypatch):
    now = [0.0]
    both_run = threading.Barrier(2, action=lambda: now.__setitem__(0, 9.0), timeout=10)
    monkeypatch.setattr(blocks, "clock_s", lambda: now[0])
    found = run_blocks(
        Squares(lambda block: both_run.wait()), block_schedule(100, 10), executor="threads",
        workers=2, max_seconds=5,
    )  # fmt: skip
    assert found.done == (range(10), range(10, 20))
    assert found.arrays["square"].tolist() == [i * i for i in range(20)]
    assert found.to_dict() | {"sha256": ""} == {
        "schema": "simtrack.blocks/1", "n_replicates_done": 20, "n_replicates_planned": 100,
        "n_blocks_done": 2, "n_blocks_planned": 10, "n_blocks_resumed": 0,
        "stopped": "max-seconds", "sha256": "", "notes": [],
    }  # fmt: skip
    assert repr(found) == "Blocks(20 of 100 replicates, max-seconds: square)"


@pytest.mark.parametrize("executor", ["serial", "threads"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_or_error_leaves_a_folder_that_resumes(tmp_path, error, executor):
    def fails_once(block):
        if block.start == 30 and error is not None:
            raise error

    schedule = block_schedule(60, 10)
    squares = Squares(fails_once)
    with pytest.raises(error) as caught:
        run_blocks(squares, schedule, folder=tmp_path, executor=executor, workers=1)
    notes = "\n".join(caught.value.__notes__)
    assert f"3 of 6 blocks are kept in {tmp_path}; the same call resumes" in notes
    if error is ZeroDivisionError:
        assert "in block 3 (replicates 30 to 39)" in notes
    error = None
    again = Squares()
    found = run_blocks(again, schedule, folder=tmp_path)
    assert again.asked == [30, 40, 50]
    assert (found.n_resumed, found.complete) == (3, True)
    assert found.sha256 == run_blocks(Squares(), schedule).sha256


def test_enough_ends_at_the_same_block_in_any_order_of_arrival(tmp_path):
    def at_least_23(arrays):
        return len(arrays["square"]) >= 23

    schedule = block_schedule(100, 10)
    serial = run_blocks(Squares(), schedule, folder=tmp_path / "serial", enough=at_least_23)
    assert (serial.n_done, serial.stopped, serial.complete) == (30, "enough", False)
    barrier = threading.Event()

    def first_block_is_last(block):
        if block.start == 0:
            assert barrier.wait(10)
        elif block.start == 60:
            barrier.set()

    ahead = run_blocks(
        Squares(first_block_is_last), schedule, folder=tmp_path / "threads", executor="threads",
        workers=4, enough=at_least_23,
    )  # fmt: skip
    resumed = run_blocks(Squares(), schedule, folder=tmp_path / "threads", enough=at_least_23)
    assert serial.sha256 == ahead.sha256 == resumed.sha256
    assert len(list((tmp_path / "threads").glob("block-*"))) > 3


@pytest.mark.parametrize("where", ["ahead", "behind"])
def test_enough_looks_at_every_prefix_once_and_in_order(tmp_path, where):
    seen = []
    schedule = block_schedule(40, 10)
    first, last = (1, 2) if where == "ahead" else (0, 1)
    run_blocks(Squares(), schedule, folder=tmp_path, first=first, last=last)

    def never(arrays):
        seen.append(arrays["square"].tolist())
        return False

    found = run_blocks(Squares(), schedule, folder=tmp_path, enough=never)
    assert seen == [[i * i for i in range(10 * k)] for k in (1, 2, 3, 4)]
    assert found.stopped == "finished"


def test_first_and_last_are_both_included(tmp_path):
    found = run_blocks(Squares(), block_schedule(50, 10), first=1, last=3)
    assert found.replicates.tolist() == list(range(10, 40))
    assert found.schedule == (range(10, 20), range(20, 30), range(30, 40))


def test_schedules():
    for n, size, start in itertools.product((1, 9, 10, 11), (1, 3, 10), (0, 5)):
        schedule = block_schedule(n, size, first_replicate=start)
        assert [i for block in schedule for i in block] == list(range(start, start + n))
    assert schedule_from({"first_replicate": 5, "sizes": [[2, 2], [1, 1]]}) == (
        range(5, 7), range(7, 9), range(9, 10),
    )  # fmt: skip
    many = in_words(range(0, 20, 2), block_schedule(20, 1))
    assert many.endswith("block 8 (replicates 8 to 8) and 5 more gaps")


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([], "blocks must be at least one range of replicates, got none"),
        ([range(2), range(3, 5)], r"here from 2, got range\(3, 5\) \(block 1\)"),
        ([range(2), range(1, 5)], "without gap or overlap"),
        ([range(0, 4, 2)], "ranges of replicates, of step 1"),
        ([range(0, 0)], "ranges of replicates, of step 1"),
        ([range(-1, 3)], "ranges of replicates, of step 1"),
        ([10], "ranges of replicates, of step 1, got 10"),
    ],
)
def test_wrong_schedules_are_refused(schedule, message):
    with pytest.raises(InputError, match=message):
        run_blocks(Squares(), schedule)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first": 3}, "first must be an integer from 0 to 2, got 3"),
        ({"first": 2, "last": 1}, "last must be an integer from 2 to 2, got 1"),
        ({"first": 1, "enough": lambda arrays: True}, "first must be 0 where a rule looks"),
        ({"max_seconds": -1}, "max_seconds must be a finite number from 0"),
        ({"executor": "thread"}, "executor must be one of serial, threads, processes"),
        ({"executor": "threads", "workers": 0}, "workers must be an integer >= 1"),
        ({"progress": "loud"}, "progress must be one of auto, plain, quiet"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        run_blocks(Squares(), block_schedule(30, 10), **options)


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda r: [1], "a function that gives named arrays, got list"),
        (lambda r: {}, "a function that gives named arrays"),
        (lambda r: {"a": np.zeros(3)}, r"with 10 rows, got float64 of shape \(3,\) as a"),
        (lambda r: {"a": 1.0}, r"float64 of shape \(\) as a \(replicates 0 to 9\)"),
        (lambda r: {"a": np.array([None] * len(r))}, "arrays of numbers with 10 rows, got object"),
        (lambda r: {"a": np.array(["x"] * len(r))}, "arrays of numbers"),
        (lambda r: {"a": np.zeros((10, 1 + r.start))}, "the same arrays for every block"),
        (lambda r: {"a": np.zeros(10, "f4" if r.start else "f8")}, "the same arrays"),
        (lambda r: {f"a{r.start}": np.zeros(10)}, r"got .*a10.* \(block 1\)"),
    ],
)
def test_tasks_that_give_no_rows_of_numbers_are_refused(give, message):
    with pytest.raises(InputError, match=message):
        run_blocks(give, block_schedule(20, 10))
