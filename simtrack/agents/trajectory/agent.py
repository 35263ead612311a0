"""An agent in dialogues of random length that reports before acting, mid-task and at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from simtrack.agents.agent import expected_value
from simtrack.agents.trajectory.draws import (
    CLEAN,
    MALFORMED,
    OMITTED,
    ReportRow,
    Reports,
    cell_of,
    checked_draws,
    draw_reports,
    read_as,
    trajectory_records,
)
from simtrack.agents.trajectory.laws import (
    BINS,
    KINDS_OF_REPORT,
    DialogueLaws,
    all_alike,
    bin_counts,
)
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import Contrast, Estimand
from simtrack.records import Records
from simtrack.taxonomy import NO_REPORT, STAGEIF, TRAJECTORY

__all__ = ["BEFORE_ACTING", "TrajectoryAgent"]

#: The gold stage before acting is a set: the environment cannot tell the two apart.
BEFORE_ACTING = "NEEDS_INFO|READY"
_GOLD = {"before": BEFORE_ACTING, "mid": "POST_OBS", "completed": "COMPLETED"}
_VIEWS = ("strict", "stripped")
_DRAWS_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class TrajectoryAgent(DialogueLaws):
    """How does an agent report its stage in dialogues whose checkpoints fall as they may?

    A dialogue (one repetition of a task, which is the cluster) passes a random number of
    checkpoints before acting, mid-task and after completion. Mid-task accuracy depends on the bin
    of the report's position between the first and the last of its dialogue, and on the dialogue:
    errors cluster.

    Parameters
    ----------
    before, completed : float
        Accuracy before acting and at completion.
    mid : five floats
        Mean accuracy in the five equal-width bins of mid-task position. A lone mid-task report has
        no bin and the first one's accuracy.
    trajectory_sd, task_sd : float
        SD of mid-task accuracy over dialogues of a task and over tasks, on the logit scale; the
        means over both are those of `mid`.
    before_law, mid_law, completed_law : sequence of float
        Probabilities of 0, 1, 2, … checkpoints of each kind (see `count_law`).
    stale : float
        Among wrong mid-task values, the share that names a stage already left; the rest says
        COMPLETED. Wrong values before acting say POST_OBS, at completion POST_OBS.
    omitted, malformed : float
        Among failures, the shares without a report and with an ill-formed one; the rest is wrong.
    envelope : float
        Share of replies wrapped in an envelope: `strict` reading rejects a wrapped report as
        malformed, `stripped` reads it.

    Notes
    -----
    The design may have a condition `view` (levels strict, stripped): two readings of the same
    replies. Without one the reading is strict. Every accuracy is that of the stripped reading.

    Examples
    --------
    >>> from simtrack.estimands import estimand
    >>> agent = TrajectoryAgent(0.9, (0.3, 0.2, 0.1, 0.1, 0.05), 0.8, trajectory_sd=1.5)
    >>> round(agent.expectation(estimand("all_wrong"), Design(114)), 4)
    0.5102
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
        """Draw studies: reports by cluster, view, stage, bin, reported value; see `Agent.counts`.

        Every dialogue is drawn report by report, so more repetitions, clusters or draws keep the
        old ones.
        """
        labels = self._labels(design)
        wanted = checked_draws(draws, threads, chunk)
        codes = len(STAGEIF.codes)
        cells = np.zeros((len(wanted), design.clusters, len(labels) * codes), dtype=np.int64)
        place = {tuple(label.items()): k for k, label in enumerate(labels)}
        for cell, _, kind, reports in self._drawn(design, wanted, seed, threads, chunk):
            slot = np.empty(reports.end.size, dtype=np.int64)
            for b, end in {*zip(reports.bin.tolist(), reports.end.tolist(), strict=True)}:
                here = (reports.bin == b) & (reports.end == end)
                label, code = self._label(cell, kind, b, end)
                slot[here] = place[tuple(label.items())] * codes + STAGEIF.codes.index(code)
            np.add.at(cells, (reports.draw - wanted.start, reports.cluster, slot), 1)
        table = cells.reshape(*cells.shape[:2], len(labels), codes)
        return CountsBatch(table, STAGEIF.codes, tuple(labels), design.cluster_name)

    def trajectory_counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw studies, one entry a dialogue of two or more mid-task reports: right or wrong?"""
        wanted = checked_draws(draws, threads, chunk)
        labels = self._cells(design)
        shape = (len(wanted), design.clusters, len(labels), len(TRAJECTORY.codes))
        cells = np.zeros(shape, dtype=np.int64)
        for cell, _, kind, reports in self._drawn(design, wanted, seed, threads, chunk):
            if kind == "mid":
                grid = np.zeros((2, *shape[:2]), dtype=np.int64)
                at = (reports.draw - wanted.start, reports.cluster)
                np.add.at(grid[0], at, 1)
                np.add.at(grid[1], at, reports.end == CLEAN)
                total, right = grid
                c, several = labels.index(cell), total > 1
                cells[:, :, c, 0] += several & (right == 0)
                cells[:, :, c, 1] += several & (right == total)
                cells[:, :, c, 2] += several & (right > 0) & (right < total)
        return CountsBatch(cells, TRAJECTORY.codes, tuple(labels), design.cluster_name)

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study: one row a report (and view), the reports of draw 0 of `counts`."""
        rows: list[ReportRow] = []
        for cell, t, kind, reports in self._drawn(design, range(1), seed, 1, None):
            order = KINDS_OF_REPORT.index(kind)
            listed = zip(*(x.tolist() for x in (reports.cluster, reports.place, reports.bin,
                                                reports.end)), strict=True)  # fmt: skip
            for g, place, b, end in listed:
                label, code = self._label(cell, kind, b, end)
                rows.append((g, t, order, place, label, code))
        cells = self._cells(design)
        rows.sort(key=lambda row: (row[0], row[1], cell_of(row[4], cells), row[2], row[3]))
        return trajectory_records(rows, self._labels(design))

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value: from the laws of numbers, exact; all_wrong by quadrature."""
        if isinstance(what, Estimand) and what.taxonomy is TRAJECTORY:
            return self._expected_trajectories(what, design)
        labels = self._labels(design)
        mean = np.zeros((1, len(labels), len(STAGEIF.codes)))
        place = {tuple(label.items()): k for k, label in enumerate(labels)}
        for cell in self._cells(design):
            for kind in KINDS_OF_REPORT:
                for b, number, right in self._numbers(kind):
                    for end, share in self._ends(kind, right, cell["view"]):
                        label, code = self._label(cell, kind, b, end)
                        at = place[tuple(label.items())]
                        mean[0, at, STAGEIF.codes.index(code)] += number * share
        return expected_value(what, design, STAGEIF.codes, mean, labels)

    def _cells(self, design: Design) -> list[dict[str, str]]:
        for level in dict(design.conditions).get("view", ()):
            if level not in _VIEWS:
                raise InputError("view", f"one of {', '.join(_VIEWS)}", repr(level))
        if design.between:
            raise InputError("between", "empty, since every task is run in all cells", "factors")
        return [{**cell, "view": cell.get("view", "strict")} for cell in design.cells]

    def _drawn(
        self, design: Design, wanted: range, seed: int, threads: int, chunk: int | None
    ) -> Iterator[tuple[dict[str, str], int, str, Reports]]:
        """Yield every cell's, repetition's and kind's reports, block of draws by block of draws."""
        step = chunk or _DRAWS_AT_ONCE
        for start in range(wanted.start, wanted.stop, step):
            block = range(start, min(start + step, wanted.stop))
            for cell in self._cells(design):
                own = tuple(sorted((k, v) for k, v in cell.items() if k != "view"))
                for t in range(design.repetitions):
                    drawn = draw_reports(self, own, t, design.clusters, block, seed, threads)
                    for kind, reports in drawn.items():
                        yield cell, t, kind, read_as(reports, cell["view"])

    def _label(
        self, cell: Mapping[str, str], kind: str, b: int, end: int
    ) -> tuple[dict[str, str], str]:
        """Give the labels and the outcome code of one end of a report."""
        code = {CLEAN: "CLEAN", OMITTED: "APP_MISS", MALFORMED: "MALFORMED"}.get(end, "STATE_WRONG")
        named = _GOLD[kind] if end == CLEAN else NO_REPORT
        if end > 0:
            named = self.wrong_values(kind)[end - 1][0]
        more = {
            "duty": "1",
            "stage": _GOLD[kind],
            "bin": BINS[b] if b < len(BINS) else NO_REPORT,
            "gold": _GOLD[kind],
            "reported": named.split("|")[0],
            "emitted": str(int(end != OMITTED)),
        }
        return {**cell, **more}, code

    def _labels(self, design: Design) -> list[dict[str, str]]:
        """List the labels of every end that a report can have, each once."""
        found: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        for cell in self._cells(design):
            for kind in KINDS_OF_REPORT:
                bins = range(len(BINS) + 1) if kind == "mid" else (len(BINS),)
                for b in bins:
                    wrong = range(1, len(self.wrong_values(kind)) + 1)
                    for end in (CLEAN, *wrong, MALFORMED, OMITTED):
                        label, _ = self._label(cell, kind, b, end)
                        found[tuple(label.items())] = label
        return list(found.values())

    def _numbers(self, kind: str) -> list[tuple[int, float, float]]:
        """Give each bin (5 for none), the mean number of reports in it and their accuracy."""
        law = np.array(self.law(kind))
        if kind != "mid":
            mean = float((law * np.arange(law.size)).sum())
            return [(len(BINS), mean, self.before if kind == "before" else self.completed)]
        means = (law[:, None] * bin_counts(law.size - 1)).sum(axis=0).tolist()
        lone = float(law[1]) if law.size > 1 else 0.0
        numbers = zip([*means, lone], (*self.mid, self.mid[0]), strict=True)
        return [(b, number, right) for b, (number, right) in enumerate(numbers)]

    def _ends(self, kind: str, right: float, view: str) -> list[tuple[int, float]]:
        wrong = 1.0 - self.omitted - self.malformed
        ends = [(CLEAN, right), (OMITTED, (1.0 - right) * self.omitted)]
        for k, (_, share) in enumerate(self.wrong_values(kind)):
            ends.append((k + 1, (1.0 - right) * wrong * share))
        ill = (1.0 - right) * self.malformed
        lost = self.envelope if view == "strict" else 0.0
        read = [(e, s * (1.0 - lost) if e >= 0 else s) for e, s in ends]
        taken = lost * sum(s for e, s in ends if e >= 0)
        return [*read, (MALFORMED, ill + taken)]

    def _expected_trajectories(self, what: Estimand, design: Design) -> float:
        cells = self._cells(design)
        mean = np.zeros((1, len(cells), len(TRAJECTORY.codes)))
        for c, cell in enumerate(cells):
            kept = 1.0 - self.envelope if cell["view"] == "strict" else 1.0
            wrong, right, several = all_alike(self.mid_law, self.mid, self.sd, kept)
            mean[0, c] = wrong, right, several - wrong - right
        return expected_value(what, design, TRAJECTORY.codes, mean, cells)
