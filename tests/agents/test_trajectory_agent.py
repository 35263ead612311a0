"""The trajectory agent: exact laws against enumeration, draws against laws, published checks."""

from __future__ import annotations

import csv
import itertools
import math
import pickle
from fractions import Fraction as F

import numpy as np
import pytest

from simtrack.agents.kinds import agent_from_dict
from simtrack.agents.presets.trajectory import (
    TABLE6,
    TRAJECTORY_PRESETS,
    spread_from_alike,
    trajectory_assumptions,
    trajectory_preset,
)
from simtrack.agents.trajectory.agent import BEFORE_ACTING, TrajectoryAgent
from simtrack.agents.trajectory.draws import trajectories
from simtrack.agents.trajectory.laws import all_alike, bin_counts, bin_of, count_law
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import estimand

EXACT = 1e-12
BINS = ("q1", "q2", "q3", "q4", "q5")
AGENT = TrajectoryAgent(
    0.9,
    (0.5, 0.4, 0.3, 0.35, 0.25),
    0.7,
    trajectory_sd=1.2,
    task_sd=0.6,
    mid_law=count_law(4.0, size=1.5, most=25),
    stale=0.8,
    omitted=0.1,
    malformed=0.05,
    envelope=0.3,
)
VIEWS = Design(20, 3, {"arm": ("a", "b"), "view": ("strict", "stripped")})
BY = ("arm", "view", "duty", "stage", "bin", "gold", "reported", "emitted")


def test_bins_have_equal_width_between_first_and_last():
    for n in range(2, 30):
        for i in range(n):
            share = F(i, n - 1)
            assert bin_of(i, n) == min(4, math.floor(5 * share))
    assert bin_counts(7)[7].tolist() == [2, 1, 1, 1, 2]
    assert bin_counts(3)[:2].sum() == 0


def test_count_laws_are_those_of_scipy():
    from scipy.stats import nbinom, poisson

    law = count_law(5.0, least=2, most=60)
    np.testing.assert_allclose(law[2:], poisson.pmf(np.arange(59), 3.0), atol=1e-14)
    law = count_law(5.0, size=1.5, most=200)
    np.testing.assert_allclose(law, nbinom.pmf(np.arange(201), 1.5, 1.5 / 6.5), atol=1e-12)
    assert count_law(2.0, least=2)[2] == 1.0


def test_all_wrong_and_all_right_without_clustering_are_fractions():
    # two or three reports: bins (0, 4) and (0, 2, 4)
    rates = [F(1, 2), F(9, 10), F(1, 4), F(9, 10), F(1, 5)]
    law = [F(1, 10), F(2, 10), F(3, 10), F(4, 10)]
    wrong = law[2] * F(1, 2) * F(4, 5) + law[3] * F(1, 2) * F(3, 4) * F(4, 5)
    right = law[2] * F(1, 2) * F(1, 5) + law[3] * F(1, 2) * F(1, 4) * F(1, 5)
    found = all_alike([float(p) for p in law], [float(r) for r in rates], 0.0, 1.0)
    assert found == pytest.approx((float(wrong), float(right), 0.7), abs=EXACT)


def test_all_wrong_with_clustering_agrees_with_scipy():
    from scipy.integrate import quad
    from scipy.optimize import brentq
    from scipy.special import expit
    from scipy.stats import norm

    def rate(mean):
        return quad(lambda z: expit(mean + 1.5 * z) * norm.pdf(z), -12, 12, epsabs=1e-12)[0]

    means = [brentq(lambda m, p=p: rate(m) - p, -20, 20, xtol=1e-12) for p in (0.3, 0.2)]

    def wrong(z):
        first, last = (1 - expit(m + 1.5 * z) for m in means)
        return first * last * norm.pdf(z)

    expected = quad(wrong, -12, 12, epsabs=1e-12)[0]
    found, _, several = all_alike([0.0, 0.0, 1.0], (0.3, 0.9, 0.9, 0.9, 0.2), 1.5, 1.0)
    assert (found, several) == pytest.approx((expected, 1.0), abs=1e-9)


