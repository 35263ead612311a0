"""Run a study of kind "coverage": every interval and test on simulated studies of few clusters."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from simtrack.errors import InputError
from simtrack.runs.study import Study
from simtrack.validate import integer, real

if TYPE_CHECKING:
    import xarray as xr

    from simtrack.planning.coverage import Coverage, Size

__all__ = ["run_coverage"]

_GRID: Final = ("clusters", "rates", "icc", "slope_sd", "trials")
_FAMILIES: Final = ("rate", "paired", "paired_tests", "unpaired", "unpaired_tests")
_MEASURES: Final = ("coverage", "mcse", "missed_below", "missed_above", "mean_width")


@dataclass(frozen=True, slots=True)
class _Cell:
    """One population: which clusters, which agent, which methods with how many replicates."""

    clusters: int
    rate: float
    icc: float
    slope_sd: float | None
    sizes: tuple[int, ...]
    methods: Mapping[str, Mapping[str, int]]
    seed: int
    level: float


def run_coverage(study: Study) -> tuple[xr.Dataset, dict[str, Any]]:
    """Give coverage and size with their MCSE over the study's grid, and its table of numbers."""
    grid = study.table("grid", _GRID)
    run = study.table("run", ("n_replicates", "n_slow", "seed", "level", "slow"))
    _refuse_lacking(study, grid, run)
    names = {f: list(study.table("methods", _FAMILIES).get(f, ())) for f in _FAMILIES}
    slow = set(run.get("slow", ()))
    many = integer("n_replicates", run.get("n_replicates", 1000), 1)
    few = integer("n_slow", run.get("n_slow", many), 1)
    methods = {f: {n: few if n in slow else many for n in names[f]} for f in _FAMILIES}
    seed, level = (
        integer("seed", run["seed"], 0),
        real("level", run.get("level", 0.95), 0.01, 0.999),
    )
    cells = []
    for g in grid["clusters"]:
        sizes = _sizes(g, grid)
        for rate, icc in itertools.product(grid["rates"], grid["icc"]):
            for slope in (None, *grid["slope_sd"]):
                slope_sd = None if slope is None else real("slope_sd", slope, 0.0)
                cells.append(
                    _Cell(
                        g,
                        real("rates", rate, 0.0, 1.0),
                        real("icc", icc, 0.0, 1.0),
                        slope_sd,
                        sizes,
                        methods,
                        seed,
                        level,
                    )
                )
    done = _run(cells)
    result = _dataset(cells, done, grid, names)
    result.attrs |= {"seed": seed, "level": level, "n_replicates": many, "n_slow": few,
                     "computation": "monte-carlo", "guarantee": "descriptive"}  # fmt: skip
    return result, _numbers(result, names)


def _refuse_lacking(study: Study, grid: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """Refuse a study without its grid, its seed, or with a number where a list belongs."""
    for name in _GRID:
        if not isinstance(grid.get(name), list):
            raise InputError(name, "a list", repr(grid.get(name)), where=f"{study.name}, [grid]")
    listed = study.table("methods", _FAMILIES) | {"slow": run.get("slow", [])}
    for name, values in listed.items():
        if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
            raise InputError(name, "a list of names", repr(values), where=study.name)
    if "seed" not in run:
        raise InputError("seed", "given", where=f"{study.name}, [run]", cure="Add seed = NUMBER.")


def _sizes(clusters: int, grid: Mapping[str, Any]) -> tuple[int, ...]:
    from simtrack.planning.coverage import cluster_sizes

    return cluster_sizes(clusters, grid["trials"])


def _run(cells: Sequence[_Cell]) -> list[dict[str, list[Coverage] | list[Size]]]:
    """Run the cells on all processors; the order of the results is that of the cells."""
    workers = os.cpu_count() or 1
    if workers == 1 or len(cells) < 3:
        return [_one(cell) for cell in cells]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(_one, cells))


def _one(cell: _Cell) -> dict[str, list[Coverage] | list[Size]]:
    from simtrack.agents import ClusteredAgent, PairedAgent
    from simtrack.planning.few_clusters import difference_cell, rate_cell

    if cell.slope_sd is None:
        agent = ClusteredAgent(cell.rate, cell.icc)
        chosen = cell.methods["rate"]
        covered = rate_cell(agent, cell.sizes, chosen, seed=cell.seed, level=cell.level)
        return {"rate": covered}
    arms = PairedAgent(cell.rate, cell.icc, slope_sd=cell.slope_sd)
    out: dict[str, list[Coverage] | list[Size]] = {}
    for family, paired in (("paired", True), ("unpaired", False)):
        intervals, tests = cell.methods[family], cell.methods[f"{family}_tests"]
        if intervals and tests:
            out[family], out[f"{family}_tests"] = difference_cell(
                arms, cell.sizes, intervals, tests, seed=cell.seed, level=cell.level, paired=paired
            )
    return out


def _dataset(
    cells: Sequence[_Cell],
    done: Sequence[Mapping[str, Sequence[Coverage | Size]]],
    grid: Mapping[str, Any],
    names: Mapping[str, Sequence[str]],
) -> xr.Dataset:
    import xarray as xr

    axes: dict[str, list[float]] = {
        "clusters": [int(g) for g in grid["clusters"]],
        "rate": [float(r) for r in grid["rates"]],
        "icc": [float(i) for i in grid["icc"]],
        "slope_sd": [float(s) for s in grid["slope_sd"]],
    }
    variables: dict[str, Any] = {}
    for family in (f for f in _FAMILIES if names[f]):
        over = ["clusters", "rate", "icc"] + ([] if family == "rate" else ["slope_sd"])
        dims = (f"{family}_method", *over)
        measures = ("rejected", "mcse") if family.endswith("tests") else _MEASURES
        shape = (len(names[family]), *(len(axes[a]) for a in over))
        tables = {m: np.full(shape, np.nan) for m in (*measures, "refused")}
        for cell, found in zip(cells, done, strict=True):
            place = tuple(axes[a].index(getattr(cell, a)) for a in over) if family in found else ()
            for k, row in enumerate(found.get(family, ())):
                for measure in measures:
                    tables[measure][(k, *place)] = getattr(row, measure)
                tables["refused"][(k, *place)] = row.n_refused / row.n_replicates
        variables |= {f"{family}_{m}": (dims, table) for m, table in tables.items()}
        variables[f"{family}_method"] = (f"{family}_method", list(names[family]))
    return xr.Dataset(variables).assign_coords(axes)


def _numbers(result: xr.Dataset, names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Give, for each method and number of clusters, the worst and the mean over the other axes."""
    table: list[dict[str, Any]] = []
    for family in (f for f in _FAMILIES if names[f]):
        tests = family.endswith("tests")
        measured = result[f"{family}_{'rejected' if tests else 'coverage'}"]
        refused = result[f"{family}_refused"]
        for name in names[family]:
            for g in result["clusters"].values.tolist():
                at = {f"{family}_method": name, "clusters": g}
                values = measured.sel(at).values.ravel()
                seen = values[np.isfinite(values)]
                if not seen.size:
                    continue
                table.append(
                    {
                        "family": family, "method": name, "clusters": int(g),
                        "mean": float(seen.mean()),
                        "worst": float(seen.max() if tests else seen.min()),
                        "refused": float(refused.sel(at).mean()),
                    }
                )  # fmt: skip
    if not table:
        raise InputError("methods", "at least one", "none")
    return {"schema": "simtrack.coverage/1", "table": table}
