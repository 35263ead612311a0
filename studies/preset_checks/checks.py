"""Presets against published numbers that they were not made from.

python studies/preset_checks/checks.py writes table.csv and table.md beside itself.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from simtrack.agents.gate.chain import OUTCOMES
from simtrack.agents.presets.gate import B1, B2_OK, REPLAYED, gate_preset, marker_gate_fit
from simtrack.agents.presets.rebind import REPETITIONS, TASKS, rebind
from simtrack.agents.presets.statetrack import MODELS, RECOVERY, statetrack
from simtrack.agents.relapse.exact import contrast_moments, joint_relapse, pair_law
from simtrack.agents.relapse.probe import probe_discrimination
from simtrack.design import Design
from simtrack.estimands import CATALOGUE, Contrast, Estimand

HERE = Path(__file__).resolve().parent
NORMAL_95 = 3.92  # the width of a 95 % normal interval in standard errors
PROBES = 25  # of a StateTrack model at a depth
#: SD of the log of a standard error from 67 tasks, if their contrasts were normal.
LOG_SE = 1.0 / math.sqrt(2.0 * (TASKS - 1))
BARE, DELAYED = {"arm": "bare"}, {"condition": "delayed"}
SLICES = ("immediate", "delayed")
HEAD = "| quantity | role | predicted | published | se | z | made from | source | note |"


@dataclass(frozen=True)
class Check:
    """One published number beside its prediction.

    `role` is "check" (counts in Σz²), "dependent" (shares its data with other checks) or
    "arithmetic" (the inputs and it are one data set: agreement shows only that they were read
    rightly).
    """

    block: str
    quantity: str
    role: str
    predicted: float
    published: float
    se: float | None
    z: float | None
    made_from: str
    source: str
    note: str = ""


def check(
    block: str, quantity: str, predicted: float, published: float, se: float | None,
    made_from: str, source: str, note: str = "", role: str = "check",
) -> Check:  # fmt: skip
    z = (published - predicted) / se if se else None
    return Check(block, quantity, role, predicted, published, se, z, made_from, source, note)


def binomial_se(p: float, n: float) -> float:
    return math.sqrt(p * (1.0 - p) / n)


def counted(
    block: str, quantity: str, p: float, n: int, seen: int, made_from: str, source: str
) -> Check:
    """A count with its exact binomial law: z is the normal deviate of its mid-p."""
    weights = [math.comb(n, k) * p**k * (1.0 - p) ** (n - k) for k in range(n + 1)]
    low = sum(weights[:seen]) + 0.5 * weights[seen]
    z = NormalDist().inv_cdf(min(max(low, 1e-300), 1.0 - 1e-16))
    note = "z from the mid-p of the exact binomial law"
    se = math.sqrt(n * p * (1 - p))
    return Check(block, quantity, "check", n * p, seen, se, z, made_from, source, note)


def value(agent: Any, name: str, design: Design) -> float:
    what = CATALOGUE[name]
    if not isinstance(what, Estimand | Contrast):
        raise TypeError(name)
    return agent.expectation(what, design)


# --- StateTrack ---------------------------------------------------------------------------------

TABLE_12 = {
    "DeepSeek-v4-Flash": ((20, 1.0), (30, 0.975)),
    "GPT-5.4": ((20, 0.925), (30, 0.875)),
    "Gemini-3.1-Pro": ((20, 0.475), (30, 0.40)),
}
COLLAPSES_30_50 = {"DeepSeek-v4-Flash": 3, "GPT-5.4": 12, "Gemini-3.1-Pro": 51}
TABLE_14 = {"GPT-5.4": 0.976, "Claude-Sonnet-4-6": 0.92, "Gemini-3.1-Pro": 0.656,
            "Qwen3.6-Plus": 0.976}  # fmt: skip
TABLE_13 = {"GPT-5.4": 0.933, "Claude-Sonnet-4-6": 0.90, "Gemini-3.1-Pro": 0.633}


def statetrack_checks() -> Iterator[Check]:
    cells = "Table 5 turn cells"
    for model, (percent, failures, _) in MODELS.items():
        predicted = sum(PROBES * (1.0 - p / 100.0) for p in percent)
        se = math.sqrt(sum(PROBES * (p / 100.0) * (1 - p / 100.0) for p in percent)) or None
        yield check("StateTrack", f"failures of 125, {model}", predicted, failures, se, cells,
                    "table6_sic_decomposition.csv", "one data set", "arithmetic")  # fmt: skip
    for model, points in TABLE_12.items():
        agent = statetrack(model).agent
        at = {t: value(agent, "strict_retention", Design(1, 1, {"depth": (f"{t}",)}))
              for t in (12, 20, 30, 50)}  # fmt: skip
        for depth, published in points:
            f = (depth - 12) / 38
            # the line's own error: 25 probes at turn 12, 40 at depth 50
            own = (1 - f) * binomial_se(at[12], PROBES), f * binomial_se(at[50], 40)
            se = math.hypot(binomial_se(at[depth], 40), *own)
            yield check("StateTrack", f"retention at depth {depth}, {model}", at[depth], published,
                        se, "Table 5 turn 12, Table 12 depth 50", "table12_extended_depth.csv",
                        "a straight line beyond turn 12")  # fmt: skip
    n = sum(COLLAPSES_30_50.values())
    shares = {m: MODELS[m][2] / MODELS[m][1] if MODELS[m][1] else 1.0 for m in COLLAPSES_30_50}
    predicted = sum(k * shares[m] for m, k in COLLAPSES_30_50.items()) / n
    yield check("StateTrack", "integrity share of failures at depths 30 and 50", predicted, 0.913,
                binomial_se(predicted, n), "Table 6 shares, weighted by Table 12 collapses",
                "text_claims.csv, ST103", f"of {n} collapses; 0.913 fits no k/{n}")  # fmt: skip
    for model, published in TABLE_14.items():
        design = Design(1, 1, {"depth": ("12",), "arm": ("reinstate",)})
        predicted = value(statetrack(model).agent, "strict_retention", design)
        lost, (k, full, _) = 1 - MODELS[model][0][-1] / 100, RECOVERY[model]
        own = lost * binomial_se(full / k, k)
        yield check("StateTrack", f"retention at 12 when restated, {model}", predicted, published,
                    math.hypot(binomial_se(predicted, PROBES), own),
                    "Table 5 turn 12, Table 7 full recovery", "table14_ssa.csv",
                    "n is not printed: 25 probes assumed")  # fmt: skip
    for model, published in TABLE_13.items():
        p = sum(MODELS[model][0]) / 500
        se = math.hypot(binomial_se(p, 30), binomial_se(p, 125))
        yield check("StateTrack", f"retention, English pilot, {model}", p, published, se, cells,
                    "table13_crosslingual.csv", "30 scenarios of its own")  # fmt: skip


# --- ReBIND -------------------------------------------------------------------------------------


def task_se(agent: Any, first: dict[str, str], second: dict[str, str] | None) -> float:
    """Standard error of an arm's rate, or of two arms' contrast, over 67 tasks of two slices."""
    sides = ((0.5, first),) if second is None else ((0.5, first), (-0.5, second))
    terms = [(w, {**side, "condition": c}) for c in SLICES for w, side in sides]
    return math.sqrt(contrast_moments(agent, terms, REPETITIONS)[1] / TASKS)


def width(name: str, predicted: float, low: float, high: float, made_from: str,
          note: str = "") -> Check:  # fmt: skip
    """A printed interval's standard error beside the predicted one, on the log scale."""
    found = (high - low) / NORMAL_95
    z = math.log(found / predicted) / LOG_SE
    return Check("ReBIND widths", f"standard error, {name}", "check", predicted, found,
                 predicted * LOG_SE, z, made_from, "contrasts.csv", note)  # fmt: skip


