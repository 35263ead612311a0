"""`simtrack test`: one line a hypothesis, refusals in place, slips told with their cure."""

from __future__ import annotations

import csv
import io

import pytest


def write(path, lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def table(tmp_path):
    # stage s1: eight tasks, x better in six; s2: four tasks, too few; s3: no difference at all
    lines = ["task_no,model,stage,trial,correct"]
    x, y = [1, 1, 1, 1, 1, 1, 0, 1], [0, 0, 1, 0, 0, 0, 0, 0]
    for stage, size, first, second in (("s1", 8, x, y), ("s2", 4, x, y), ("s3", 8, x, x)):
        for k in range(size):
            lines += [f"{stage}t{k},x,{stage},1,{first[k]}", f"{stage}t{k},y,{stage},1,{second[k]}"]
    return write(tmp_path / "trials.csv", lines)


MAP = ("--map", "unit=task_no", "--map", "value=correct", "--map", "repetition=trial")


def test_json_is_stable(simtrack, golden, table):
    done = simtrack("test", table, *MAP, "--compare", "x", "y", "--by", "stage",
                    "--adjust", "holm", "--json")  # fmt: skip
    assert done.code == 0, done.err
    golden(done.json, "test")


def test_every_group_has_a_line_and_refusals_their_reason(simtrack, table):
    out = simtrack("test", table, *MAP, "--compare", "x", "y", "--by", "stage",
                   "--adjust", "bonferroni").out  # fmt: skip
    lines = {line.split()[0]: line.split() for line in out.splitlines()[2:5]}
    assert lines["s1"][1:5] == ["8", "8+8", "0", "+0.7500"]
    assert lines["s1"][7:] == ["0.03125", "1/32", "0.031", "0.09375"]
    assert "refused" in lines["s2"]
    assert lines["s3"][7] == "1"
    assert "Refused [s2]: 4 clusters can give no p below 0.125, above 0.05" in out
    assert "family of 3: family-wise error" in out


def test_csv_has_a_line_a_hypothesis(simtrack, table):
    out = simtrack("test", table, *MAP, "--compare", "x", "y", "--by", "stage", "--csv").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["stage"] for row in rows] == ["s1", "s2", "s3"]
    assert (rows[0]["exact"], rows[0]["floor"], rows[1]["pvalue"]) == ("1/32", "0.03125", "")
    assert "no p below 0.125" in rows[1]["refused"]


def test_ratios_medians_and_single_trials_have_their_heads(simtrack, table):
    ask = ("test", table, *MAP, "--compare", "x", "y", "--where", "stage=s1")
    ratio = simtrack(*ask, "--method", "cluster-t-ratio").out.splitlines()
    assert ratio[0] == "x over y, cluster-t-ratio:"
    assert "ratio" in ratio[1]
    assert ratio[2].split()[3] == "7.0000"
    assert "median" in simtrack(*ask, "--method", "sign-test").out
    by_trial = simtrack(*ask, "--method", "mcnemar-midp", "--on", "id, epoch").out
    assert "6 pairs passed in the first only, 0 in the second" in by_trial


def test_metrics_are_hypotheses_of_one_family(simtrack, logs):
    log = str(logs / "stage_reports.eval")
    found = simtrack("test", log, "--compare", "ready", "completed", "--cluster", "scenario",
                     "--json").json  # fmt: skip
    assert found["by"] == ["metric"]
    assert [row["labels"]["metric"] for row in found["rows"]] == [
        "stage.clean", "stage.emitted", "letter"
    ]  # fmt: skip
    assert all("3 clusters" in row["refused"] for row in found["rows"])
    one = simtrack("test", log, "--compare", "ready", "completed", "--metric", "stage.clean",
                   "--cluster", "scenario", "--json").json  # fmt: skip
    assert (one["by"], len(one["rows"])) == ([], 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--compare'"),
        (("--compare", "x"), "requires 2 arguments"),
        (("--compare", "x", "x"), "two different ones, got x twice"),
        (("--compare", "x", "z"), "There are: model (x, y)"),
        (("--compare", "x", "y", "--method", "mc-nemar"), "method must be one of sign-flip"),
        (("--compare", "x", "y", "--method", "wilson"), "got 'wilson' (topic rate)"),
        (("--compare", "x", "y", "--by", "model"), "by must be other than the factor"),
        (("--compare", "x", "y", "--by", "unit"), "by must be other than the cluster"),
        (("--compare", "x", "y", "--by", "stge"), "Did you mean stage?"),
        (("--compare", "x", "y", "--on", "id"), "do not pair single trials"),
        (("--compare", "x", "y", "--family", "3"), "Say how: --adjust holm."),
        (("--compare", "x", "y", "--adjust", "holm", "--family", "0"), "an integer >= 1"),
        (("--compare", "x", "y", "--adjust", "max-t", "--method", "mcnemar"), "with sign-flip"),
        (("--compare", "x", "y", "--method", "permutation"), "share no cluster"),
        (("--compare", "x", "y", "--method", "newcombe", "--adjust", "holm"), "without p-values"),
        (("--compare", "x", "y", "--strata", "stage"), "strata must be used with"),
        (("--compare", "x", "y", "--level", "95"), "Did you mean 0.95?"),
        (("--compare", "x", "y", "--adjust", "fdr"), "'fdr' is not one of"),
        (("--compare", "x", "y", "--margin", "five"), "a number such as 0.05, or two such as"),
        (
            ("--compare", "x", "y", "--margin", "-0.05"),
            "margin must be above 0, got -0.05. For non",
        ),
        (("--compare", "x", "y", "--margin", "0.1:0.2"), "margin must be below 0 and above 0"),
        (("--compare", "x", "y", "--margin", "nan"), "margin must be a finite number"),
        (("--compare", "x", "y", "--margin", "1"), "margin must be below 1 for scores in [0, 1]"),
        (("--compare", "x", "y", "--margin", "0.1", "--level", "0.4"), "level must be above 0.5"),
        (("--compare", "x", "y", "--json", "--csv"), "output must be one of"),
    ],
)
def test_slips_are_told_with_their_cure(simtrack, table, arguments, message):
    done = simtrack("test", table, *MAP, *arguments)
    assert (done.code, done.out) == (2, ""), done
    assert message in done.err
    assert done.err.count("\n") == 1
