"""pass@k and pass^k: enumeration of draws, published numbers, and tasks that cannot tell."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.rates.bounded_mean import bounded_mean, bounded_mean_p
from simtrack.inference.rates.pass_k import pass_at_k, pass_hat_k
from simtrack.inference.rates.wilson import wilson_clustered
from simtrack.rng import Stream

ROUNDING = 1e-12
#: τ-bench, gpt-4o, airline: tasks by passes in four trials.
AIRLINE = {0: 14, 1: 12, 2: 10, 3: 4, 4: 10}


def tasks(passed, trials, labels=None):
    return Totals.from_arrays(passed, trials, clusters=labels)


def airline():
    passed = [c for c, n in AIRLINE.items() for _ in range(n)]
    return tasks(passed, [4] * 50)


def test_h22_more_draws_than_trials_are_not_estimable_never_1():
    found = pass_at_k(tasks([0, 2], [3, 8], ["short", "long"]), 8)
    assert found.not_estimable == ("short",)
    assert list(found.by_task) == ["long"]
    assert (found.value, found.tasks) == (1.0, 1)  # 8 of 8 trials are drawn, 2 of them pass
    assert "1 of 2 tasks have fewer than 8 trials and are left out: short" in found.notes
    alone = pass_at_k(tasks([0], [3]), 8)
    assert (alone.value, alone.exact, alone.low) == (None, None, None)
    assert alone.not_estimable == ("0",)


def test_h22_nothing_passed_is_0_where_k_can_be_drawn():
    assert pass_at_k(tasks([0], [3]), 3).value == 0.0


def test_h23_lost_trials_leave_tasks_behind_and_are_said():
    # T1 [1, infra], T2 [0, 1], T3 [infra, infra]: only scored trials stand here.
    scored = tasks([1, 1, 0], [1, 2, 0], ["T1", "T2", "T3"])
    one, two = pass_hat_k(scored, 1), pass_hat_k(scored, 2)
    assert (one.value, one.tasks, one.trials, one.not_estimable) == (0.75, 2, 3, ("T3",))
    assert "1 of 3 tasks" in one.notes[0]
    assert (two.value, two.tasks, two.not_estimable) == (0.0, 1, ("T1", "T3"))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
       st.integers(1, 7))  # fmt: skip
def test_a_task_is_the_share_of_all_draws_without_replacement(task, k):
    c, n = task
    outcomes = [1] * c + [0] * (n - c)
    draws = list(itertools.combinations(outcomes, k))
    some, every = pass_at_k(tasks([c], [n]), k), pass_hat_k(tasks([c], [n]), k)
    if k > n:
        assert (some.exact, every.exact) == (None, None)
        return
    assert some.exact == Fraction(sum(any(d) for d in draws), len(draws))
    assert every.exact == Fraction(sum(all(d) for d in draws), len(draws))


def test_human_evals_product_form():
    # Chen et al. (2021), fig. 3: 1 - prod(1 - k / i, i = n - c + 1 .. n), for n = 200.
    for c, k in ((1, 1), (17, 10), (150, 100), (3, 199)):
        product = 1.0 - math.prod(1.0 - k / i for i in range(200 - c + 1, 201))
        assert pass_at_k(tasks([c], [200]), k).value == pytest.approx(product, abs=1e-10)


def test_unbalanced_trials_are_unbiased():
    # E over Binomial(n, p) of the estimate is p^k, and 1 - (1-p)^k, whatever n ≥ k is.
    p = 0.3
    for n in (3, 5, 8):
        law = [stats.binom.pmf(c, n, p) for c in range(n + 1)]
        hat = sum(w * pass_hat_k(tasks([c], [n]), 3).value for c, w in enumerate(law))
        at = sum(w * pass_at_k(tasks([c], [n]), 3).value for c, w in enumerate(law))
        assert (hat, at) == pytest.approx((p**3, 1 - (1 - p) ** 3), rel=1e-10)


def test_tau_bench_airline_as_published():
    found = [pass_hat_k(airline(), k).value for k in (1, 2, 3, 4)]
    assert [round(v, 4) for v in found] == [0.4200, 0.2733, 0.2200, 0.2000]


@pytest.mark.shared
def test_tau_bench_airline_from_its_file(shared):
    path = shared / "logs/public/sierra-research__tau-bench/gpt-4o-airline.json"
    passed: dict[int, float] = {}
    for row in json.loads(path.read_text("utf-8")):
        passed[row["task_id"]] = passed.get(row["task_id"], 0) + row["reward"]
    assert {c: list(passed.values()).count(c) for c in range(5)} == AIRLINE


def test_once_of_one_is_the_rate_with_its_interval():
    rate = bounded_mean(airline())
    for rule in (pass_at_k, pass_hat_k):
        found = rule(airline(), 1)
        assert found.value == airline().rates()[0]
        assert (found.low, found.high) == pytest.approx((rate.low[0], rate.high[0]), rel=1e-12)
        assert found.method.startswith(rate.method)
    uneven = pass_hat_k(tasks([1, 4], [2, 8]), 1)
    assert "tasks have 2 to 8 trials and weigh alike here" in uneven.notes[0]
    assert not [n for n in pass_hat_k(tasks([1, 4], [2, 8]), 2).notes if "alike" in n]


def test_of_all_trials_or_none_the_interval_is_binomial_over_tasks():
    # k = n: a task passes or not, so that Clopper and Pearson's interval holds (SciPy).
    passed = sum(n for c, n in AIRLINE.items() if c == 4)
    found = pass_hat_k(airline(), 4)
    right = stats.binomtest(passed, 50).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((right.low, right.high), rel=1e-9)


def test_families_of_tasks_are_the_clusters_where_they_are_given():
    family = [str(k // 5) for k in range(50)]
    found = pass_hat_k(airline(), 2, cluster=family)
    assert found.value == pass_hat_k(airline(), 2).value
    means = np.array([float(v) for v in found.by_task.values()]).reshape(10, 5).mean(axis=1)
    for end in (found.low, found.high):
        assert bounded_mean_p(means, end) == pytest.approx(0.05, rel=1e-9)


def test_scores_that_only_sum_to_whole_numbers_are_refused():
    halves = Totals.from_arrays([2.0], [4], square=[1.5], clusters=["a"])  # .5, .5, 1, 0
    outside = Totals.from_arrays([1.0], [2], square=[5.0])  # 2 and -1
    for wrong, where in ((halves, "task a"), (outside, "task 0")):
        with pytest.raises(InputError, match=f"scores must be 0 or 1 for pass.*{where}"):
            pass_hat_k(wrong, 2)


def test_impossible_tasks_are_allowed_for_where_none_was_seen():
    """One task in ten is never solved, the rest every other time: many samples hide it."""
    runs, k, n = 1_500, 4, 8
    chance = Stream(4, "impossible tasks").uniform(replicates=runs, clusters=12)[:, :, 0]
    solved = Stream(4, "their trials").binomial(n, 0.5, replicates=runs, clusters=12)
    passed = np.where(chance < 0.1, 0, solved)
    truth = 0.9 * (1 - 0.5**k)
    of = np.array([1 - math.comb(n - c, k) / math.comb(n, k) for c in range(n + 1)])
    scores = of[passed].T
    totals = Totals.from_arrays(scores, np.ones(scores.shape), square=scores**2)
    one = pass_at_k(tasks(passed[7], [n] * 12), k)
    held = {}
    for method in (bounded_mean, wilson_clustered):
        ends = method(totals)
        held[method] = int(((ends.low <= truth) & (truth <= ends.high)).sum())
        if method is bounded_mean:
            assert (one.low, one.high) == pytest.approx((ends.low[7], ends.high[7]), rel=1e-12)
    promised = {m: stats.binomtest(h, runs, 0.95, "less").pvalue > 1e-3 for m, h in held.items()}
    assert promised == {bounded_mean: True, wilson_clustered: False}, held


def test_degenerate_and_wrong_input():
    every = pass_hat_k(tasks([4, 4, 4], [4, 4, 4]), 2)
    assert (every.value, every.high) == (1.0, 1.0)
    assert every.low < 1
    assert "all scores are equal" in " ".join(every.notes)
    one = pass_at_k(tasks([1], [4]), 2)
    assert (one.value, one.low) == (0.5, None)
    assert "one cluster" in " ".join(one.notes)
    with pytest.raises(InputError, match="k must be an integer >= 1"):
        pass_at_k(airline(), 0)
    with pytest.raises(InputError, match="tasks must be of one condition"):
        pass_at_k(Totals.from_arrays([[1, 2]], [[2, 2]]), 1)
    with pytest.raises(InputError, match="scores must be 0 or 1"):
        pass_at_k(Totals.from_arrays([0.5], [2], square=[0.25]), 1)
    with pytest.raises(InputError, match="cluster must be given for each of 50 tasks"):
        pass_at_k(airline(), 1, cluster=["a"])
    assert pass_at_k(airline(), 1).to_dict()["schema"] == "simtrack.pass-k/1"
