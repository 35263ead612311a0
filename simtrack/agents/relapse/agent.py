"""An agent that may go on doing what was revoked: relapse by load, arm, slice and depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.agent import expected_value, planned_trials
from simtrack.agents.categories import (
    Table,
    frozen_table,
    look_up,
    plain_table,
    slices_of_draws,
)
from simtrack.agents.relapse.draws import OUTCOMES, EpisodeDraws, turn_of
from simtrack.agents.relapse.exact import cell_shares
from simtrack.agents.relapse.retry import Attempts
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.records import Records
from simtrack.rng import Stream
from simtrack.taxonomy import CLAUSE
from simtrack.validate import integer, real

__all__ = ["RelapseAgent"]

Floats = NDArray[np.float64]
_CLASSES = 3
_TABLES = ("rate", "unparseable", "empty", "miss")
_SHARES = ("icc", "task_share", "persistence", "common", "in_force")


@dataclass(frozen=True, slots=True, init=False)
class RelapseAgent:
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

    rate: Table[float]
    icc: float
    task_share: float
    persistence: float
    unparseable: Table[float]
    empty: Table[float]
    miss: Table[float]
    classes: tuple[float, float, float]
    loops: tuple[tuple[str, Attempts], ...]
    common: float
    in_force: float
    slices: tuple[str, ...]

    def __init__(
        self,
        rate: object,
        icc: float = 0.0,
        task_share: float = 0.0,
        persistence: float = 0.0,
        unparseable: object = 0.0,
        empty: object = 0.0,
        miss: object = 0.0,
        classes: tuple[float, float, float] = (0.0, 0.0, 0.0),
        loops: Mapping[str, Attempts] | tuple[tuple[str, Attempts], ...] = (),
        common: float = 0.0,
        in_force: float = 1.0,
        slices: tuple[str, ...] = ("condition", "load"),
    ) -> None:
        tables = zip(_TABLES, (rate, unparseable, empty, miss), strict=True)
        shares = zip(_SHARES, (icc, task_share, persistence, common, in_force), strict=True)
        pairs = loops.items() if isinstance(loops, Mapping) else loops
        fields: dict[str, Any] = {name: frozen_table(name, lines) for name, lines in tables}
        fields |= {name: real(name, value, 0.0, 1.0) for name, value in shares}
        fields["classes"] = tuple(real("classes", c, 0.0, 1.0) for c in classes)
        fields["loops"] = tuple((str(arm), loop) for arm, loop in pairs)
        fields["slices"] = tuple(map(str, slices))
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        for name in _TABLES:
            for _, value in getattr(self, name):
                real(name, value, 0.0, 1.0)
        if len(self.classes) != _CLASSES or sum(self.classes) > 1.0:
            raise InputError("classes", "three shares of at most 1 together", self.classes)
        if self.icc == 1.0:
            raise InputError("icc", "below 1", self.icc)

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

    def paired_counts(
        self,
        design: Design,
        first: Mapping[str, str],
        second: Mapping[str, str],
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
    ) -> CountsBatch:
        """Draw episodes in two conditions and count their joint outcomes: "TRUE_RELAPSE|NO_TRACE".

        `first` and `second` are labels (two arms, say) of the same factors of the design; a cell
        of the batch is one of the design's other conditions. Episodes are those of `counts`.
        """
        wanted, n_draws = slices_of_draws(draws, design.clusters * design.repetitions, None)
        levels = dict(design.conditions)
        for name, level in (*first.items(), *second.items()):
            if level not in levels.get(name, ()) or set(first) != set(second):
                rule = "labels of the same conditions of the design"
                raise InputError("first and second", rule, f"{name}={level}")
        rest = [c for c in design.cells if all(c[n] == v for n, v in first.items())]
        kinds = len(OUTCOMES)
        cells = np.zeros((n_draws, design.clusters, len(rest), kinds * kinds), np.int64)
        done = 0
        for part in wanted:
            episodes = EpisodeDraws(self, design, part, seed, threads)
            for c, cell in enumerate(rest):
                a, b = (episodes.codes({**cell, **side}) for side in (first, second))
                joint = a.astype(np.int64) * kinds + b
                runs = np.array([design.runs(g, {**cell, **first}) for g in range(a.shape[1])])
                for k in np.unique(joint).tolist():
                    cells[done : done + len(part), :, c, k] = (joint == k).sum(axis=2) * runs
            done += len(part)
        names = tuple(f"{a}|{b}" for a in OUTCOMES for b in OUTCOMES)
        labels = tuple({n: v for n, v in cell.items() if n not in first} for cell in rest)
        return CountsBatch(cells, names, labels, design.cluster_name)

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
            how: dict[str, Any] = {"replicates": draws, "clusters": design.clusters}
            word = stream.uniform(**how, draws_each=design.repetitions * k, threads=threads)
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

    def ending(self, cell: Mapping[str, str], relapse: Floats) -> tuple[Floats, Floats, Floats]:
        """How do episodes of a cell end, whose slices have these propensities?

        Returns
        -------
        unparseable, relapse, miss : float64 arrays of the propensities' shape
            P(unparseable | not empty), P(relapse | parseable) and
            P(miss | parseable, no relapse), of the last attempt.
        """
        unparseable = look_up("unparseable", self.unparseable, cell)
        miss = look_up("miss", self.miss, cell)
        loop = dict(self.loops).get(cell.get("arm", ""))
        if loop is None:
            shape = relapse.shape
            return np.full(shape, unparseable), relapse, np.full(shape, miss)
        final = loop.law(relapse, unparseable, miss).final
        parsed = 1.0 - final[..., 0]
        status = _over(final[..., 1], parsed)
        return final[..., 0], status, _over(final[..., 2], parsed - final[..., 1])

    def to_dict(self) -> dict[str, Any]:
        """Give plain data from which `from_dict` makes an equal agent."""
        head: dict[str, Any] = {"schema": "simtrack.agent/1", "kind": "relapse"}
        tables = {name: plain_table(getattr(self, name)) for name in _TABLES}
        shares = {name: getattr(self, name) for name in _SHARES}
        loops = {arm: loop.to_dict() for arm, loop in self.loops}
        rest = {"classes": list(self.classes), "loops": loops, "slices": list(self.slices)}
        return head | tables | shares | rest

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RelapseAgent:
        """Make the agent that `to_dict` described."""
        fields = {k: v for k, v in data.items() if k not in ("schema", "kind")}
        loops = {a: Attempts.from_dict(v) for a, v in fields.pop("loops", {}).items()}
        return cls(**fields, loops=loops)


def _over(top: Floats, bottom: Floats) -> Floats:
    return np.where(bottom > 0.0, top / np.where(bottom > 0.0, bottom, 1.0), 0.0)