def rebind_checks() -> Iterator[Check]:
    grid, depth = rebind("load-grid").agent, rebind("depth").agent
    base, law = BARE | DELAYED, "load contrast and prevalence widths"
    points = "load grid, " + law
    yield check("ReBIND", "load contrast, m = 8 minus 2", 0.403 - 0.011, 0.392, 0.0467,
                "load grid", "contrasts.csv", "one data set", "arithmetic")  # fmt: skip
    pair = pair_law(grid, base | {"load": "8"}, base | {"load": "2"}, REPETITIONS)
    i, j = np.indices(pair.shape)
    for name, where, seen in (("up", i > j, 45), ("down", i < j, 1)):
        yield counted("ReBIND", f"tasks {name}, load contrast, of 67", float(pair[where].sum()),
                      TASKS, seen, points, "text_claims.csv, RB05, RB06")  # fmt: skip
    arm = task_se(grid, BARE | {"load": "5"}, None)
    slice_se = math.sqrt(
        contrast_moments(grid, [(1.0, base | {"load": "5"})], REPETITIONS)[1] / TASKS
    )
    for name, found, own, source in (
        ("prevalence at revocation, load 5", 0.233, 0.0344, "text_claims.csv, RB47"),
        ("relapse under a blind verifier, load 5", 0.250, arm, "table2_arms.csv"),
    ):
        yield check("ReBIND", name, 0.238, found, math.hypot(own, slice_se),
                    "load grid at load 5, bare", source,
                    "if delayed and immediate slices relapse alike")  # fmt: skip
    yield from restoration_checks()
    drift = (0.036 + 0.075) / NORMAL_95
    yield check("ReBIND", "prevalence, deepest minus shallowest", 0.0, -0.017, drift,
                "stationary status", "contrasts.csv")  # fmt: skip
    area = probe_discrimination(depth, {}, 21)
    for name, found, role in (
        ("AUROC at h = 8", 0.897, "check"),
        ("AUROC at another horizon, first", 0.915, "dependent"),
        ("AUROC at another horizon, second", 0.831, "dependent"),
    ):
        yield check("ReBIND", name, area.auroc or math.nan, found, (0.963 - 0.829) / NORMAL_95,
                    f"prevalence, {law}; 21 rounds a probe", "text_claims.csv, RB09 to RB12",
                    f"a probe that knew propensities: {area.ceiling:.3f}", role)  # fmt: skip
    yield check("ReBIND", "worst case, bare minus compiled", 0.135 - 0.060, 0.075,
                (0.133 - 0.020) / NORMAL_95, "Table 2 arms", "contrasts.csv",
                "one data set", "arithmetic")  # fmt: skip
    yield from width_checks()