def test_expectations_by_hand():
    design = Design(10, 2)

    def at(name, **labels):
        return AGENT.expectation(estimand(name).at(view="strict", **labels), design)

    # strict: a right report is read in 70 % of replies
    assert at("adherence", stage=BEFORE_ACTING) == pytest.approx(0.9 * 0.7, abs=EXACT)
    assert at("adherence", stage="POST_OBS", bin="q4") == pytest.approx(0.35 * 0.7, abs=EXACT)
    assert at("omission_share", stage="COMPLETED") == pytest.approx(0.3 * 0.1, abs=EXACT)
    wrapped = 0.3 * (0.7 + 0.3 * 0.85) + 0.3 * 0.05
    assert at("malformed_share", stage="COMPLETED") == pytest.approx(wrapped, abs=EXACT)
    assert at("stale_share", stage="POST_OBS") == pytest.approx(0.8, abs=EXACT)
    both = Design(10, 2, {"view": ("strict", "stripped")})
    read = estimand("adherence").at(view="stripped", stage="COMPLETED")
    assert AGENT.expectation(read, both) == pytest.approx(0.7, abs=EXACT)
    with pytest.raises(InputError, match="readings of the same trials"):
        AGENT.expectation(estimand("adherence"), both)


def test_simulation_agrees_with_expectations():
    # 60 studies of 20 tasks and 3 dialogues; |z| < 5 on task-robust errors of 16 estimands: a false
    # alarm once in 1e5 seeds, and the seed is fixed
    batch = AGENT.counts(VIEWS, 60, seed=2)
    checks = [("adherence", {"stage": "POST_OBS", "bin": b}) for b in BINS]
    checks += [("adherence", {"stage": s}) for s in (BEFORE_ACTING, "COMPLETED", "POST_OBS")]
    checks += [("stale_share", {}), ("omission_share", {}), ("malformed_share", {})]
    for (name, labels), view in itertools.product(checks, ("strict", "stripped")):
        what = estimand(name).at(view=view, **labels)
        top, bottom = (x.ravel().astype(float) for x in what.batch(batch))
        ratio = top.sum() / bottom.sum()
        error = (top - ratio * bottom).std() / math.sqrt(top.size) / bottom.mean()
        assert abs(ratio - AGENT.expectation(what, VIEWS)) < 5 * error, (name, labels, view)


def test_dialogues_all_wrong_agree_with_their_exact_share():
    batch = AGENT.trajectory_counts(VIEWS, 60, seed=2)
    for name, view in itertools.product(("all_wrong", "all_right"), ("strict", "stripped")):
        what = estimand(name).at(view=view)
        top, bottom = (x.ravel().astype(float) for x in what.batch(batch))
        ratio = top.sum() / bottom.sum()
        error = (top - ratio * bottom).std() / math.sqrt(top.size) / bottom.mean()
        assert abs(ratio - AGENT.expectation(what, VIEWS)) < 5 * error, (name, view)


def test_records_are_the_reports_of_the_first_study():
    records = AGENT.records(VIEWS, seed=4)
    batch = AGENT.counts(VIEWS, 2, seed=4)
    keys = ["cluster", *BY]
    read = records.counts(by=BY).to_pandas().set_index(keys).sort_index()
    drawn = batch.counts(0).to_pandas().rename(columns={"scenario": "cluster"})
    assert read.equals(drawn.set_index(keys).sort_index())
    dialogues = trajectories(records.select(view="strict"))
    reduced = dialogues.counts(by=("arm",)).cells.sum(axis=0)
    table = AGENT.trajectory_counts(VIEWS, 1, seed=4)
    cells = [k for k, label in enumerate(table.labels) if label["view"] == "strict"]
    assert reduced.tolist() == table.cells[0][:, cells].sum(axis=(0, 1)).tolist()


def test_views_read_the_same_replies():
    frame = AGENT.records(VIEWS, seed=4).to_pandas()
    wide = frame.pivot(index=["unit", "arm"], columns="view", values="outcome").astype(str)
    differ = wide[wide.strict != wide.stripped]
    assert len(differ) > 100
    assert (differ.strict == "MALFORMED").all()


def test_draws_do_not_depend_on_threads_chunks_or_what_else_is_drawn():
    whole = AGENT.counts(VIEWS, 12, seed=7)
    for threads, chunk in itertools.product((1, 2), (1, 7, 1000)):
        again = AGENT.counts(VIEWS, 12, seed=7, threads=threads, chunk=chunk)
        assert again.fingerprint == whole.fingerprint
    part = AGENT.counts(VIEWS, range(3, 9), seed=7)
    np.testing.assert_array_equal(part.cells, whole.cells[3:9])
    small = AGENT.records(VIEWS.with_(clusters=8, repetitions=2), seed=7).to_pandas()
    large = AGENT.records(VIEWS, seed=7).to_pandas()
    keys = ["unit", "arm", "view"]
    few, many = (f.astype(dict.fromkeys(keys, str)).set_index(keys) for f in (small, large))
    assert (many.loc[few.index].outcome.astype(str) == few.outcome.astype(str)).all()


