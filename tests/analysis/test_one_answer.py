"""One question has one answer, whichever door it comes in by and whatever file holds the trials.

Two tasks share their ids: 60 questions on which A and B agree, 10 that A passes and B fails. By
question and task there are 70 differences, 10 of them 1 and the rest 0, so that the difference is
1/7 and the two-sided sign-flip p is 2/2^10, counted by hand. By id alone there are 60 clusters,
and both numbers are wrong.
"""

from __future__ import annotations

import csv
import itertools
import json
from fractions import Fraction

import pytest

import simtrack as st
from simtrack.cli.main import main
from simtrack.errors import InputError

TASKS = {"big": 60, "small": 10}
A, B = MODELS = ("lab/A", "lab/B")
CLUSTERS, GAP, P = 70, 10 / 70, 2 / 2**10
RATES = {A: 50 / 70, B: 40 / 70}
#: Sums of whole numbers, divided once.
SAME = 1e-12


def rows(task, model):
    """Give (id, score) of every trial of a task by a model."""
    ids = range(TASKS[task])
    return [(f"q{k}", int(model == A) if task == "small" else int(k % 3 > 0)) for k in ids]


def trials():
    """Give every trial of the study as a row of a plain table."""
    return [
        {"task": task, "model": model, "id": name, "value": value}
        for task in TASKS
        for model in MODELS
        for name, value in rows(task, model)
    ]


def dumped(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def as_csv(folder):
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["task", "model", "id", "value"])
        writer.writeheader()
        writer.writerows(trials())


def as_json_lines(folder):
    text = "".join(json.dumps(row) + "\n" for row in trials())
    (folder / "t.jsonl").write_text(text, "utf-8")


def as_lm_eval(folder):
    for task in TASKS:
        for model in MODELS:
            lines = [
                {"doc_id": int(name[1:]), "doc": {}, "target": "x", "arguments": {}, "resps": [],
                 "filtered_resps": ["x"], "filter": "none", "metrics": ["acc"], "acc": value,
                 "doc_hash": f"{task}{name}"}
                for name, value in rows(task, model)
            ]  # fmt: skip
            name = f"samples_{task}_2026-02-03T10-11-1{MODELS.index(model)}.5.jsonl"
            path = folder / model.replace("/", "__") / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def as_inspect(folder):
    for task in TASKS:
        for model in MODELS:
            found = rows(task, model)
            told = {
                "task": task, "model": model, "eval_id": task + model, "task_id": task + model,
                "dataset": {"samples": len(found), "sample_ids": [name for name, _ in found]},
                "config": {"epochs": 1}, "packages": {"inspect_ai": "0.3.285"},
            }  # fmt: skip
            samples = [
                {"id": name, "epoch": 1, "scores": {"match": {"value": value}}}
                for name, value in found
            ]
            whole = {"version": 2, "status": "success", "eval": told, "plan": {}}
            dumped(folder / f"{task}_{model[-1]}.json", whole | {"samples": samples})


def as_tau(folder):
    for task in TASKS:
        for model in MODELS:
            simulations = [
                {"id": name, "task_id": name, "trial": 0, "termination_reason": "user_stop",
                 "reward_info": {"reward": float(value)}, "messages": []}
                for name, value in rows(task, model)
            ]  # fmt: skip
            info = {
                "git_commit": "abc", "num_trials": 1,
                "agent_info": {"implementation": "llm_agent", "llm": model},
                "user_info": {"implementation": "user_simulator", "llm": "u"},
                "environment_info": {"domain_name": task},
            }  # fmt: skip
            ids = [{"id": name} for name, _ in rows(task, model)]
            whole = {"timestamp": "2026-01-01T00:00:00", "info": info, "tasks": ids}
            dumped(folder / f"{task}_{model[-1]}.json", whole | {"simulations": simulations})