def restoration_checks() -> Iterator[Check]:
    agent = rebind("restoration").agent
    for arm, k, low, high in (("blind", 77, 0.134, 0.251), ("verifier", 5, 0.0025, 0.0224)):
        joint = joint_relapse(agent, {"arm": arm}, {"arm": "compiled"})
        predicted = float(joint[1, 0] - joint[0, 1])
        yield check("ReBIND", f"{arm} minus compiled, {k}/402", predicted, k / 402,
                    (high - low) / NORMAL_95, "Table 2 arm rates", "contrasts.csv",
                    "printed over all 402 episodes; the arm rates are over fewer")  # fmt: skip


def width_checks() -> Iterator[Check]:
    notes, law = rebind("notes").agent, "Table 2 arm rates, load contrast and prevalence widths"
    for a, b, low, high in (
        ("bare", "tombstone", 0.013, 0.085),
        ("placebo", "tombstone", 0.018, 0.090),
        ("tombstone", "positive", 0.010, 0.075),
        ("bare", "placebo", -0.045, 0.040),
    ):
        se = task_se(notes, {"arm": a}, {"arm": b})
        yield width(f"{a} minus {b}", se, low, high, law)
    agent = rebind("restoration").agent
    for arm, low, high in (("blind", 0.134, 0.251), ("verifier", 0.0025, 0.0224)):
        se = task_se(agent, {"arm": arm}, {"arm": "compiled"})
        note = "rare and in few tasks: no normal law" if arm == "verifier" else ""
        yield width(f"{arm} minus compiled", se, low, high, law, note)
    p = rebind("depth").agent
    terms = [
        (w, {"condition": c, "depth": h}) for c in SLICES for w, h in ((0.5, "8"), (-0.5, "0"))
    ]
    se = math.sqrt(contrast_moments(p, terms, REPETITIONS)[1] / TASKS)
    yield width("deepest minus shallowest", se, -0.075, 0.036, "prevalence and its width",
                "no persistence makes this the widest that a stationary chain can be")  # fmt: skip


# --- StageIF gates ------------------------------------------------------------------------------


def completes(*counts: float) -> float:
    """The chance to call both tools without a message, from outcomes under B1."""
    return (1.0 - marker_gate_fit(*counts)[2]) ** 2  # type: ignore[arg-type]


def multinomial_se(f: Callable[..., float], counts: Sequence[int]) -> float:
    """The delta method: how far is f off, for counts of this size?"""
    n, h = sum(counts), 0.01
    slope = []
    for k, count in enumerate(counts):
        up, down = list(map(float, counts)), list(map(float, counts))
        up[k], down[k] = count + h, max(0.0, count - h)
        slope.append(n * (f(*up) - f(*down)) / (up[k] - down[k]))
    shares = [count / n for count in counts]
    mean = sum(p * s for p, s in zip(shares, slope, strict=True))
    return math.sqrt(sum(p * (s - mean) ** 2 for p, s in zip(shares, slope, strict=True)) / n)


