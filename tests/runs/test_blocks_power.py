"""Power as a long run is the power of one call, bit for bit."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from simtrack.agents import PairedAgent
from simtrack.analysis import analyses
from simtrack.design import Design
from simtrack.errors import DataError
from simtrack.planning import Question, answer
from simtrack.runs.blocks import run_blocks
from simtrack.runs.blocks_power import PowerTask, merge_power, run_power, tallies_of
from simtrack.runs.blocks_schedule import block_schedule
from simtrack.runs.provenance import source_hash

DESIGN = Design(6, 4, {"arm": ("new", "old")})
TEST = analyses.sign_flip("rate", "arm", "new", "old")


ASKED = Question(DESIGN, PairedAgent(0.7, effect=2.0), TEST, mcse=0.02, block=50, max_draws=1990)


@pytest.fixture
def question(standin):
    return ASKED


def test_the_answer_is_that_of_one_call(question, tmp_path):
    whole = answer(question, exact="never")
    assert 0 < whole.n_draws < question.max_draws
    for how in ({}, {"folder": tmp_path}, {"executor": "threads", "workers": 3}):
        found, blocks = run_power(question, exact="never", **how)
        assert found == whole
        assert blocks.stopped == "enough"


@pytest.mark.slow  # and only while nobody edits the package
def test_processes_do_not_show(tmp_path):
    source_hash.cache_clear()
    how = {"executor": "processes", "workers": 2, "folder": tmp_path}
    assert run_power(ASKED, exact="never", **how)[0] == answer(ASKED, exact="never")


def test_a_smaller_error_goes_on_where_a_larger_one_stopped(question, tmp_path):
    _, first = run_power(question, exact="never", folder=tmp_path)
    finer = replace(question, mcse=0.012)
    found, second = run_power(finer, exact="never", folder=tmp_path)
    assert found == answer(finer, exact="never")
    assert second.n_resumed == len(first.done) < len(second.done)
    other = replace(question, agent=PairedAgent(0.7, effect=1.0), max_draws=1500)
    with pytest.raises(DataError, match=r"changed: agent \(.*\), max_draws .*, schedule \("):
        run_power(other, exact="never", folder=tmp_path)


def test_time_over_says_how_many_studies_there_are(question, tmp_path):
    found, blocks = run_power(question, exact="never", folder=tmp_path, max_seconds=0)
    assert (found.n_draws, blocks.stopped) == (50, "max-seconds")
    assert found.notes[-1] == "stopped by max_seconds after 50 of at most 1,990 studies"
    while blocks.stopped == "max-seconds":
        found, blocks = run_power(question, exact="never", folder=tmp_path, max_seconds=0)
    assert found == answer(question, exact="never")


def test_time_over_leaves_the_other_notes(standin):
    # Four trials at .97: whole studies in which all clusters agree, so that t has no answer.
    test = analyses.paired_cluster_t("rate", "arm", "new", "old")
    sure = replace(ASKED, agent=PairedAgent(0.97), analysis=test, mcse=0.001)
    found, _ = run_power(sure, exact="never", max_seconds=0)
    assert found.n_ok < found.n_draws
    assert [note.code for note in found.notes] == ["no-answer", "max-seconds"]
    assert found.notes[1] == "stopped by max_seconds after 50 of at most 1,990 studies"


def test_parts_of_the_schedule_are_merged(question, tmp_path):
    task, schedule = PowerTask(question), block_schedule(40, 1)
    run_blocks(task, schedule, folder=tmp_path / "a", last=19)
    run_blocks(task, schedule, folder=tmp_path / "b", first=20)
    found, blocks = merge_power(question, [tmp_path / "a", tmp_path / "b"])
    all_studies = replace(question, mcse=1e-6)
    assert found.to_dict() | {"notes": []} == (
        answer(all_studies, exact="never").to_dict() | {"notes": []}
    )
    assert found.n_draws == 1990
    assert len(tallies_of(blocks.arrays)) == 40
    assert tallies_of(task(range(38, 40)))[1].n == 40


def test_a_question_without_answers_ends_as_in_one_call(standin):
    # One cluster: no paired analysis by cluster has an answer, so that all are misses.
    test = analyses.paired_cluster_t("rate", "arm", "new", "old")
    none = Question(DESIGN.with_(clusters=1), ASKED.agent, test, block=20)
    found, blocks = run_power(none, exact="never")
    assert found == answer(none, exact="never")
    assert (found.power, found.power_answered) == (0.0, None)
    assert len(blocks.done) == 10  # 1 / 200 is the standard error that is asked for


def test_exact_power_needs_no_blocks(question):
    found, blocks = run_power(question)
    assert blocks is None
    assert found == answer(question)
    assert found.computation == "enumeration"


def test_progress_counts_studies(question):
    heard = []
    found, _ = run_power(question, exact="never", progress=heard.append)
    assert [t.n_done for t in heard] == list(range(50, found.n_draws + 1, 50))
    assert heard[-1].n_planned == found.n_draws
    assert all(t.n_done <= t.n_planned <= question.max_draws for t in heard)


def test_the_task_is_picklable_and_says_what_it_is(question):
    task = pickle.loads(pickle.dumps(PowerTask(question)))
    assert task == PowerTask(question)
    assert {"design", "agent", "analysis", "goal", "seed"} <= set(task.identity())
    assert "mcse" not in task.identity()
