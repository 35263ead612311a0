"""tau-bench and tau2-bench: published files give their golden numbers, losses are classes."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from simtrack.counts import Totals
from simtrack.errors import DataError, InputError
from simtrack.inference import pass_hat_k
from simtrack.logs import read_log, read_logs
from simtrack.records import account

#: The reference values are stated to four figures.
STATED = 5e-5


def simulation(task, trial, reward, end="user_stop", **more):
    info = None if reward is None else {"reward": reward, "reward_breakdown": {"DB": reward}}
    return {
        "id": f"{task}-{trial}",
        "task_id": task,
        "trial": trial,
        "seed": 7,
        "termination_reason": end,
        "reward_info": info,
        "agent_cost": 0.5,
        "duration": 2.0,
        "messages": [
            {"role": "user", "usage": {"prompt_tokens": 99, "completion_tokens": 99}},
            {"role": "assistant", "usage": {"prompt_tokens": 10, "completion_tokens": 3}},
            {"role": "assistant", "usage": {"prompt_tokens": 20, "completion_tokens": 4}},
        ],
    } | more


def results(tasks, trials, simulations, **more):
    return {
        "timestamp": "2026-01-01T00:00:00",
        "info": {
            "git_commit": "abc",
            "num_trials": trials,
            "agent_info": {"implementation": "llm_agent", "llm": "m1"},
            "user_info": {"implementation": "user_simulator", "llm": "u1"},
            "environment_info": {"domain_name": "airline"},
        },
        "tasks": [{"id": t} for t in tasks],
        "simulations": simulations,
    } | more


@pytest.fixture
def write(tmp_path):
    def made(content, name="run.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
        return path

    return made


def test_lost_infrastructure_is_counted_and_not_averaged_away(write):
    """Case H23: 3 tasks × 2 trials, T1 [1, infra], T2 [0, 1], T3 [infra, infra]."""
    gone = "infrastructure_error"
    rows = [
        simulation("T1", 0, 1.0),
        simulation("T1", 1, None, gone),
        simulation("T2", 0, 0.0),
        simulation("T2", 1, 1.0),
        simulation("T3", 0, None, gone),
        simulation("T3", 1, 0.0, gone),
    ]
    records = read_log(write(results(["T1", "T2", "T3"], 2, rows)))
    table = account(records)
    assert (table.planned, table.total("scored"), table.total("infrastructure")) == (6, 3, 3)
    assert any("3 of 6 planned trials were lost to infrastructure" in n for n in records.notes)
    per_task = by_task(records)
    assert per_task == {"T1": [1.0], "T2": [0.0, 1.0]}
    assert str(pass_hat_k(totals(per_task), 1).exact) == "3/4"
    two = pass_hat_k(totals(per_task), 2)
    assert (str(two.exact), two.not_estimable) == ("0", ("T1",))
    scored = sum(sum(v) for v in per_task.values())
    lost = table.total("infrastructure")
    assert (scored / 6, (scored + lost) / 6) == (1 / 3, 5 / 6)


def totals(per_task):
    passed = [int(sum(v)) for v in per_task.values()]
    trials = [len(v) for v in per_task.values()]
    return Totals.from_arrays(passed, trials, clusters=list(per_task))


def by_task(records):
    found: dict[str, list[float]] = {}
    values = records.numbers["value"].tolist()
    for task, value in zip(records.factor("unit").values(), values, strict=True):
        if not math.isnan(value):
            found.setdefault(task, []).append(value)
    return found


def test_every_end_has_its_class(write):
    ends = {
        "agent_error": "errored",
        "user_error": "errored",
        "unexpected_error": "errored",
        "infrastructure_error": "infrastructure",
        "max_steps": "scored",
        "too_many_errors": "scored",
        "agent_stop": "scored",
        "user_stop": "scored",
    }
    rows = [simulation(end, 0, 0.0, end) for end in ends]
    records = read_log(write(results(list(ends), 1, rows)))
    found = dict(
        zip(records.factor("unit").values(), records.factor("status").values(), strict=True)
    )
    assert found == ends
    without = [simulation("a", 0, None, "max_steps"), simulation("b", 0, None)]
    records = read_log(write(results(["a", "b"], 1, without)))
    assert records.factor("status").values() == ["limited", "unscored"]


def test_the_plan_is_trials_times_tasks(write):
    rows = [simulation("b", 1, 1.0), simulation("a", 0, 0.0)]
    records = read_log(write(results(["a", "b"], 3, rows)))
    table = account(records)
    assert (table.planned, table.total("scored"), table.total("missing")) == (6, 2, 4)
    assert records.losses.entries[0].examples[:2] == ("b trial 0", "a trial 1")
    assert records.factor("unit").values() == ["b", "a"]
    empty = read_log(write(results(["a", "b"], 4, [])))
    assert len(empty) == 0
    assert account(empty).total("missing") == 8


def test_success_is_a_reward_of_one_and_no_less(write):
    rewards = [1.0, 1.0 - 5e-7, 0.999, 0.5, 0.0]
    rows = [simulation(f"t{k}", 0, r) for k, r in enumerate(rewards)]
    path = write(results([f"t{k}" for k in range(5)], 1, rows))
    assert read_log(path).numbers["value"].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert read_log(path, metric="reward").numbers["value"].tolist() == rewards
    assert read_log(path, metric="reward.DB").factor("metric").levels == ("reward.DB",)
    with pytest.raises(InputError, match=r"metric must be one of success, reward, reward\.DB"):
        read_log(path, metric="speed")


def test_columns_hold_the_agents_tokens_cost_and_time(write):
    row = simulation("a", 0, 1.0)
    free = simulation("b", 0, 1.0, agent_cost=0.0)
    records = read_log(write(results(["a", "b"], 1, [row, free])))
    taken = {n: records.numbers[n][0] for n in ("tokens_in", "tokens_out", "duration_s", "turns")}
    assert taken == {"tokens_in": 30, "tokens_out": 7, "duration_s": 2.0, "turns": 3}
    assert records.numbers["cost_usd"][0] == 0.5
    assert math.isnan(records.numbers["cost_usd"][1])
    assert records.factor("model").levels == ("m1",)
    assert records.factor("task").levels == ("airline",)


def test_telecom_ids_give_family_issues_and_persona(write):
    task = "[service_issue]airplane_mode_on|lock_sim_card_pin[PERSONA:Easy]"
    records = read_log(
        write(results([task, "7"], 1, [simulation(task, 0, 1), simulation(7, 0, 1)]))
    )
    got = {n: records.factor(n).values() for n in ("unit", "family", "issues", "persona")}
    assert got == {
        "unit": [task, "7"],
        "family": ["service_issue", None],
        "issues": ["2", None],
        "persona": ["Easy", None],
    }


def test_the_folder_form_is_one_run_and_counts_once(write, tmp_path):
    sims = [simulation("a", 0, 1.0), simulation("a", 1, 0.0), simulation("b", 0, 1.0)]
    index = [
        {"id": s["id"], "task_id": s["task_id"], "trial": s["trial"],
         "reward": s["reward_info"]["reward"], "termination_reason": "user_stop",
         "agent_cost": 0.5, "duration": 2.0}
        for s in sims
    ]  # fmt: skip
    whole = results(["a", "b"], 2, None, simulation_index=index)
    path = write(whole, "run/results.json")
    for s in sims[:2]:
        write(s, f"run/simulations/{s['id']}.json")
    records = read_logs([tmp_path / "run"])
    table = account(records)
    assert (table.planned, table.total("scored"), table.total("missing")) == (4, 3, 1)
    assert any("1 simulations are known from the index alone" in n for n in records.notes)
    quick = read_log(path, detail="summaries")
    assert sorted(quick.numbers["value"]) == sorted(records.numbers["value"])
    assert "tokens_in" not in quick.numbers
    with pytest.raises(DataError, match=r"Give results.json"):
        read_log(tmp_path / "run" / "simulations" / "a-0.json")


def test_a_plan_without_its_folder_and_a_trial_that_stands_twice_are_refused(write):
    with pytest.raises(DataError, match="Copy that folder too"):
        read_log(write(results([], 1, None)))
    rows = [simulation("a", 0, 1.0), simulation("a", 0, 0.0)]
    with pytest.raises(DataError, match=r"task a, trial 0 occurs more than once \(1 such\)"):
        read_log(write(results(["a"], 1, rows)))


def test_trials_without_a_number_are_counted_within_their_task(write):
    rows = [simulation("a", None, 1.0), simulation("b", None, 1.0), simulation("a", None, 0.0)]
    records = read_log(write(results(["a", "b"], 2, rows)))
    assert records.factor("repetition").values() == ["0", "0", "1"]
    assert account(records).total("missing") == 1


def test_a_broken_trajectory_of_the_first_version_is_errored(write):
    rows = [
        {"task_id": 0, "trial": 0, "reward": 1.0, "info": {"task": {}}, "traj": []},
        {"task_id": 0, "trial": 1, "reward": 0.0, "info": {"error": "boom\nlong"}, "traj": []},
        {"task_id": 1, "trial": 0, "reward": 0.0, "info": {}, "traj": []},
    ]
    records = read_log(write(rows))
    table = account(records)
    counts = [table.total(s) for s in ("scored", "errored", "missing")]
    assert (table.planned, counts) == (4, [2, 1, 1])
    assert records.factor("reason").values() == [None, "boom", None]


def errors_of(records):
    """Naive and clustered standard error of the mean: n - 1, and CR1 with units as clusters."""
    values = records.numbers["value"]
    units = records.factor("unit").codes
    groups = np.unique(units).size
    sums = np.bincount(units, values - values.mean())
    naive = values.std(ddof=1) / math.sqrt(values.size)
    return naive, math.sqrt((sums**2).sum() * groups / (groups - 1)) / values.size


@pytest.mark.shared
def test_tau_bench_airline_has_its_golden_numbers(shared):
    records = read_log(next((shared / "logs").rglob("gpt-4o-airline.json")))
    assert account(records).planned == 200
    naive, clustered = errors_of(records)
    assert records.numbers["value"].mean() == pytest.approx(0.42)
    assert naive == pytest.approx(0.0350, abs=STATED)
    assert clustered == pytest.approx(0.0522, abs=STATED)
    tasks = totals(by_task(records))
    found = [float(pass_hat_k(tasks, k).exact) for k in (1, 2, 3, 4)]
    assert found == pytest.approx([0.42, 0.2733, 0.22, 0.20], abs=STATED)


@pytest.mark.shared
def test_tau2_telecom_of_five_tasks_has_its_golden_numbers(shared):
    name = "gpt-4.1-2025-04-14_telecom_no-user_gpt-4.1-2025-04-14_4trials_5tasks.json"
    records = read_log(next((shared / "logs").rglob(name)))
    naive, clustered = errors_of(records)
    assert records.numbers["value"].mean() == pytest.approx(0.80)
    assert naive == pytest.approx(0.0918, abs=STATED)
    assert clustered == pytest.approx(0.2000, abs=STATED)
    crashed = read_log(next((shared / "logs").rglob(f"qwen2.5_1.5b{name[18:]}")))
    assert account(crashed).total("missing") == account(crashed).planned == 20


@pytest.mark.shared
def test_tau2_base_against_tuned_has_its_exact_p(shared):
    folder = shared / "logs" / "public" / "sierra-research__tau2-bench"
    paths = sorted(folder.glob("*telecom_no-user_gpt-4.1_1trials.json"))
    records = read_logs(paths)
    counts = records.counts(pair="model", on=("unit", "repetition"))
    n = dict(zip(counts.outcomes, counts.cells.sum(axis=0).tolist(), strict=True))
    discordant = sorted((n.get("FAIL|PASS", 0), n.get("PASS|FAIL", 0)))
    assert discordant == [2, 16]
    p = 2 * sum(math.comb(18, k) for k in range(3)) / 2**18
    assert p == pytest.approx(0.001312, abs=5e-7)
    families = records.factor("family")
    sizes = np.bincount(families.codes[: len(records) // 2]).tolist()
    assert sorted(sizes) == [9, 15, 16]
    assert len(records.factor("persona").compact().levels) == 3
