"""An answer depends on the trials alone: not on names, on order, on files, or on a column that
says nothing."""

from __future__ import annotations

import math
import pathlib
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import simtrack
from simtrack.errors import DataError, InputError

MODELS = ("A", "B")
#: Sums of the same floats in another order.
SAME = 1e-9
FEW = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def studies(draw):
    """Give trials as rows: the task's column and label, id, model, repetition, score or none."""
    column = draw(st.sampled_from(["task", "dataset", "scenario"]))
    scores = draw(st.sampled_from([(0, 1), (0, 0.25, 0.5, 1), (0.1, 0.2, 0.3, 0.15)]))
    repeated = draw(st.sampled_from([1, 2]))
    rows = []
    for task in range(draw(st.integers(1, 3))):
        for k in draw(st.sets(st.integers(0, 7), min_size=2, max_size=6)):
            for model in MODELS:
                rows += [
                    {column: f"t{task}", "id": f"q{k}", "model": model, "epoch": str(epoch),
                     "value": draw(st.sampled_from([*scores, *scores, ""]))}
                    for epoch in range(repeated)
                ]  # fmt: skip
    return column, rows


def read(*files):
    """Write every list of rows as a CSV file of one folder, and read the folder."""
    with tempfile.TemporaryDirectory() as name:
        for k, rows in enumerate(files):
            lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
            (pathlib.Path(name) / f"f{k}.csv").write_text("\n".join(lines) + "\n", "utf-8")
        return simtrack.read_logs(name)


def rates(estimates):
    return {
        row.labels: (row.clusters, row.n, row.rate, row.low, row.high) for row in estimates.rows
    }


def gaps(family):
    answers = [(row, row.answer) for row in family.rows]
    return [
        (row.clusters, a.n, a.estimate, a.low, a.high, a.exact, a.pvalue, bool(a.refused))
        for row, a in answers
    ]


def asked(verb):
    try:
        return verb()
    except (InputError, DataError) as error:
        return type(error).__name__


def scored(records, by=()):
    (part,) = simtrack.score(records, by=by, levels=MODELS).metrics
    return rates(part.estimates), gaps(part.comparison)


def answers(records):
    """Give what every door says."""
    return {
        "estimate": asked(lambda: rates(simtrack.estimate(records, by="model"))),
        "compare": asked(lambda: gaps(simtrack.compare(records, *MODELS, factor="model"))),
        "test": asked(lambda: gaps(simtrack.test(records, *MODELS))),
        "score": asked(lambda: scored(records)),
    }


def equal(first, second):
    """Say whether two answers agree, floats to rounding."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(equal(v, second[k]) for k, v in first.items())
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(equal, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=SAME, abs_tol=SAME)
    return first == second


def hold_equal(base, other):
    first, second = answers(read(base)), answers(other)
    for door, answer in first.items():
        assert equal(answer, second[door]), (door, answer, second[door])


@FEW
@given(studies())
def test_every_door_gives_one_answer(study):
    records = read(study[1])
    found = answers(records)
    assert equal(found["compare"], found["test"])
    by_model = asked(lambda: scored(records, ["model"]))
    assert equal(by_model, (found["estimate"], found["test"])) or by_model == found["test"]


@FEW
@given(studies(), st.randoms(use_true_random=False), st.booleans())
def test_names_of_ids_mean_nothing_within_their_task(study, random, apart):
    """Other ids in every task, which repeat across tasks or do not."""
    column, rows = study
    names = {}
    for task in {row[column] for row in rows}:
        old = sorted({row["id"] for row in rows if row[column] == task})
        new = [f"{task if apart else 'x'}-{k}" for k in random.sample(range(100), len(old))]
        names |= {(task, one): other for one, other in zip(old, new, strict=True)}
    hold_equal(rows, read([row | {"id": names[row[column], row["id"]]} for row in rows]))


@FEW
@given(studies(), st.randoms(use_true_random=False))
def test_the_order_of_rows_means_nothing(study, random):
    rows = study[1]
    hold_equal(rows, read(random.sample(rows, len(rows))))


@FEW
@given(studies(), st.data())
def test_files_mean_nothing_where_models_or_tasks_differ(study, data):
    rows = study[1]
    homes = [data.draw(st.integers(0, 2)) for _ in rows]
    files = [[row for row, home in zip(rows, homes, strict=True) if home == k] for k in range(3)]
    hold_equal(rows, read(*data.draw(st.permutations([part for part in files if part]))))


@FEW
@given(studies(), st.sampled_from(["scenario", "dataset", "suite", "arm", "prompt", "seed", "run",
                                   "temperature", "note", "question", "scorer"]))  # fmt: skip
def test_a_constant_column_means_nothing(study, name):
    column, rows = study
    if name != column:
        hold_equal(rows, read([{name: "1"} | row for row in rows]))


def test_the_comparison_of_answers_tells_numbers_apart():
    assert not equal({"a": [(1, 0.5)]}, {"a": [(1, 0.5 + 1e-6)]})
    assert not equal({"a": "DataError"}, {"a": [(1, 0.5)]})
    with pytest.raises(AssertionError):
        hold_equal(
            [{"id": "a", "model": "A", "value": 1}, {"id": "b", "model": "B", "value": 0}],
            read([{"id": "a", "model": "A", "value": 1}, {"id": "b", "model": "B", "value": 1}]),
        )
