"""The study of hard populations: its table is made again in part, and holds what is promised."""

from __future__ import annotations

import csv
import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from simtrack.inference import bounded_mean_limits, wilson_limits

PLACE = Path(__file__).resolve().parents[2] / "studies" / "hard_populations"
CHANCE = 1e-3


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("hard_populations", PLACE / "hard.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def table() -> list[dict[str, str]]:
    with (PLACE / "table.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cut(study, family: str, **kept: object) -> dict[str, object]:
    """Give the study's settings for a part of one family."""
    settings = study.load_study(PLACE / "study.toml").settings
    return {"run": settings["run"], family: settings[family] | kept}


def made_again(study, table, settings, family: str) -> int:
    known = {tuple(row[h] for h in study.HEADS[:6]): list(row.values()) for row in table}
    found = list(study.rows(settings, [family]))
    assert [known[tuple(row[:6])] for row in found] == found
    return len(found)


@pytest.mark.parametrize(
    ("family", "kept", "rows"),
    [
        ("graded", {"laws": ["3 % at 0, rest (.9, 1)"], "clusters": [12], "trials": ["one"]}, 5),
        ("trials", {"laws": ["pure .95"], "clusters": [30], "trials": ["10"]}, 4),
        ("pass_k", {"laws": ["10 % impossible, rest .5"], "clusters": [12], "k": [4],
                    "trials": ["2k"]}, 6),
        ("paired", {"laws": ["5 % fail in one arm, rest .95"], "designs": [[12, 20]]}, 3),
    ],
)  # fmt: skip
def test_a_part_of_the_table_is_made_again(study, table, family, kept, rows) -> None:
    assert made_again(study, table, cut(study, family, **kept), family) == rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "kept"),
    [
        ("graded", {"clusters": [12, 30], "methods": ["bounded-mean", "wilson-guarded"]}),
        ("trials", {"clusters": [12, 67]}),
        ("pass_k", {"clusters": [30], "k": [1, 4]}),
        ("paired", {"designs": [[12, 10], [30, 1]]}),
    ],
)
def test_a_large_part_of_the_table_is_made_again(study, table, family, kept) -> None:
    assert made_again(study, table, cut(study, family, **kept), family) >= 40


def test_the_summary_is_that_of_the_table(study, table) -> None:
    title = study.load_study(PLACE / "study.toml").title
    assert study.summary(table, title) == (PLACE / "table.md").read_text("utf-8")


def test_the_default_holds_in_every_cell_and_wilson_does_not(table) -> None:
    hits = {}
    for row in table:
        if row["family"] != "paired" and row["coverage"]:
            held = round(float(row["coverage"]) * int(row["replicates"]))
            p = stats.binomtest(held, int(row["replicates"]), 0.95, "less").pvalue
            hits.setdefault(row["method"], []).append(p)
    assert len(hits["bounded-mean"]) == 1071
    fewer = {method: sum(p < CHANCE / 1071 for p in ps) for method, ps in hits.items()}
    assert (fewer["bounded-mean"], fewer["betting"]) == (0, 0)
    assert fewer["wilson-guarded"] > 20
    assert fewer["wilson-clustered"] > 60


def least(table, method: str, **where: str) -> float:
    rows = [r for r in table if r["method"] == method and where.items() <= r.items()]
    return round(min(float(row["coverage"]) for row in rows if row["coverage"]), 2)


def test_what_is_in_print_is_what_was_measured(table) -> None:
    # README, AGENTS, docstrings and the catalogue quote these.
    skewed = {"law": "3 % at 0, rest (.9, 1)", "trials": "one"}
    sizes = [least(table, "wilson-guarded", clusters=g, **skewed) for g in ("12", "30", "67")]
    assert sizes == [0.40, 0.60, 0.86]
    assert least(table, "wilson-guarded", law="pure .95", clusters="30") == 0.73
    assert least(table, "wilson-clustered", family="pass_k") == 0.51
    near = ".98 and .9, ICC .2, slope .5"
    for clusters, trials, right in (("12", "20", 0.86), ("12", "10", 0.88), ("30", "5", 0.92),
                                    ("67", "10", 0.93), ("30", "1", 0.98)):  # fmt: skip
        found = least(table, "paired-cluster-t", law=near, clusters=clusters, trials=trials)
        assert found == right, (clusters, trials)
    one_arm = {"law": "5 % fail in one arm, rest .95"}
    found = [least(table, "paired-cluster-t", clusters=g, trials=m, **one_arm)
             for g, m in (("12", "20"), ("67", "10"))]  # fmt: skip
    assert found == [0.66, 0.92]


def test_populations_have_the_means_that_are_taken_for_true(study) -> None:
    fine, rough = ((np.arange(n) + 0.5) / n for n in (2000, 40))
    grid = np.stack(np.meshgrid(fine, rough, indexing="ij"), axis=-1)
    for law in study.load_study(PLACE / "study.toml").settings["graded"]["laws"]:
        assert study.graded(law, grid).mean() == pytest.approx(study.mean_of(law), abs=5e-4), law
    # pass^2 and pass@2 of "30 % impossible, rest beta": .7 times beta moments, by quadrature.
    law, beta = "30 % impossible, rest beta", stats.beta(8, 2)
    assert study.expected(law, lambda p: p**2, lambda a, b: study.beta_power(a, b, 2)) == (
        pytest.approx(0.7 * beta.expect(lambda p: p**2))
    )
    shares = [sum(share for share, _ in study.parts(name)) for name in ("pure .95", law, "beta .5")]
    assert shares == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize(("clusters", "wilson"), [(12, 0.860), (67, 0.845), (164, 0.845)])
def test_single_trials_enumerated(clusters, wilson) -> None:
    """One 0/1 trial a cluster, every number of passes, over a grid of rates and near the ends."""
    passed = np.arange(clusters + 1.0)
    single = (np.arange(clusters) < passed[:, None]).astype(float)
    ends = {
        "bounded-mean": bounded_mean_limits(single, np.ones(single.shape)),
        "wilson": wilson_limits(
            passed / clusters, float(clusters), stats.t.ppf(0.975, clusters - 1)
        ),
    }
    near = [1 - x / clusters for x in np.linspace(0.05, 3, 200)]
    worst = dict.fromkeys(ends, 1.0)
    for rate, (name, (low, high)) in itertools.product(
        [*np.linspace(0.0005, 0.9995, 1999), *near], ends.items()
    ):
        law = stats.binom.pmf(passed, clusters, rate)
        held = float(law[(low <= rate) & (rate <= high)].sum())
        worst[name] = min(worst[name], held)
    assert worst["bounded-mean"] >= 0.95
    assert worst["wilson"] == pytest.approx(wilson, abs=1e-3)