def as_helm(folder):
    for task in TASKS:
        for model in MODELS:
            run = folder / f"{task}:model={model[-1]}"
            named = {"name": "exact_match", "split": "test"}
            stats = [
                {"instance_id": name, "train_trial_index": 0, "stats": [
                    {"name": named, "count": 1, "sum": value, "mean": value, "stddev": 0}]}
                for name, value in rows(task, model)
            ]  # fmt: skip
            dumped(run / "per_instance_stats.json", stats)
            spec = {"model": model, "max_eval_instances": len(stats)}
            dumped(run / "run_spec.json", {"name": run.name, "adapter_spec": spec})


FORMATS = {
    f.__name__[3:]: f for f in (as_csv, as_json_lines, as_lm_eval, as_inspect, as_tau, as_helm)
}


@pytest.fixture(params=FORMATS)
def study(request, tmp_path):
    """Give a folder with the study in one format."""
    FORMATS[request.param](tmp_path)
    return tmp_path


@pytest.fixture
def told(capsys):
    """Call the command line for JSON."""

    def call(*arguments):
        capsys.readouterr()
        code = main([*map(str, arguments), "--json"])
        out, err = capsys.readouterr()
        assert code == 0, err
        return json.loads(out)

    return call


def of_family(found):
    """Give clusters, difference, p and interval of a test, from its object."""
    (row,) = found.rows
    answer = row.answer
    return found.cluster, row.clusters, answer.estimate, answer.pvalue, answer.low, answer.high


def of_test(plain):
    """Give the same from the JSON of a test."""
    (row,) = plain["rows"]
    names = ("clusters", "difference", "pvalue", "low", "high")
    return (plain["cluster"], *(row[name] for name in names))


def of_score(plain):
    """Give the same from the JSON of a score with a comparison."""
    (metric,) = plain["metrics"]
    return of_test(metric["comparison"])


def test_every_door_compares_the_same_units(study, told):
    records = st.read_logs(study)
    answers = {
        "score --compare": of_score(told("score", study, "--compare", A, B)),
        "test --compare": of_test(told("test", study, "--compare", A, B)),
        "st.score": of_family(st.score(records, levels=(A, B)).metrics[0].comparison),
        "st.test": of_family(st.test(records, A, B)),
        "st.compare": of_family(st.compare(records, A, B, factor="model")),
    }
    first, *rest = answers.values()
    assert all(one == first for one in rest), answers
    assert first[0] == "task/unit"
    assert first[1] == CLUSTERS
    assert first[2:4] == pytest.approx((GAP, P), abs=SAME)


def test_every_door_counts_the_same_units_for_a_rate(study, told):
    records = st.read_logs(study)
    plain = told("score", study, "--by", "model")
    asked = st.estimate(records, by="model")
    scored = st.score(records, by=["model"]).metrics[0].estimates
    rates = [(row.labels[0], row.clusters, row.rate, row.low, row.high) for row in asked.rows]
    assert rates == [(r.labels[0], r.clusters, r.rate, r.low, r.high) for r in scored.rows]
    assert rates == [
        (row["labels"]["model"], row["clusters"], row["rate"], row["low"], row["high"])
        for row in plain["metrics"][0]["estimates"]["rows"]
    ]
    assert {name: rate for name, _, rate, *_ in rates} == pytest.approx(RATES, abs=SAME)
    assert {clusters for _, clusters, *_ in rates} == {CLUSTERS}
    assert asked.cluster == scored.cluster == plain["cluster"] == "task/unit"


def test_formats_differ_in_nothing_that_is_asked(tmp_path):
    found = {}
    for name, write in FORMATS.items():
        folder = tmp_path / name
        folder.mkdir()
        write(folder)
        records = st.read_logs(folder)
        rates = [(r.rate, r.low, r.high) for r in st.estimate(records, by="model").rows]
        found[name] = (of_family(st.compare(records, A, B)), rates)
    assert all(one == found["csv"] for one in found.values()), found


def test_a_frame_is_read_as_its_file_is(tmp_path):
    pandas = pytest.importorskip("pandas")
    as_csv(tmp_path)
    frame = st.from_frame(pandas.DataFrame(trials()))
    assert of_family(st.compare(frame, A, B)) == of_family(st.compare(st.read_logs(tmp_path), A, B))


