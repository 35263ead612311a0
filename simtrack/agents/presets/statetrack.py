"""StateTrack's models as recall agents.

Tables 3, 5 and 6 and the category averages of the text (section 4) fit one set of 79 failures of
875; Tables 4 and 10 imply 92.2 and cells that 25 probes cannot give. So the turn cells of Table 5
and the failures of Table 6 are followed, and Tables 4 and 10 are not.
"""

from __future__ import annotations

import math
from typing import Final

from simtrack.agents.presets.cited import Input, Preset
from simtrack.agents.recall.agent import RecallAgent
from simtrack.agents.recall.outcomes import OutcomeAgent
from simtrack.agents.recall.repair import Anchoring, Reinstatement
from simtrack.errors import InputError

__all__ = [
    "ANCHORING",
    "DEPTHS",
    "LEDGER_ARMS",
    "MODELS",
    "RECOVERY",
    "statetrack",
    "statetrack_ledger",
    "statetrack_recovery",
]

#: Turns since the rule in the core benchmark.
DEPTHS: Final = (3, 5, 7, 10, 12)
#: Strict joint retention in percent by turn (statetrack/table5_model_turn.csv), then failures of
#: 125, and those that recalled the rule (statetrack/table6_sic_decomposition.csv).
MODELS: Final = {
    "DeepSeek-v4-Flash": ((100.0, 100.0, 100.0, 100.0, 100.0), 0, 0),
    "GPT-5.4-mini": ((96.0, 100.0, 100.0, 96.0, 100.0), 2, 2),
    "DeepSeek-v4-Pro": ((92.0, 100.0, 96.0, 96.0, 96.0), 5, 4),
    "Qwen3.6-Plus": ((92.0, 96.0, 96.0, 96.0, 96.0), 6, 5),
    "GPT-5.4": ((100.0, 92.0, 92.0, 92.0, 96.0), 7, 6),
    "Claude-Sonnet-4-6": ((92.0, 92.0, 88.0, 92.0, 88.0), 12, 10),
    "Gemini-3.1-Pro": ((64.0, 63.0, 63.0, 68.0, 54.0), 47, 43),
}
#: Retention in percent at depth 50, of 40 (statetrack/table12_extended_depth.csv).
_AT_50: Final = {"DeepSeek-v4-Flash": 95.0, "GPT-5.4": 82.5, "Gemini-3.1-Pro": 32.5}
#: Collapsed probes, fully recovered, recovered at least in part, when the rule is restated
#: (statetrack/table7_reinstatement.csv: percentages times n_collapsed).
RECOVERY: Final = {
    "Gemini-3.1-Pro": (47, 25, 38),
    "Claude-Sonnet-4-6": (12, 9, 11),
    "GPT-5.4": (7, 5, 6),
    "GPT-5.4-mini": (2, 2, 2),
    "DeepSeek-v4-Pro": (5, 4, 5),
    "Qwen3.6-Plus": (6, 4, 5),
}
#: Retention at depth 12 without and with anchoring (statetrack/table14_ssa.csv), and retries per
#: violation where printed (statetrack/text_claims.csv, ST112 and ST113).
ANCHORING: Final = {
    "GPT-5.4": (96.0, 99.2, 0.2),
    "Claude-Sonnet-4-6": (88.0, 96.0, None),
    "Gemini-3.1-Pro": (54.0, 78.4, 1.3),
    "Qwen3.6-Plus": (96.0, 98.4, None),
}
#: Of 35 answers after a rule was changed: stale, following the change
#: (statetrack/table18_dynamic.csv; percentages times 35).
LEDGER_ARMS: Final = {"base": (1, 33), "stale": (26, 7), "updated": (0, 34)}
#: Shares of what anchoring recovers: prepending, predicates (statetrack/text_claims.csv, ST65 and
#: ST68); verification is the rest (ST70).
_PREPEND, _PREDICATES = 0.62, 0.14
_LAST, _DEEP = 12.0, 50.0
_CERTAIN: Final = 1e-12


def statetrack(model: str) -> Preset:
    """Which recall agent stands for a model of StateTrack?

    Conditions: `depth` 3 to 50, and `arm` base, reinstate or ssa where the paper has them. The
    paper's recall was asked after failures only, so R0B1 is 0 and `task` is 1: b stands for the
    strict joint, and `joint_drift` is Table 6's SIC+.

    Examples
    --------
    >>> preset = statetrack("Gemini-3.1-Pro")
    >>> preset.inputs[0].value
    '64.0 63.0 63.0 68.0 54.0'
    """
    if model not in MODELS:
        raise InputError("model", f"one of {', '.join(MODELS)}", repr(model))
    percent, failures, recalled = MODELS[model]
    share = recalled / failures if failures else 1.0
    lines = [
        ({"depth": f"{depth}"}, _cells(p / 100.0, share))
        for depth, p in zip(DEPTHS, percent, strict=True)
    ]
    last = percent[-1] / 100.0
    slope = (_AT_50[model] / 100.0 - last) / (_DEEP - _LAST) if model in _AT_50 else 0.0
    # P(b | r) moves by the slope; b is certain where r is not, so the joint moves by P(r) of it
    lines.append(({}, _cells(last, share)))
    recall = sum(lines[-1][1][:2])
    agent = RecallAgent(lines, slope=slope / recall, anchor_depth=_LAST, repairs=_repairs(model))
    return Preset(model, agent, _inputs(model), _ASSUMED)


