"""`simtrack monitor`: statements that hold at every look, typed as a user would."""

from __future__ import annotations

import json

import pytest

from simtrack.analysis.monitor import monitor
from simtrack.errors import DataError, InputError
from simtrack.inference.betting import betting_sequence
from simtrack.inference.confidence_sequence import bernoulli_sequence, e_process
from simtrack.inference.signflip import sign_flip
from simtrack.records import Records


@pytest.fixture
def running(tmp_path):
    scores = [1, 1, 0, 1, 1, 1, 0, 1] * 5
    path = tmp_path / "running.jsonl"
    rows = [{"id": f"q{k}", "when": 40 - k, "score": v} for k, v in enumerate(scores)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path, scores


def test_the_sequence_is_that_of_the_scores_in_the_file(simtrack, running) -> None:
    path, scores = running
    done = simtrack("monitor", str(path), "--null", "0.5", "--json")
    assert done.code == 0
    wanted, evidence = bernoulli_sequence(scores), e_process(scores, 0.5)
    assert done.json["sequence"]["low"] == wanted.low.tolist()
    assert done.json["evidence"]["log_e"] == evidence.log_e.tolist()
    assert done.json["evidence"]["rejected_at"] == evidence.rejected_at(0.05)
    assert done.json["unit"] == "row"


def test_another_order_is_another_sequence(simtrack, running) -> None:
    path, scores = running
    done = simtrack("monitor", str(path), "--order", "when", "--json")
    assert done.json["sequence"]["low"] == bernoulli_sequence(scores[::-1]).low.tolist()


def test_text_and_figure(simtrack, running, tmp_path) -> None:
    path, _ = running
    done = simtrack("monitor", str(path), "--null", "0.5", "--planned", "40",
                    "--figure", "band.svg")  # fmt: skip
    assert done.code == 0
    assert "rate, 95 % at all looks together:" in done.out
    assert "Planned looks, obrien-fleming:" in done.out
    assert (tmp_path / "band.svg").read_text("utf-8").startswith("<?xml")
    again = (tmp_path / "band.svg").read_bytes()
    simtrack("monitor", str(path), "--null", "0.5", "--planned", "40", "--figure", "band.svg")
    assert (tmp_path / "band.svg").read_bytes() == again


def test_repeated_ids_become_cluster_means_in_the_order_they_were_complete() -> None:
    rows = Records.from_columns({"unit": ["a", "b", "b", "a"], "value": [1, 1, 0, 1]})
    found = monitor(rows)
    # b is complete third, with mean 1/2; a last, with mean 1: 1/2, then 3/4.
    assert found.sequence.mean.tolist() == [0.5, 0.75]
    assert found.unit == "unit"
    assert len(monitor(rows, cluster="row").sequence) == 4


def test_a_difference_is_paired_by_cluster_and_tested_at_planned_looks() -> None:
    a, b = [1, 1, 1, 0, 1, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0, 0]
    rows = Records.from_columns({
        "unit": [f"q{k}" for k in range(8)] * 2 + ["q9"],
        "model": ["x"] * 8 + ["y"] * 8 + ["x"],
        "value": [*a, *b, 1],
    })  # fmt: skip
    found = monitor(rows, levels=("x", "y"), planned=8, looks=2)
    differences = [i - j for i, j in zip(a, b, strict=True)]
    assert found.sequence.mean[-1] == sum(differences) / 8
    assert found.left_out == 1
    assert [x.clusters for x in found.looks] == [4, 8]
    assert found.looks[1].pvalue == float(sign_flip(differences).pvalue)
    assert not found.looks[0].crossed


def test_a_rate_at_a_planned_look_is_tested_by_the_binomial_law() -> None:
    from scipy import stats

    rows = Records.from_columns({"unit": [f"q{k}" for k in range(12)], "value": [1] * 10 + [0, 0]})
    found = monitor(rows, null=0.4, planned=12, looks=1)
    wanted = 2 * stats.binom.sf(9, 12, 0.4)
    assert found.looks[0].pvalue == pytest.approx(wanted, rel=1e-10)


def test_refusals(simtrack, running) -> None:
    path, _ = running
    done = simtrack("monitor", str(path), "--planned", "40")
    assert done.code == 2
    assert "planned must be given with a null or two levels to test" in done.err
    two = Records.from_columns({"unit": ["a", "a"], "metric": ["m", "n"], "value": [1, 0]})
    with pytest.raises(InputError, match="metric must be one, as a sequence is of one"):
        monitor(two)
    with pytest.raises(DataError, match=r"scores must lie in \[0, 1\] to be bet on, got 7"):
        monitor(Records.from_columns({"unit": ["a"], "value": [7.0]}))


def test_models_that_nobody_compares_are_no_rate() -> None:
    rows = {"unit": ["q1", "q2"] * 2, "model": ["x", "x", "y", "y"], "value": [1, 1, 0, 0]}
    with pytest.raises(InputError, match="model must be one, or two to compare, got x, y"):
        monitor(Records.from_columns(rows))
    with pytest.raises(InputError, match="levels must be two different ones, got x"):
        monitor(Records.from_columns(rows), levels=("x", "x"))
    rows = {"unit": ["1", "2", "1", "2"] * 2, "task": ["t1", "t1", "t2", "t2"] * 2,
            "model": ["x"] * 4 + ["y"] * 4, "value": [1, 1, 0, 1, 0, 0, 0, 1]}  # fmt: skip
    found = monitor(Records.from_columns(rows), levels=("x", "y"))
    assert (found.unit, len(found.sequence)) == ("task/unit", 4)
    assert "taken together, over task: t1, t2" in found.notes


def test_equal_ids_of_different_tasks_are_different_trials() -> None:
    rows = {"unit": ["1", "2", "1", "2"], "task": ["t", "t", "u", "u"], "value": [1, 0, 1, 1]}
    found = monitor(Records.from_columns(rows))
    assert (found.unit, found.sequence.mean.tolist()[-1], len(found.sequence)) == ("row", 0.75, 4)
    assert not any("ids repeat" in note for note in found.notes)


def test_means_of_clusters_are_no_trials_even_if_all_are_0_or_1() -> None:
    rows = {"unit": ["a", "a", "b", "b", "c", "c"], "value": [1, 1, 0, 0, 1, 1]}
    found = monitor(Records.from_columns(rows), null=0.5)
    wanted = betting_sequence([1, 0, 1])
    assert found.sequence.low.tolist() == wanted.low.tolist()
    assert (found.what, found.evidence) == ("mean rate of units", None)
    assert any("gains trials changes earlier steps" in note for note in found.notes)


def test_rows_of_repeated_ids_keep_no_promise_and_say_so() -> None:
    rows = {"unit": ["a", "a", "b", "b"], "value": [1, 1, 0, 0]}
    found = monitor(Records.from_columns(rows), cluster="row")
    assert any("keeps its promise" in note for note in found.notes)


def test_trials_without_a_score_are_bounded() -> None:
    rows = {"unit": list("abcd"), "value": [1.0, None, 0.0, 1.0],
            "status": ["scored", "errored", "scored", "scored"]}  # fmt: skip
    found = monitor(Records.from_columns(rows))
    assert found.left_out == 1
    assert "had they all failed or all passed, the mean would be 0.5000 or 0.7500" in found.notes


def test_the_last_planned_look_does_not_say_go_on(simtrack, running) -> None:
    path, _ = running
    done = simtrack("monitor", str(path), "--null", "0.7", "--planned", "40", "--looks", "2")
    assert done.out.count("go on") == 1
    assert "end, not reached" in done.out
    assert "err with 0.05 themselves" in done.out