#: Right answers of eight questions in ten wordings each: how many A and B passed.
WORDINGS = {"A": (2, 10, 9, 10, 9, 9, 1, 10), "B": (0, 1, 0, 1, 8, 0, 9, 9)}


def table(folder, head, *lines):
    """Write a table of a few columns; give its path."""
    path = folder / "t.csv"
    path.write_text("\n".join([head, *lines]) + "\n", "utf-8")
    return path


def worded(folder, column, models="AB"):
    lines = [
        f"{model},{k}-{n},{int(n < passed)},t{k}"
        for model in models
        for k, passed in enumerate(WORDINGS[model])
        for n in range(10)
    ]
    return table(folder, f"model,id,value,{column}", *lines)


def any_and_all(row):
    (at,), (hat,) = row.at, row.hat
    return at.tasks, at.value, hat.value


def note(found, code):
    return next((text for text in found.notes if text.code == code), None)


def test_two_tasks_that_cancel_are_no_tie(tmp_path, told):
    """Gaps of +1 in three ids of one task and of -1 in the same ids of another: 6 of 20 differ."""
    lines = [
        f"{task},{model},q{k},{int((model == better) if k < 3 else 1)}"
        for task, better in (("t1", "A"), ("t2", "B"))
        for model in "AB"
        for k in range(10)
    ]
    path = table(tmp_path, "task,model,id,correct", *lines)
    for found in (of_score(told("score", path, "--compare", "A", "B")),
                  of_test(told("test", path, "--compare", "A", "B"))):  # fmt: skip
        assert found[:4] == ("task/unit", 20, 0.0, 1.0)
        assert found[4] == -found[5] < 0.0


def test_a_status_column_of_the_file_is_used(tmp_path, told):
    lines = [f"q{k},{'errored,0' if k < 10 else 'scored,1'}" for k in range(30)]
    path = table(tmp_path, "id,status,value", *lines)
    plain = told("score", path)
    (counted,) = plain["metrics"][0]["accounting"]
    (rate,) = plain["metrics"][0]["estimates"]["rows"]
    assert (counted["planned"], counted["scored"], counted["errored"]) == (30, 20, 10)
    assert (rate["n"], rate["rate"]) == (20, 1.0)
    records = st.read_logs(path)
    assert st.estimate(records).rows[0].n == 20
    assert "10" in note(st.score(records), "status-column")


def test_prompts_are_no_repetitions(tmp_path, told):
    lines = [f"{p},q{k},{int(p == 'cot')}" for p in ("cot", "direct") for k in range(20)]
    records = st.read_logs(table(tmp_path, "prompt,id,value", *lines))
    with pytest.raises(InputError, match="different prompt within a unit"):
        st.score(records, pass_k=[1, 2])
    by_prompt = st.score(records, by=["prompt"], pass_k=[1]).metrics[0].pass_k
    assert [(row.labels, row.at[0].value) for row in by_prompt] == [
        (("cot",), 1.0),
        (("direct",), 0.0),
    ]
    assert note(st.score(records), "pooled").n == 1


@pytest.mark.parametrize("cluster", [None, "scenario"])
def test_tasks_are_scenarios_with_ids_where_ids_start_again(tmp_path, cluster):
    """Two questions a scenario, one always passed and one never: any and all are both 1/2."""
    lines = [f"s{s},q{q},{e},{1 - q}" for s in range(10) for q in range(2) for e in range(4)]
    records = st.read_logs(table(tmp_path, "scenario,id,epoch,value", *lines))
    found = st.score(records, cluster=cluster, pass_k=[4])
    (row,) = found.metrics[0].pass_k
    assert any_and_all(row) == (20, 0.5, 0.5)
    assert found.metrics[0].estimates.rows[0].clusters == (20 if cluster is None else 10)
    assert not [text for text in found.notes if "repeat another" in text]