def statetrack_recovery() -> Preset:
    """Which outcome agent stands for what restating the rule mends? Condition: `model`."""
    lines = [
        ({"model": model}, Reinstatement(full / n, partial / n).shares)
        for model, (n, full, partial) in RECOVERY.items()
    ]
    source = "statetrack/table7_reinstatement.csv"
    inputs = tuple(
        Input(f"fully, at least in part, of collapsed, {m}", f"{full}, {partial} of {n}", source)
        for m, (n, full, partial) in RECOVERY.items()
    )
    return Preset("recovery", OutcomeAgent("recovery", lines), inputs, _ASSUMED[-1:])


def statetrack_ledger() -> Preset:
    """Which outcome agent stands for answers after a rule was changed? Condition: `arm`.

    Arms: base (no ledger), stale (the ledger holds the revoked rule) and updated.
    """
    lines = [
        ({"arm": arm}, (stale / 35, clean / 35, (35 - stale - clean) / 35))
        for arm, (stale, clean) in LEDGER_ARMS.items()
    ]
    inputs = tuple(
        Input(f"stale, updated or clean, {arm}", f"{stale}, {clean} of 35",
              "statetrack/table18_dynamic.csv")
        for arm, (stale, clean) in LEDGER_ARMS.items()
    )  # fmt: skip
    return Preset("ledger", OutcomeAgent("ledger", lines), inputs, _ASSUMED[-1:])


_ASSUMED: Final = (
    "recall where the rule was kept: it was asked after failures only, so R0B1 = 0",
    "beyond turn 12 compliance falls in a straight line to depth 50; recall does not",
    "scenarios do not differ: no published number says how much they do",
)


def _cells(retention: float, recalled: float) -> tuple[float, float, float, float]:
    lost = 1.0 - retention
    return (retention, lost * recalled, 0.0, lost * (1.0 - recalled))


def _repairs(model: str) -> dict[str, Reinstatement | Anchoring]:
    found: dict[str, Reinstatement | Anchoring] = {}
    if model in RECOVERY:
        n, full, partial = RECOVERY[model]
        found["reinstate"] = Reinstatement(full / n, partial / n)
    if model in ANCHORING:
        found["ssa"] = _anchoring(*ANCHORING[model])
    return found


def _anchoring(base: float, ssa: float, retries: float | None) -> Anchoring:
    """Stages that recover what Table 14 shows, in the printed shares of it."""
    recovered = (ssa - base) / (100.0 - base)
    first, second = _PREPEND * recovered, _PREDICATES * recovered
    mended = (recovered - first - second) / (1.0 - first - second)
    if retries is None or mended > retries:
        # every violation seen: 1 - (1 - repair)^2 of them are mended by two retries
        return Anchoring(first, second, 1.0, 1.0 - (1.0 - mended) ** 0.5)
    repair = mended / retries  # mended = repair × retries per violation
    detect = _root(1.0 - repair, retries)
    return Anchoring(first, second, detect, repair)


def _root(again: float, retries: float) -> float:
    """The positive d with d + again d² = retries: a first and a second retry."""
    if again < _CERTAIN:
        return retries
    return (math.sqrt(1.0 + 4.0 * again * retries) - 1.0) / (2.0 * again)


def _inputs(model: str) -> tuple[Input, ...]:
    percent, failures, recalled = MODELS[model]
    cells = " ".join(map(str, percent))
    found = [
        Input("retention by turn 3 5 7 10 12, %", cells, "statetrack/table5_model_turn.csv"),
        Input(
            "failures that recall the rule", f"{recalled} of {failures}",
            "statetrack/table6_sic_decomposition.csv",
        ),
    ]  # fmt: skip
    if model in _AT_50:
        source = "statetrack/table12_extended_depth.csv"
        found.append(Input("retention at depth 50, %", f"{_AT_50[model]}", source))
    if model in RECOVERY:
        n, full, partial = RECOVERY[model]
        found.append(
            Input("recovered fully, at least in part, of collapsed", f"{full}, {partial} of {n}",
                  "statetrack/table7_reinstatement.csv")
        )  # fmt: skip
    if model in ANCHORING:
        base, ssa, retries = ANCHORING[model]
        source = "statetrack/table14_ssa.csv"
        found.append(Input("retention at 12, base and SSA, %", f"{base}, {ssa}", source))
        shares = "statetrack/text_claims.csv, ST65, ST68, ST70"
        found.append(Input("shares of the stages, %", "62, 14, 24", shares))
        if retries is not None:
            source = "statetrack/text_claims.csv, ST112, ST113"
            found.append(Input("retries per violation", f"{retries}", source))
    return tuple(found)