def test_frozen_draws():
    # Whoever changes this number changes the stream scheme, and says so in the changelog.
    assert AGENT.counts(VIEWS, 3, seed=1).fingerprint == SHA


SHA = "6bd2fcfbd1da7c762eb16eb8a9bf183810c39af2e412023d17c60c0078cbaf7b"


def test_plain_data_hash_and_pickle():
    assert agent_from_dict(AGENT.to_dict()) == AGENT
    assert hash(pickle.loads(pickle.dumps(AGENT))) == hash(AGENT)


@pytest.mark.parametrize("name", TRAJECTORY_PRESETS)
def test_presets_give_their_table_back(name):
    agent = trajectory_preset(name)
    design = Design(114, 1, {"view": ("strict", "stripped")})
    for b, (k, n) in zip(BINS, TABLE6[name][1:6], strict=True):
        what = estimand("position_adherence").at(bin=b, view="stripped")
        assert agent.expectation(what, design) == pytest.approx(k / n, abs=1e-9)
    assert any("assumed" in line for line in trajectory_assumptions(name))


def test_published_numbers_that_did_not_go_in():
    design = Design(114)
    for name in ("gpt-4.1", "gpt-5.5", "claude-sonnet-5"):
        right = trajectory_preset(name).expectation(estimand("all_right"), design)
        assert right < 0.04  # SI021, SI022: 0-4 %
    # strict readings of Table 1, from the stripped ones and the envelopes
    for stage, published, n in ((BEFORE_ACTING, 0.653, 245), ("POST_OBS", 0.286, 636)):
        found = trajectory_preset("gpt-5.6-sol").expectation(
            estimand("adherence").at(stage=stage), design
        )
        assert abs(found - published) < 3 * math.sqrt(published * (1 - published) / n)
    astra = trajectory_preset("gpt-6-astra").expectation(estimand("adherence"), design)
    assert astra == 0.0
    # denominators of the bins, on which only their sum and the number of dialogues went in
    for name, count in (("gpt-5.5", 95), ("claude-sonnet-5", 98)):
        law = np.array(trajectory_preset(name).mid_law)
        means = 114 * (law[:, None] * bin_counts(law.size - 1)).sum(axis=0)
        seen = np.array([n for _, n in TABLE6[name][1:6]])
        assert ((seen - means) ** 2 / means).sum() < 9.5, count  # chi-square, 4 df, at .05


@pytest.mark.shared
def test_table_is_the_published_one(shared):
    path = shared / "reference" / "stageif" / "table6_counts.csv"
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for name, row in TABLE6.items():
        parser = "stripped" if name in ("gpt-5.6-sol", "gpt-6-astra") else "strict"
        read = [(int(r["correct"]), int(r["total"])) for r in rows
                if (r["deployment"], r["parser"]) == (name, parser)]  # fmt: skip
        assert list(row) == read


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TrajectoryAgent(0.9, (0.1,) * 4, 0.8), "mid must be of 5 accuracies, got 4"),
        (lambda: TrajectoryAgent(0.9, (0.1,) * 5, 0.8, mid_law=(0.5,)), "add up to 1"),
        (lambda: TrajectoryAgent(0.9, (0.1,) * 5, 0.8, omitted=0.7, malformed=0.7), "at most 1"),
        (lambda: TrajectoryAgent(0.9, (0.1,) * 5, 0.8, mid_law=(0.5, 0.5)).expectation(
            estimand("all_wrong"), Design(5)), "two or more reports at times"),
        (lambda: AGENT.counts(Design(3, 1, {"view": ("raw",)}), 1, 1), "view must be one of"),
        (lambda: AGENT.counts(Design(3, 1, {"a": ("x", "y")}, ["a"]), 1, 1), "between must be"),
        (lambda: AGENT.counts(Design(3), range(0, 9, 2), 1), "a range of step 1"),
        (lambda: AGENT.counts(Design(3), 1, 1, chunk=0), "chunk must be an integer >= 1"),
        (lambda: trajectory_preset("gpt-9"), "preset must be one of claude-sonnet-5"),
        (lambda: spread_from_alike((0.0, 0.0, 1.0), (0.9,) * 5, 0.5, "wrong"), "share must be"),
    ],
)  # fmt: skip
def test_impossible_trajectory_agents_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