@pytest.mark.parametrize("column", ["question", "seed_question", "colour"])
def test_wordings_of_one_question_are_told_in_a_comparison(tmp_path, column):
    """The column needs no usual name; by question p = 9/128, by listing all 2^8 signs."""
    records = st.read_logs(worded(tmp_path, column))
    gaps = [a - b for a, b in zip(*WORDINGS.values(), strict=True)]
    flips = [abs(sum(s * d for s, d in zip(signs, gaps, strict=True)))
             for signs in itertools.product((-1, 1), repeat=8)]  # fmt: skip
    exact = Fraction(sum(flip >= abs(sum(gaps)) for flip in flips), 2**8)
    assert exact == Fraction(9, 128)
    naive = st.test(records, "A", "B")
    assert naive.rows[0].answer.pvalue < 1e-5
    assert f"--cluster {column} takes the 8 of them" in note(naive, "coarser")
    asked = st.test(records, "A", "B", cluster=column)
    assert asked.rows[0].answer.exact == exact
    assert note(asked, "coarser") is None


@pytest.mark.parametrize("column", ["question", "colour"])
def test_wordings_of_one_question_are_told_of_a_rate(tmp_path, column):
    """The design effect is that of Kish: the variance of the mean by question over that by row."""
    records = st.read_logs(worded(tmp_path, column, "A"))
    mean = sum(WORDINGS["A"]) / 80
    by_question = sum((passed - 10 * mean) ** 2 for passed in WORDINGS["A"]) * 8 / 7
    by_row = 80 * mean * (1 - mean) * 80 / 79
    told = note(st.score(records), "coarser")
    assert f"--cluster {column} takes the 8 of them" in told
    assert f"design effect {by_question / by_row:.1f}" in told
    assert st.estimate(records, cluster=column).rows[0].clusters == 8


@pytest.mark.shared
def test_the_tables_on_which_it_was_wrong(shared, told):
    """The numbers are those of the README beside the tables."""
    tried = shared / "cases" / "tried"
    tables, merged = tried / "statistics", tried / "logs" / "compare-merges-tasks"
    share = tables / "two_tasks_share_ids.csv"
    for read in (of_score(told("score", share, "--compare", "A", "B")),
                 of_test(told("test", share, "--compare", "A", "B"))):  # fmt: skip
        assert read[1:4] == pytest.approx((70, 1 / 7, 2 / 2**10), abs=SAME)
    for name, pair in (("two_tasks.csv", "ab"), ("I18", ("openai/a", "openai/b")),
                       ("L7", ("acme/m1", "acme/m2"))):  # fmt: skip
        asked = [merged / name, "--compare", *pair]
        asked += ["--metric", "acc"] if name == "L7" else []
        assert of_test(told("test", *asked)) == of_score(told("score", *asked))
        assert of_test(told("test", *asked))[1:4] == pytest.approx((20, -0.2, 1 / 8), abs=SAME)
    (rate,) = told("score", tables / "errors_in_status.csv")["metrics"][0]["estimates"]["rows"]
    assert (rate["n"], rate["rate"]) == (20, 1.0)
    over_prompts = st.read_logs(tables / "pass_k_over_prompts.csv")
    with pytest.raises(InputError, match="different prompt within a unit"):
        st.score(over_prompts, pass_k=[1, 2])
    restart = st.read_logs(tables / "pass_k_ids_restart.csv")
    (row,) = st.score(restart, cluster="scenario", pass_k=[4]).metrics[0].pass_k
    assert any_and_all(row) == (20, 0.5, 0.5)
    paired = st.read_logs(tables / "nested_variants_paired.csv")
    assert "--cluster question" in note(st.test(paired, "A", "B"), "coarser")
    by_question = st.test(paired, "A", "B", cluster="question").rows[0].answer
    assert by_question.exact == Fraction(9, 128)
    one_arm = st.read_logs(tables / "nested_variants_one_arm.csv")
    assert "design effect 7.7" in note(st.score(one_arm), "coarser")
    (row,) = st.estimate(one_arm, cluster="question", method="wilson-guarded").rows
    assert (row.low, row.high) == pytest.approx((0.255, 0.842), abs=5e-4)
