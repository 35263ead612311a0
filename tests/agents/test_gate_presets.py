"""Presets carry the published numbers they say they carry, and give them back."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from itertools import pairwise

import pytest

from simtrack.agents import agent_from_dict
from simtrack.agents.presets.gate import B1, B2_OK, REPLAYED, gate_preset
from simtrack.agents.presets.rebind import REBIND, REPETITIONS, TASKS, rebind
from simtrack.agents.presets.statetrack import (
    ANCHORING,
    DEPTHS,
    LEDGER_ARMS,
    MODELS,
    RECOVERY,
    statetrack,
    statetrack_ledger,
    statetrack_recovery,
)
from simtrack.agents.relapse.exact import cell_shares, contrast_moments
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import CATALOGUE, Estimand

CLOSE = 1e-9
ROUNDED = 5.1e-4  # chances that were solved for are held to three or six digits


def rows(shared, name: str) -> list[dict[str, str]]:
    text = (shared / "reference" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def value(agent, name: str, design: Design) -> float:
    what = CATALOGUE[name]
    assert isinstance(what, Estimand)
    return agent.expectation(what, design)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_models_have_their_turn_cells_and_recalled_failures(model):
    percent, failures, recalled = MODELS[model]
    agent = statetrack(model).agent
    for depth, printed in zip(DEPTHS, percent, strict=True):
        found = value(agent, "strict_retention", Design(25, 1, {"depth": (f"{depth}",)}))
        assert 100 * found == pytest.approx(printed, abs=CLOSE)
    design = Design(25, 1, {"depth": tuple(map(str, DEPTHS))})
    share = value(agent, "integrity_failure_share", design)
    if failures:
        assert share == pytest.approx(recalled / failures, abs=CLOSE)
    else:
        assert math.isnan(share)


def test_depth_and_repairs_are_those_of_the_tables():
    deep = Design(40, 1, {"depth": ("50",)})
    assert value(statetrack("GPT-5.4").agent, "strict_retention", deep) == pytest.approx(0.825)
    assert value(statetrack("Gemini-3.1-Pro").agent, "strict_retention", deep) == pytest.approx(
        0.325
    )
    for model, (_, ssa, retries) in ANCHORING.items():
        agent = statetrack(model).agent
        design = Design(25, 1, {"depth": ("12",), "arm": ("ssa",)})
        assert value(agent, "strict_retention", design) == pytest.approx(ssa / 100, abs=CLOSE)
        stages = dict(agent.repairs)["ssa"].stages
        total = sum(stages)
        assert [s / total for s in stages] == pytest.approx([0.62, 0.14, 0.24])
        if model == "Gemini-3.1-Pro":
            assert dict(agent.repairs)["ssa"].retries_per_violation == pytest.approx(retries)


def test_rebind_blocks_give_back_their_arms():
    grid = rebind("load-grid").agent
    for load, printed in (("2", 0.011), ("5", 0.238), ("8", 0.403)):
        shares = cell_shares(grid, {"arm": "bare", "load": load})
        assert shares[2] / (1 - shares[0] - shares[1]) == pytest.approx(printed, abs=CLOSE)
    for arm, rate in (("blind", 0.250), ("verifier", 0.025), ("compiled", 0.0)):
        shares = cell_shares(rebind("restoration").agent, {"arm": arm})
        assert shares[2] / (1 - shares[1]) == pytest.approx(rate, abs=CLOSE)
    ladder = rebind("ladder").agent
    for arm, passed, broken in (
        ("verifier", 0.910, 0.030),
        ("fixed", 0.900, 0.012),
        ("adaptive", 0.893, 0.010),
    ):
        design = Design(67, 3, {"arm": (arm,)})
        assert value(ladder, "final_pass_rate", design) == pytest.approx(passed, abs=CLOSE)
        assert value(ladder, "parse_failure", design) == pytest.approx(broken, abs=CLOSE)


def test_rebind_heterogeneity_gives_the_two_printed_widths():
    # [.300, .483] and [.697, .832] over 67 tasks are 3.92 standard errors
    grid, depth = rebind("load-grid").agent, rebind("depth").agent
    base = {"arm": "bare", "condition": "delayed"}
    terms = [(1.0, base | {"load": "8"}), (-1.0, base | {"load": "2"})]
    found = math.sqrt(contrast_moments(grid, terms, REPETITIONS)[1] / TASKS)
    assert 3.92 * found == pytest.approx(0.483 - 0.300, abs=1e-3)
    level = [(0.5, {"condition": c}) for c in ("immediate", "delayed")]
    found = math.sqrt(contrast_moments(depth, level, REPETITIONS)[1] / TASKS)
    assert 3.92 * found == pytest.approx(0.832 - 0.697, abs=1e-3)


@pytest.mark.parametrize("deployment", sorted(B1))
def test_deployments_give_back_their_outcomes_under_b1(deployment):
    ok, dead, premature, stall = B1[deployment]
    n = ok + dead + premature + stall
    found = gate_preset(deployment).agent.outcome({"gate": "B1"})
    # transport takes half a percent of rollouts
    for k, count in ((5, ok), (1, dead), (2, premature), (3, stall)):
        assert found[k] / (1 - found[0]) == pytest.approx(count / n, abs=5e-3)


def test_the_runtime_owned_gates_succeed_as_printed():
    for gate, printed in (("A", 0.408), ("A_matched", 0.811)):
        found = [gate_preset(name).agent.outcome({"gate": gate})[5] for name in B1]
        assert sum(found) / 8 == pytest.approx(printed, abs=ROUNDED)


@pytest.mark.parametrize(
    "preset",
    [
        *(statetrack(m) for m in MODELS),
        *(rebind(b) for b in REBIND),
        *(gate_preset(d) for d in B1),
        statetrack_recovery(),
        statetrack_ledger(),
    ],
    ids=lambda preset: preset.name,
)
def test_presets_are_data_and_cite_their_sources(preset):
    assert agent_from_dict(preset.agent.to_dict()) == preset.agent
    assert preset.inputs
    for item in preset.inputs:
        assert item.source.split(",")[0].endswith(".csv")


@pytest.mark.parametrize(
    "call", [lambda: statetrack("x"), lambda: rebind("x"), lambda: gate_preset("x")]
)
def test_unknown_presets_are_refused_with_the_known_ones(call):
    with pytest.raises(InputError, match="must be one of"):
        call()


@pytest.mark.shared
def test_statetrack_numbers_are_those_of_the_tables(shared):
    turns = defaultdict(dict)
    for row in rows(shared, "statetrack/table5_model_turn.csv"):
        turns[row["model"]][int(row["turn"])] = float(row["value_percent"])
    assert {m: tuple(cells[d] for d in DEPTHS) for m, cells in turns.items()} == {
        m: cells for m, (cells, _, _) in MODELS.items()
    }
    for row in rows(shared, "statetrack/table6_sic_decomposition.csv"):
        if row["row_type"] == "model":
            expected = (int(row["failures"]), int(row["integrity_failures"]))
            assert MODELS[row["model"]][1:] == expected
    found = rows(shared, "statetrack/table7_reinstatement.csv")
    for row in found:
        n, full, partial = RECOVERY[row["model"]]
        counts = {"full_recovery": full, "partial_recovery_cumulative": partial}
        counts["no_recovery"] = n - partial
        assert int(row["n_collapsed"]) == n
        assert round(100 * counts[row["outcome"]] / n, 1) == float(row["value_percent"])
    ssa = {(r["model"], r["arm"]): r for r in rows(shared, "statetrack/table14_ssa.csv")}
    for model, (base, anchored, _) in ANCHORING.items():
        assert float(ssa[model, "baseline"]["value_percent"]) == base
        assert float(ssa[model, "ssa"]["value_percent"]) == anchored


@pytest.mark.shared
def test_ledger_numbers_are_those_of_the_table(shared):
    found = rows(shared, "statetrack/table18_dynamic.csv")
    for row, (arm, (stale, clean)) in zip(found, LEDGER_ARMS.items(), strict=True):
        assert int(row["stale_enforced"]) == stale
        assert round(100 * clean / 35, 1) == float(row["updated_clean_percent"])
        assert arm.split("_")[0] in row["condition"]


@pytest.mark.shared
def test_gate_numbers_are_those_of_the_table(shared):
    for row in rows(shared, "stageif/table20_counts.csv"):
        name, count = row["deployment"], int(row["count"])
        if row["gate"] == "B1_marker":
            order = ("task_ok", "dead_end", "premature_stop", "stall")
            assert B1[name][order.index(row["outcome"])] == count
        elif row["outcome"] == "task_ok":
            assert B2_OK[name] == count
    found = [int(r["count"]) for r in rows(shared, "stageif/appendix_v_replay.csv")]
    assert tuple(found[:4]) == REPLAYED[0]
    assert found[4] == REPLAYED[1]


@pytest.mark.shared
def test_rebind_numbers_are_those_of_the_tables(shared):
    printed = {r["arm"]: r["printed"] for r in rows(shared, "rebind/table2_arms.csv")}
    carried = {i.value for block in REBIND for i in rebind(block).inputs}
    assert set(printed.values()) <= carried
    grid = [r["printed"] for r in rows(shared, "rebind/load_grid.csv")[:3]]
    assert grid == [i.value for i in rebind("load-grid").inputs[:3]]
    assert all(float(a) < float(b) for a, b in pairwise(grid))
