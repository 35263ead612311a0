"""Run a study of kind "probe-calibration": a rule over a grid of truths, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simtrack.errors import InputError
from simtrack.price import MOST_CLAUSES, Price
from simtrack.probe import StoppingRule
from simtrack.probe.calibration import TRUTHS, calibrate
from simtrack.probe.summary import grid_summary
from simtrack.runs.study import Study
from simtrack.validate import decimal_fraction, integer, real

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["run_calibration"]

_RULE = ("threshold", "confidence", "zero_band", "k_min", "k_max", "prior", "prior_ablated")
_PRICE = ("usd_per_call", "input_usd_per_mtok", "output_usd_per_mtok", "input_tokens",
          "output_tokens")  # fmt: skip
_TABLES = ("rule", "grid", "cost", "published")


def run_calibration(study: Study) -> tuple[xr.Dataset, dict[str, Any]]:
    """Give the characteristics over the study's grid, and the numbers that a text quotes."""
    for name in study.settings:
        if name not in _TABLES:
            raise InputError("table", f"one of {', '.join(_TABLES)}", name, where=study.name)
    rule = StoppingRule(**study.table("rule", _RULE))
    grid = study.table("grid", ("step", "margin", "margins", "truths"))
    cost = study.table("cost", ("clauses", *_PRICE))
    price = {name: real(name, cost[name], 0.0) for name in _PRICE if name in cost}
    published = study.table("published", tuple(_keys(study.settings.get("published"))))
    margin_list = _listed("margins", grid.get("margins", []), study.name)
    found = calibrate(
        rule,
        truths=_truths(grid.get("truths", TRUTHS), study.name),
        steps=_steps(grid.get("step", "0.05"), study.name),
        margin=grid.get("margin", "0.05"),
        clauses=integer("clauses", cost.get("clauses", 1), 1, MOST_CLAUSES),
        price=Price(**price) if price else None,
    )
    result = rule.operating_characteristics(found.grid.full, found.grid.ablated)
    margins = [grid_summary(found.grid, margin=m).to_dict() for m in margin_list]
    return result, found.to_dict() | {"margins": margins, "published": published}


def _keys(table: object) -> list[str]:
    return list(table) if isinstance(table, dict) else []


def _listed(name: str, values: object, where: str) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        raise InputError(name, "a list", repr(values), where=where)
    return list(values)


def _truths(values: object, where: str) -> list[tuple[object, object]]:
    pairs = _listed("truths", values, where)
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise InputError("truths", "a list of pairs [full, ablated]", repr(pair), where=where)
    return [(pair[0], pair[1]) for pair in pairs]


def _steps(step: object, where: str) -> int:
    size = decimal_fraction("step", step)
    if size <= 0 or (1 / size).denominator != 1:
        raise InputError("step", "one that divides 1 into equal steps", step, where=where)
    return int(1 / size)
