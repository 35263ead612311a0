"""Real logs beside the checkout, 2024 to 2026: every mean and standard error of their headers."""

from __future__ import annotations

import math
import pathlib

import numpy as np
import pytest

from simtrack.errors import DataError
from simtrack.logs import inspect, inventory, read_log
from simtrack.logs.content import look_at
from simtrack.logs.inspect.metrics import header_metric
from simtrack.records import account

pytestmark = pytest.mark.shared
#: Sums in another order.
SAME = 1e-12


@pytest.fixture(scope="module")
def rows(shared):
    return {pathlib.PurePath(row.file).name: row for row in inventory([shared / "logs"])}


def test_all_but_the_two_truncated_archives_open(rows):
    archives = {name: row for name, row in rows.items() if name.endswith(".eval")}
    refused = {name for name, row in archives.items() if row.refusal}
    assert len(archives) == 19
    assert refused == {"truncated_70pct.eval", "truncated_no_eocd.eval"}
    assert all("truncated: the zip has no directory" in archives[n].refusal for n in refused)
    assert not any(row.refusal for name, row in rows.items() if name.endswith(".json"))


def test_the_header_is_wrong_where_we_say_so_and_nowhere_else(rows):
    """Files trimmed by hand, headers without samples, a sample edited after the run."""
    assert {name for name, row in rows.items() if row.disagrees} == {
        "2024-08-29T15-11-17_00-00_popularity_5EAmX6wjMFqea6WY7XHzZp.json",
        "2024-08-29T15-11-18_00-00_popularity_5EAmX6wjMFqea6WY7XHzZp.json",
        "2025-05-12T20-28-13-04-00_no-samples.json",
        "log_tool_call_error.json",
        "nan_inf_scores.eval",
        "data_cyse2_vuln_exploit_challenges.json",
        "data_intercode_ctf_local_path.json",
        "data_with_llm_scoring.json",
    }


def find(shared, name):
    return next((shared / "logs").rglob(name))


def open_log(path):
    content = look_at(path, path.name)
    if content.kind == "zip":
        return inspect.open_archive(path, path.name)
    return inspect.open_object(content.data, path.name)


def test_every_mean_and_stderr_of_a_whole_log_is_the_headers(shared, rows):
    """Inspect's stderr: of the means over epochs, n - 1; its clustered one: CR1 of those means."""
    checked = 0
    for name, row in rows.items():
        if row.refusal or row.disagrees:
            continue
        log = open_log(find(shared, name))
        records = inspect.to_records(log)
        for metric in records.factor("metric").levels:
            stated = header_metric(log.header, metric)
            mine = records.select(metric=metric)
            keep = ~np.isnan(mine.numbers["value"])
            if not stated or not keep.any():
                continue
            means = unit_means(mine, keep)
            mean = stated.get("mean", stated.get("accuracy"))
            values = np.array(list(means.values()))
            assert values.mean() == pytest.approx(mean, abs=SAME), (name, metric)
            clustered = metric == "letter" and "stage_reports" in name
            error = clustered_error(mine, means) if clustered else plain_error(values)
            assert error == pytest.approx(stated["stderr"], abs=SAME), (name, metric)
            checked += 1
    # 3 metrics of the two stage_reports and one of each other log with a header and scores.
    assert checked == 22


def unit_means(records, keep):
    units = records.factor("unit").values()
    found: dict[str, list[float]] = {}
    for unit, value, kept in zip(units, records.numbers["value"], keep, strict=True):
        if kept:
            found.setdefault(unit, []).append(float(value))
    return {unit: sum(v) / len(v) for unit, v in found.items()}


def plain_error(values):
    return values.std(ddof=1) / math.sqrt(values.size) if values.size > 1 else 0.0


def clustered_error(records, means):
    scenario = dict(
        zip(records.factor("unit").values(), records.factor("scenario").values(), strict=True)
    )
    centre = sum(means.values()) / len(means)
    sums: dict[str, float] = {}
    for unit, mean in means.items():
        sums[scenario[unit]] = sums.get(scenario[unit], 0.0) + mean - centre
    groups = len(sums)
    return math.sqrt(sum(s * s for s in sums.values()) * groups / (groups - 1)) / len(means)


def test_popularity_is_08_with_013333(shared):
    path = find(shared, "2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval")
    records = read_log(path)
    values = records.numbers["value"]
    assert values.mean() == 0.8
    assert round(plain_error(values), 5) == 0.13333


def test_nan_infinity_and_null_are_three_kinds_of_unscored(shared):
    records = read_log(find(shared, "nan_inf_scores.eval"))
    reasons = {
        (unit, metric): reason
        for unit, metric, reason in zip(
            *(records.factor(n).values() for n in ("unit", "metric", "reason")), strict=True
        )
    }
    assert reasons["9", "match"] == "score is NaN"
    assert reasons["6", "match.a"] == "score is not finite (-inf)"
    assert reasons["6", "match.b"] == "score is null"
    assert any("may have been NaN" in note for note in records.notes)


def test_an_unfinished_log_reads_like_the_finished_one(shared):
    whole = read_log(
        find(shared, "2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval")
    )
    journal = read_log(find(shared, "inprogress_journal_only.eval"))
    for name in ("unit", "repetition", "metric", "status", "label_confidence"):
        assert journal.factor(name).values() == whole.factor(name).values()
    np.testing.assert_array_equal(journal.numbers["value"], whole.numbers["value"])
    assert "run status is started" in journal.notes[0]


def test_a_trimmed_log_counts_what_is_gone(shared):
    table = account(read_log(find(shared, "data_cyse2_vuln_exploit_challenges.json")))
    assert (table.planned, table.total("scored"), table.total("missing")) == (2340, 1, 2339)


def test_a_sample_halted_by_a_limit_is_scored_and_marked(shared):
    records = read_log(find(shared, "data_intercode_ctf_local_path.json"))
    assert records.factor("limit").values() == ["message"]
    assert records.factor("status").values() == ["scored"]


def test_the_gpqa_table_has_its_published_means(shared):
    records = read_log(find(shared, "gpqa_diamond_scores.csv"))
    assert len(records) == 198 * 5 * 2
    assert len(records.factor("unit").levels) == 198
    means = {
        model.split("/")[1][:10]: round(records.select(model=model).numbers["value"].mean(), 4)
        for model in records.factor("model").levels
    }
    assert sorted(means.values()) == [0.6172, 0.6758]


def test_a_wide_table_is_refused_with_its_columns(shared):
    with pytest.raises(DataError, match=r"no column holds a score \(there are: claude-2.1, mixt"):
        read_log(find(shared, "langchain_data_tool_use_FULL.csv"))


def test_lm_eval_lines_with_a_torn_end_give_what_is_whole(shared):
    path = find(shared, "lm_eval_truncated_last_line.jsonl")
    records = read_log(path)
    assert len(records) == 19
    assert records.losses.by_kind() == {"missing": 1}
    assert "line 20 is torn" in records.notes[0]
    assert records.factor("metric").levels == ("acc",)
    table = read_log(path, map={"value": "acc"})
    assert table.factor("filter").levels == ("none",)
    np.testing.assert_array_equal(table.numbers["value"], records.numbers["value"])
