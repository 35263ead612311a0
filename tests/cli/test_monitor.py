"""`simtrack monitor`: statements that hold at every look, typed as a user would."""

from __future__ import annotations

import csv
import json

import pytest

from simtrack.analysis.monitor import monitor
from simtrack.errors import DataError, InputError
from simtrack.inference.exact.signflip import sign_flip
from simtrack.inference.sequential.betting import betting_sequence
from simtrack.inference.sequential.confidence_sequence import bernoulli_sequence, e_process
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
    assert "Planned looks, obrien-fleming, p: exact binomial:" in done.out
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
    with pytest.raises(
        InputError, match="levels to compare must be two different ones, got x twice"
    ):
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
    assert any("taken as independent trials, which they are not" in x for x in found.notes)
    named = {"task": ["a", "a", "b", "b"], "value": [1, 1, 0, 0]}
    found = monitor(Records.from_columns(named), cluster="row")
    assert any("taken as independent trials" in note for note in found.notes)
    one = {"task": ["bench"] * 4, "value": [1, 1, 0, 0]}
    found = monitor(Records.from_columns(one), cluster="row")
    assert not any("taken as independent trials" in note for note in found.notes)


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
    assert "err with about 0.05 together" in done.out


def _tasks(tmp_path, passes: int):
    """Five tasks, three trials each."""
    scores = [int(k < passes) for k in range(15)]
    path = tmp_path / f"tasks{passes}.jsonl"
    rows = [{"id": f"t{k // 3}", "epoch": k % 3, "score": v} for k, v in enumerate(scores)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def test_more_passes_never_give_a_greater_p_at_a_planned_look(simtrack, tmp_path) -> None:
    found = []
    for passes in (15, 14, 13, 12, 11, 10):
        done = simtrack("monitor", _tasks(tmp_path, passes), "--null", "0.5", "--planned", "5",
                        "--looks", "1", "--json")  # fmt: skip
        assert done.json["looks_method"] == "bounded-mean"
        found.append(done.json["looks"][0]["pvalue"])
    assert found == sorted(found)
    assert found[0] == pytest.approx(2 / 32, rel=1e-14)
    assert not any("err with 0.05 themselves" in note["text"] for note in done.json["notes"])
    said = simtrack("monitor", _tasks(tmp_path, 14), "--null", "0.5", "--planned", "5").out
    assert "p: mean of scores in [0, 1] (Gaffke):" in said
    assert "Null 0.5 (no e-value): within the interval so far." in said


def test_a_null_that_is_no_rate_is_refused_whatever_a_step_is(simtrack, running, tmp_path) -> None:
    wanted = "null must be strictly between 0 and 1, got 50.0. Did you mean 0.5?"
    for path in (str(running[0]), _tasks(tmp_path, 14)):
        for more in ((), ("--planned", "5")):
            done = simtrack("monitor", path, "--null", "50", *more)
            assert (done.code, wanted in done.err) == (2, True)


def test_codes_of_a_scheme_are_monitored_by_a_named_estimand(simtrack, tmp_path) -> None:
    from tests.cli.conftest import LOGS

    simtrack("score", str(LOGS / "stage_replies.eval"), "--scheme", "stageif", "-o", "scored.csv")
    done = simtrack("monitor", "scored.csv", "--where", "view=strict", "--cluster", "scenario")
    assert done.code == 2
    assert "is no code of plain (FAIL, PASS). Name an estimand of its scheme" in done.err
    done = simtrack("monitor", "scored.csv", "--estimand", "adherence")
    assert "view must be one" in done.err
    how = ("--where", "view=strict", "--estimand", "adherence", "--null", "0.5", "--json")
    done = simtrack("monitor", "scored.csv", *how, "--cluster", "scenario")
    assert (done.json["what"], len(done.json["sequence"]["mean"])) == (
        "mean adherence of scenarios", 6,
    )  # fmt: skip
    done = simtrack("monitor", "scored.csv", *how, "--cluster", "row")
    # As score counts it: 14 of 48.
    assert len(done.json["sequence"]["mean"]) == 48
    assert done.json["sequence"]["mean"][-1] == pytest.approx(14 / 48)
    assert any("asked of 48 of 60 scored trials" in note["text"] for note in done.json["notes"])


def test_trials_without_a_score_are_no_bound_of_an_estimand(simtrack) -> None:
    from tests.cli.conftest import LOGS

    simtrack("score", str(LOGS / "stage_replies.eval"), "--scheme", "stageif", "-o", "scored.csv")
    with open("scored.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows[0].update(status="errored", outcome="", value="", reason="lost")
    with open("lost.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    done = simtrack("monitor", "lost.csv", "--where", "view=strict", "--estimand", "adherence",
                    "--cluster", "row", "--json")  # fmt: skip
    assert (done.json["left_out"], len(done.json["sequence"]["mean"])) == (1, 47)
    assert not any("had they all failed" in note["text"] for note in done.json["notes"])
    assert any("adherence would have been asked" in note["text"] for note in done.json["notes"])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--alternative", "greater"), "alternative must be given with a null to bet against"),
        (("--looks", "4"), "looks must be given with the planned number of clusters"),
        (("--boundary", "pocock"), "boundary must be given with the planned number of clusters"),
        (("--factor", "model"), "factor must be given with two levels to compare"),
        (("--compare", "a", "b", "--null", "0.5"), "null must be left out with two levels"),
    ],
)  # fmt: skip
def test_options_that_nothing_would_use_are_refused(simtrack, running, options, wanted) -> None:
    done = simtrack("monitor", str(running[0]), *options)
    assert done.code == 2
    assert wanted in done.err


def test_what_came_after_the_last_planned_look_is_not_judged_and_said(simtrack, running) -> None:
    done = simtrack("monitor", str(running[0]), "--null", "0.5", "--planned", "5")
    assert "40 steps have come, but planned looks judge the first 5 alone" in done.out


def test_the_step_that_rejects_is_a_row_and_the_limit_is_named(simtrack, tmp_path) -> None:
    rows = [{"id": f"q{k}", "score": int(k % 5 != 0)} for k in range(200)]
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = simtrack("monitor", "long.jsonl", "--null", "0.5")
    at = e_process([row["score"] for row in rows], 0.5).rejected_at(0.05)
    assert any(line.split()[:1] == [str(at)] for line in done.out.splitlines())
    assert "An e-value of 20 (1/alpha) rejects the null for good" in done.out
    assert "of 200 trials are shown (all: --json); low and high are the narrowest" in done.out


def test_repeats_taken_as_trials_are_a_warning_not_a_note(simtrack, tmp_path) -> None:
    said = simtrack("monitor", _tasks(tmp_path, 14), "--null", "0.5", "--cluster", "row").out
    assert "Warning: tasks repeat, and with row as the step" in said
    assert "rejected at trial 7." in said
    assert any(line.split()[:1] == ["7"] for line in said.splitlines())


def test_help_shows_a_row_and_says_where_there_is_no_e_value(simtrack) -> None:
    said = simtrack("monitor", "--help").out
    assert '{"id": "q17", "score": 1}' in said
    assert "has an interval but no e-value" in " ".join(said.split())