def gate_checks() -> Iterator[Check]:
    made, variances, total = "Table 20, outcomes under B1", 0.0, 0.0
    for name, counts in B1.items():
        found = gate_preset(name).agent.outcome({"gate": "B2"})
        p = float(found[OUTCOMES.index("TASK_OK")])
        se = math.hypot(binomial_se(p, 72), multinomial_se(completes, counts))
        variances, total = variances + se * se / 64, total + p / 8
        yield check("StageIF gates", f"success under B2, {name}", p, B2_OK[name] / 72, se, made,
                    "table20_counts.csv")  # fmt: skip
    yield check("StageIF gates", "B2 minus B1, all deployments", total - 0.408, 0.130,
                math.sqrt(variances), made, "text_claims.csv, SI130",
                "the mean of the eight above", "dependent")  # fmt: skip
    (ok, dead, premature, other), free = REPLAYED
    p, stopped = completes(ok, dead, premature, other), dead + premature
    # given the 114 that passed the gate, only the stopped ones are open
    own = stopped * multinomial_se(completes, REPLAYED[0])
    yield check("StageIF gates", "replay without a gate on markers, of 336", ok + stopped * p,
                free, math.hypot(stopped * binomial_se(p, stopped), own),
                "App. V, model-emitted gate", "appendix_v_replay.csv",
                "stopped rollouts go on as the others do")  # fmt: skip


# --- tables -------------------------------------------------------------------------------------


def all_checks() -> list[Check]:
    """All rows; stageif.py beside this file may add those of the StageIF cells: rows(Check)."""
    found = [*statetrack_checks(), *rebind_checks(), *gate_checks()]
    extra = HERE / "stageif.py"
    if extra.is_file():
        spec = importlib.util.spec_from_file_location("preset_checks_stageif", extra)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            found += module.rows(Check)
    return found


def number(value: float | None) -> str:
    """Four digits; what rounding leaves of a zero is a zero."""
    return "" if value is None else f"{round(value, 9) + 0.0:.4g}"


def as_csv(checks: Sequence[Check]) -> str:
    names = [f.name for f in fields(Check)]
    lines = [",".join(names)]
    for row in checks:
        cells = [getattr(row, n) for n in names]
        shown = [number(c) if isinstance(c, float | int) or c is None else c for c in cells]
        lines.append(",".join(f'"{c}"' if "," in c else c for c in shown))
    return "\n".join(lines) + "\n"


def sums(checks: Sequence[Check]) -> list[tuple[str, float, int, float]]:
    """By block: Σz², its degrees of freedom, and the chance of more."""
    from scipy.stats import chi2

    found = []
    for block in dict.fromkeys(row.block for row in checks):
        z = [r.z for r in checks if r.block == block and r.role == "check" and r.z is not None]
        total = sum(v * v for v in z)
        found.append((block, total, len(z), float(chi2.sf(total, len(z))) if z else math.nan))
    return found


def as_markdown(checks: Sequence[Check]) -> str:
    parts = [(HERE / "about.md").read_text(encoding="utf-8").rstrip(), "\n## Σz² by block\n"]
    parts += ["| block | Σz² | df | P(more) |", "|---|---|---|---|"]
    parts += [f"| {b} | {t:.1f} | {df} | {p:.2g} |" for b, t, df, p in sums(checks)]
    for block in dict.fromkeys(row.block for row in checks):
        parts += [f"\n## {block}\n", HEAD, "|---|---|---|---|---|---|---|---|---|"]
        for r in (row for row in checks if row.block == block):
            z = "" if r.z is None else f"{round(r.z, 9) + 0.0:+.2f}"
            cells = [r.quantity, r.role, number(r.predicted), number(r.published), number(r.se), z,
                     r.made_from, r.source, r.note]  # fmt: skip
            parts.append("| " + " | ".join(cells) + " |")
    return "\n".join(parts) + "\n"


def main() -> None:
    checks = all_checks()
    (HERE / "table.csv").write_text(as_csv(checks), encoding="utf-8")
    (HERE / "table.md").write_text(as_markdown(checks), encoding="utf-8")
    for block, total, df, p in sums(checks):
        sys.stdout.write(f"{block}: sum of z^2 {total:.1f} on {df}, P = {p:.2g}\n")


if __name__ == "__main__":
    main()
