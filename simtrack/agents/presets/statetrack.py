"""StateTrack's models as recall agents, and its repairs and ledgers as outcome agents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from simtrack.agents.presets.cited import Input, Preset, block
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

_FOUND: Final = block("statetrack")
_NUMBERS: Final = _FOUND.numbers
#: Turns since the rule in the core benchmark.
DEPTHS: Final[tuple[int, ...]] = _FOUND.rows("depths")["core"]
#: Strict joint retention in percent by turn, then failures of 125, and those that recalled it.
MODELS: Final[dict[str, tuple[tuple[float, ...], int, int]]] = {
    model: (percent, *reversed(_FOUND.rows("recalled")[model]))
    for model, percent in _FOUND.rows("retention").items()
}
_AT_50: Final[Mapping[str, float]] = _FOUND.rows("at_50")
#: Collapsed probes, fully recovered, recovered at least in part, when the rule is restated.
RECOVERY: Final[dict[str, tuple[int, int, int]]] = {
    model: (n, full, partial) for model, (full, partial, n) in _FOUND.rows("recovery").items()
}
#: Retention at depth 12 without and with anchoring, and retries per violation where printed.
ANCHORING: Final[dict[str, tuple[float, float, float | None]]] = {
    model: (base, ssa, _FOUND.rows("retries").get(model))
    for model, (base, ssa) in _FOUND.rows("anchoring").items()
}
#: Of 35 answers after a rule was changed: stale, following the change.
LEDGER_ARMS: Final[dict[str, tuple[int, int]]] = {
    arm: (stale, clean) for arm, (stale, clean, _) in _FOUND.rows("ledger").items()
}
#: Shares of what anchoring recovers: prepending, predicates; verification is the rest.
_PREPEND, _PREDICATES = (share / 100 for share in _FOUND.rows("stages")["all"][:2])
_LAST, _DEEP = float(DEPTHS[-1]), float(_FOUND.rows("depths")["extended"])
#: The tables that a model's preset is made from.
_TABLES: Final = ("retention", "recalled", "at_50", "recovery", "anchoring", "retries")
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
    return Preset(model, agent, _inputs(model), _FOUND.about["model"].assumed)


def statetrack_recovery() -> Preset:
    """Which outcome agent stands for what restating the rule mends? Condition: `model`."""
    lines = [
        ({"model": model}, Reinstatement(full / n, partial / n).shares)
        for model, (n, full, partial) in RECOVERY.items()
    ]
    about = "fully, at least in part, of collapsed"
    found = {m: _NUMBERS["recovery"].input(m) for m in RECOVERY}
    inputs = tuple(replace(x, quantity=f"{about}, {m}") for m, x in found.items())
    return Preset("recovery", OutcomeAgent("recovery", lines), inputs, _ALIKE)


def statetrack_ledger() -> Preset:
    """Which outcome agent stands for answers after a rule was changed? Condition: `arm`.

    Arms: base (no ledger), stale (the ledger holds the revoked rule) and updated.
    """
    lines = [
        ({"arm": arm}, (stale / 35, clean / 35, (35 - stale - clean) / 35))
        for arm, (stale, clean) in LEDGER_ARMS.items()
    ]
    numbers = _NUMBERS["ledger"]
    inputs = tuple(numbers.input(arm) for arm in LEDGER_ARMS)
    return Preset("ledger", OutcomeAgent("ledger", lines), inputs, _ALIKE)


#: All that is assumed of the tables of outcomes: scenarios do not differ.
_ALIKE: Final = _FOUND.about["model"].assumed[-1:]


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
    found = [_NUMBERS[name].input(model) for name in _TABLES if model in _NUMBERS[name].rows]
    if model in ANCHORING:
        place = 1 + found.index(_NUMBERS["anchoring"].input(model))
        found.insert(place, _NUMBERS["stages"].input())
    return tuple(found)
