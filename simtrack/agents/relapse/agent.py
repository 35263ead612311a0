"""An agent that may go on doing what was revoked: relapse by load, arm, slice and depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import DrawOptions, expected_value, planned_trials
from simtrack.agents.categories import slices_of_draws
from simtrack.agents.relapse.draws import EpisodeDraws
from simtrack.agents.relapse.exact import cell_shares
from simtrack.agents.relapse.laws import OUTCOMES, EpisodeLaws, turn_of
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.estimands import Contrast, Estimand
from simtrack.records import Records
from simtrack.rng import Stream
from simtrack.taxonomy import CLAUSE
from simtrack.validate import integer

__all__ = ["RelapseAgent"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, init=False)
class RelapseAgent(EpisodeLaws):
    """How often does an agent do what was asked of it and then withdrawn?

    A slice is a task with a kind of script (`slices`). It has a propensity: Beta over slices, with
    a part that slices of one task share, and the same rank in every arm. An
    episode is one artifact of a slice: empty or unparseable by arm, else relapsed with the slice's
    propensity, which is there at revocation and does not grow with depth: over the levels of
    `depth` the current status of an episode is a stationary two-state chain, which remits and
    comes back. Conditions with a meaning: `depth` (turns since revocation, a whole number) and
    `arm`. All others select lines of the tables.

    Parameters
    ----------
    rate : table of float
        Mean propensity of a first attempt, over slices; one value or lines of (labels, value).
    icc : float
        Var(propensity) / (rate (1 - rate)), from 0 to below 1.
    task_share : float
        Correlation, before they are made Beta, of two slices of one task, from 0 to 1.
    persistence : float
        Chance that a status is kept for a turn; if not, it is drawn anew.
    unparseable, empty, miss : table of float
        Chance that a first attempt does not parse, that a completion is empty, and that an
        artifact which parses and does not relapse misses another clause.
    classes : three floats
        Among artifacts without relapse or miss: shares near-compliant, with a high-overlap
        replacement, and with a legitimate reference.
    loops : mapping of arm to Attempts
        Arms that try again; the others make one attempt.
    common : float
        Strength of common random numbers over arms: the share of episodes in which all arms use
        the same number, from 0 (none) to 1 (all).
    in_force : float
        Compliance of parseable artifacts with a clause in force.
    slices : tuple of str
        The conditions that tell a task's slices apart.

    Examples
    --------
    >>> from simtrack.design import Design
    >>> from simtrack.estimands import estimand
    >>> agent = RelapseAgent([({"load": "8"}, 0.4), ({"load": "2"}, 0.01)], icc=0.3)
    >>> design = Design(67, 3, {"load": ("2", "8")}, cluster_name="task")
    >>> round(agent.expectation(estimand("relapse").at(load="8"), design), 9)
    0.4
    """

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw episodes and count their outcomes; see `Agent.counts`.

        Episodes are drawn one by one: more repetitions, clusters, draws, conditions or depths
        keep the old ones.
        """
        parts, n_draws = slices_of_draws(draws, design.clusters * design.repetitions, chunk)
        cells = np.empty((n_draws, design.clusters, len(design.cells), len(OUTCOMES)), np.int64)
        runs = (planned_trials(design) > 0)[None]
        EpisodeDraws(self, design, range(0), seed).check()
        done = 0
        for part in parts:
            episodes = EpisodeDraws(self, design, part, seed, threads)
            for c, cell in enumerate(design.cells):
                codes = episodes.codes(cell)
                here = cells[done : done + len(part), :, c]
                for k in range(len(OUTCOMES)):
                    here[:, :, k] = (codes == k).sum(axis=2) * runs[:, :, c]
            done += len(part)
        return CountsBatch(cells, OUTCOMES, design.cells, design.cluster_name)

    def clause_counts(
        self, design: Design, draws: int | range, seed: int, *, clauses: int, threads: int = 1
    ) -> CountsBatch:
        """Draw compliance of every episode with `clauses` clauses in force: rows are clauses.

        An artifact that does not parse complies with none, and neither does an empty one.
        """
        k = integer("clauses", clauses, 1)
        table = self.counts(design, draws, seed, threads=threads)
        unparseable = table.cells[..., :2].sum(axis=3) * k
        parsed = table.cells.sum(axis=3) * k - unparseable
        passed = np.zeros_like(parsed)
        for c, cell in enumerate(design.cells):
            stream = Stream(seed, "relapse-agent", "clauses", cell=tuple(cell.items()))
            how: DrawOptions = {
                "replicates": draws,
                "clusters": design.clusters,
                "threads": threads,
            }
            word = stream.uniform(**how, draws_each=design.repetitions * k)
            place = np.arange(design.repetitions * k)
            live = place < parsed[:, :, c, None]
            passed[:, :, c] = ((word < self.in_force) & live).sum(axis=2)
        cells = np.stack([unparseable, parsed - passed, passed], axis=3)
        return CountsBatch(cells, CLAUSE.codes[1:], design.cells, design.cluster_name)

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study, an episode a row: its counts are those of draw 0 of `counts`.

        `unit` names the slice, so that episodes of two arms can be paired by unit and repetition.
        """
        episodes = EpisodeDraws(self, design, range(1), seed)
        names = [name for name, _ in design.conditions]
        columns: dict[str, list[str]] = {
            n: [] for n in (design.cluster_name, "unit", *names, "repetition", "outcome")
        }
        for cell in design.cells:
            codes = episodes.codes(cell)[0]
            script = [v for n, v in cell.items() if n not in ("arm", "depth")]
            for g in range(design.clusters):
                if not design.runs(g, cell):
                    continue
                columns[design.cluster_name] += [f"{g + 1}"] * design.repetitions
                columns["unit"] += ["/".join([f"{g + 1}", *script])] * design.repetitions
                for name in names:
                    columns[name] += [cell[name]] * design.repetitions
                columns["repetition"] += [f"{r + 1}" for r in range(design.repetitions)]
                columns["outcome"] += [OUTCOMES[k] for k in codes[g].tolist()]
        levels = {**dict(design.conditions), "outcome": OUTCOMES}
        return Records.from_columns(columns, levels=levels, kind="episode")

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value of an estimand, exactly: the mean over slices of their shares."""
        for cell in design.cells:
            turn_of(cell)
        shares = np.stack([cell_shares(self, cell) for cell in design.cells])
        trials = planned_trials(design).astype(np.float64)
        return expected_value(what, design, OUTCOMES, trials[..., None] * shares)

    def adherence(self, cell: Mapping[str, str]) -> float:
        """Give compliance with a clause in force, unparseable and empty artifacts failing."""
        shares = cell_shares(self, cell)
        return float(1.0 - shares[0] - shares[1]) * self.in_force
