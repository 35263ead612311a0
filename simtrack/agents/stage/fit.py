"""A stage agent from a pilot: adherence and the mix of failures by cell, and the cluster SDs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.pilot import FittedAgent
from simtrack.agents.stage.agent import StageAgent
from simtrack.agents.stage.effects import ClusterEffect
from simtrack.agents.stage.fit_cells import PilotCell, confusion_rows, pilot_cells, spread_posterior
from simtrack.agents.stage.tables import chain_nodes
from simtrack.counts import Counts
from simtrack.records import Records
from simtrack.rng import Stream
from simtrack.validate import integer, real

__all__ = ["fit_stage", "stage_agent"]

Floats = NDArray[np.float64]
_JEFFREYS = 0.5


def fit_stage(
    pilot: Counts | Records,
    *,
    by: Sequence[str] = (),
    slope_on: tuple[str, str] | None = ("stage", "COMPLETED"),
    sd_prior: float = 1.0,
    n_draws: int = 2000,
    seed: int = 0,
) -> FittedAgent:
    """Which stage agents could have made this pilot?

    Adherence in each cell varies by cluster as in `ClusterEffect("adherence", ...)`; what is not
    CLEAN keeps its mix of divergence, omission, ill-formed and wrong reports.

    Parameters
    ----------
    pilot : Counts or Records
        Outcomes of `taxonomy.STAGEIF` by cluster, with conditions `duty`, `stage` and `position`
        (where a duty is off), and best also `gold`, `reported` and `emitted`.
    by : sequence of str
        Further conditions by which the agent differs: arm, encoding, model. Others are pooled.
    slope_on : (factor, level), optional
        Where the cluster's contrast acts; left out where the pilot has no cell on either side.
    sd_prior : float
        Scale of the half-normal prior of level SD and slope SD, on the logit scale, 0.01 to 3.
    n_draws, seed : int
        Joint draws that stand for the posterior.

    Returns
    -------
    FittedAgent
        Parameters theta[cell], acts[cell], omits[cell], malformed[cell], alarm[cell], sd, slope_sd.

    Notes
    -----
    The SDs have their exact posterior on a grid given each cell's pooled adherence. Given the SDs,
    adherence has a Beta law on the cell's effective number of trials (its trials over the design
    effect); the mix of failures and false alarms have Beta laws on the trials themselves. All with
    Jeffreys' prior. What wrong reports name, reports on tool calls and transport failures are kept
    at their estimates.

    Examples
    --------
    >>> from simtrack.design import Design
    >>> from simtrack.taxonomy import STAGES
    >>> truth = StageAgent(emits={"*": 0.4, "COMPLETED": 0.9})
    >>> fit = fit_stage(truth.records(Design(12, 20, {"stage": STAGES}), seed=3), n_draws=200)
    >>> abs(fit.mean("theta[COMPLETED]") - 0.9) < 0.06
    True
    """
    scale = real("sd_prior", sd_prior, 0.01, 3.0)
    size = integer("n_draws", n_draws, 10, 100_000)
    cells, transport, notes = pilot_cells(pilot, tuple(by))
    due = [cell for cell in cells if cell.is_due]
    spread = spread_posterior(due, slope_on, scale)
    uniform = Stream(seed, "fit-stage").uniform(
        replicates=size, clusters=1, draws_each=1 + 4 * len(cells)
    )[:, 0]
    node = np.searchsorted(np.add.accumulate(spread.weights), uniform[:, 0], side="right")
    node = np.minimum(node, spread.weights.size - 1)
    columns = {"sd": spread.sd[node], "slope_sd": spread.slope_sd[node]}
    for c, cell in enumerate(cells):
        numbers = uniform[:, 1 + 4 * c : 5 + 4 * c]
        if not cell.is_due:
            columns[f"alarm[{cell.name}]"] = _beta(cell.alarms, cell.valid, numbers[:, 0])
            continue
        effect = spread.design_effect[node, due.index(cell)]
        columns[f"theta[{cell.name}]"] = _beta(
            cell.clean / effect, cell.valid / effect, numbers[:, 0]
        )
        lost = cell.failures
        for k, name in enumerate(("acts", "omits", "malformed")):
            left = float(sum(lost[k:]))
            columns[f"{name}[{cell.name}]"] = _beta(lost[k], left, numbers[:, k + 1])
    make = partial(stage_agent, cells=cells, transport=transport, slope_on=spread.slope_on)
    atoms = np.stack(list(columns.values()), axis=1)
    means = dict(zip(columns, atoms.mean(axis=0).tolist(), strict=True))
    weights = np.full(size, 1.0 / size)
    return FittedAgent(
        make(means), "stage", tuple(columns), atoms, weights, make, "monte-carlo",
        "bayesian", (*notes, *spread.notes), size, int(seed),
    )  # fmt: skip


def stage_agent(
    values: Mapping[str, float],
    *,
    cells: Sequence[PilotCell],
    transport: float,
    slope_on: tuple[str, str] | None,
) -> StageAgent:
    """Make the stage agent of one set of fitted parameters, over the cells of the pilot."""
    lines: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for cell in cells:
        name = cell.name
        if not cell.is_due:
            nodes = {"false_alarm": values[f"alarm[{name}]"]}
        else:
            clean = values[f"theta[{name}]"]
            left, lost = 1.0 - clean, []
            for part in ("acts", "omits", "malformed"):
                lost.append(left * values[f"{part}[{name}]"])
                left -= lost[-1]
            nodes = chain_nodes((lost[0], lost[1], lost[2]), clean)
            nodes = {**nodes, "emits_on_divergence": cell.tagged}
        for node, rate in nodes.items():
            lines.setdefault(node, []).append((cell.labels, rate))
    slope = values["slope_sd"] if slope_on else 0.0
    effect = ClusterEffect("adherence", values["sd"], slope, slope_on)
    rows = confusion_rows(cells)
    more: dict[str, Any] = {**lines, **({"confusion": rows} if rows else {})}
    effects = [effect] if any(cell.is_due for cell in cells) else []
    return StageAgent(transport=transport, effects=effects, **more)


def _beta(passes: float | Floats, trials: float | Floats, uniform: Floats) -> Floats:
    from scipy.special import betaincinv

    failures = np.maximum(0.0, np.asarray(trials) - passes)
    found = betaincinv(np.asarray(passes) + _JEFFREYS, failures + _JEFFREYS, uniform)
    clipped: Floats = np.clip(found, 1e-9, 1.0 - 1e-9)
    return clipped
