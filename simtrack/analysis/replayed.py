"""Recorded sessions under other gates: how they end, how often, and which gate does better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from simtrack.analysis.estimate import estimate
from simtrack.analysis.families import TestFamily
from simtrack.analysis.scope import default_cluster, differing, find_factor
from simtrack.analysis.score import account_rows
from simtrack.analysis.testing import compare
from simtrack.counts import Counts
from simtrack.errors import DataError, InputError
from simtrack.estimands import Estimand, where
from simtrack.note import plain_notes
from simtrack.options import GateName, MissingCluster
from simtrack.records import Accounting, Records, Replies, account
from simtrack.scoring.replay.gates import ENDS, IMPOSSIBLE, ReplayProtocol, replay_gates
from simtrack.scoring.replay.protocol import GATE_CODES
from simtrack.taxonomy import GATE
from simtrack.validate import confidence_level

__all__ = ["GateComparison", "Replay", "ReplayRow", "replay"]

#: Usual names of the resampling unit of sessions, in order of preference.
_CLUSTERS = ("scenario", "cluster", "task_id", "unit")


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """How many sessions of one group end in one way under one gate?

    `share` is `n` over all `sessions` of the group, transport failures included.
    """

    gate: GateName
    labels: tuple[str, ...]
    end: str
    outcome: str
    n: int
    sessions: int
    share: float | None
    low: float | None
    high: float | None
    clusters: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateComparison:
    """Do sessions of one group finish their task more often under one gate than another?"""

    labels: tuple[str, ...]
    comparison: TestFamily | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """How do recorded sessions end under other gates?

    Attributes
    ----------
    gates : tuple of str
    cluster : str
    by : tuple of str
    level : float
    accounting : Accounting
        By gate (B1, B2, A) and `by`.
    rows : tuple of ReplayRow
        Ends that some session has and the gate can give, by gate.
    comparisons : tuple of GateComparison
        Of two gates: task success under the first minus the second, one a group.
    notes : tuple of str
    """

    gates: tuple[GateName, ...]
    cluster: str
    by: tuple[str, ...]
    level: float
    accounting: Accounting
    rows: tuple[ReplayRow, ...]
    comparisons: tuple[GateComparison, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id."""
        names = ("gate", "end", "outcome", "n", "sessions", "share", "low", "high", "clusters")
        return {
            "schema": "simtrack.replay/2",
            "gates": list(self.gates),
            "cluster": self.cluster,
            "by": list(self.by),
            "level": self.level,
            "accounting": account_rows(self.accounting),
            "rows": [
                {"labels": dict(zip(self.by, row.labels, strict=True))}
                | {name: getattr(row, name) for name in names}
                | {"notes": plain_notes(row.notes)}
                for row in self.rows
            ],
            "comparisons": [
                {
                    "labels": dict(zip(self.by, found.labels, strict=True)),
                    "comparison": found.comparison and found.comparison.to_dict(),
                    "notes": plain_notes(found.notes),
                }
                for found in self.comparisons
            ],
            "notes": plain_notes(self.notes),
        }


def replay(
    replies: Replies,
    gates: Sequence[GateName],
    *,
    protocol: ReplayProtocol | str | Path | Mapping[str, Any] | None = None,
    by: Sequence[str] = (),
    cluster: str | None = None,
    level: float = 0.95,
    icc: float | None = None,
    missing_cluster: MissingCluster = "refuse",
) -> tuple[Replay, Records]:
    """How would recorded sessions have ended under these gates, and is one of two better?

    Shares are over all sessions, those that ended in a transport failure included, with the
    interval of `estimate`. Two gates are compared over clusters: the same sessions, so paired.

    Parameters
    ----------
    replies : Replies
        Every message of every session.
    gates : sequence of {"marker", "no-tool-call", "runtime"}
    protocol : ReplayProtocol, path or plain data, optional
    by : sequence of str
        Grouping columns; without any, those of task, model, arm and source that differ.
    cluster : str, optional
        The resampling unit: scenario, cluster, task_id, or the id.
    level, icc, missing_cluster
        As in `estimate`.

    Returns
    -------
    Replay, Records
        The report, and the table of sessions: see `simtrack.scoring.replay.gates.replay_gates`.
    """
    confidence_level("level", level)
    found = replay_gates(replies, gates, _protocol(protocol))
    unit = find_factor(found, cluster) if cluster else default_cluster(found, _CLUSTERS)
    names = [find_factor(found, name) for name in by] or list(differing(found, unit))
    if unit in names:
        raise InputError("by", f"other than the cluster, {unit}")
    groups = tuple(dict.fromkeys(n for n in names if n != "gate"))
    accounting = account(found, ("gate", *groups))
    if not accounting.total("scored"):
        raise DataError(f"no session can be replayed: {accounting.planned} planned, none scored.")
    columns = ["gate", *groups, "end"]
    counts = found.counts(cluster=unit, by=columns, missing_cluster=missing_cluster)
    rows = _rows(counts, gates, groups, level, icc)
    compared: tuple[GateComparison, ...] = ()
    if len(gates) == 2:
        compared = _compared(found, gates, groups, unit, level, missing_cluster)
    return (
        Replay(tuple(gates), unit, groups, level, accounting, rows, compared, found.notes),
        found,
    )


def _protocol(given: ReplayProtocol | str | Path | Mapping[str, Any] | None) -> ReplayProtocol:
    if given is None or isinstance(given, ReplayProtocol):
        return given or ReplayProtocol()
    if isinstance(given, Mapping):
        return ReplayProtocol.from_dict(given)
    return ReplayProtocol.load(given)


def _rows(
    counts: Counts,
    gates: Sequence[GateName],
    groups: tuple[str, ...],
    level: float,
    icc: float | None,
) -> tuple[ReplayRow, ...]:
    names = {GATE_CODES[gate]: gate for gate in gates}
    there = set(counts.conditions["end"].compact().levels)
    found = []
    for end, outcome in ENDS.items():
        if end not in there:
            continue
        share = Estimand(end, frozenset(), among=where(end=end), taxonomy=GATE)
        totals = share.totals(counts, ("gate", *groups))
        sizes = {c: totals.numerator[:, k].sum() for k, c in enumerate(totals.conditions)}
        for row in estimate(counts, share, by=("gate", *groups), level=level, icc=icc).rows:
            gate = names[row.labels[0]]
            if end in IMPOSSIBLE[gate]:
                continue
            n = round(float(sizes[row.labels]))
            found.append(
                ReplayRow(gate, row.labels[1:], end, outcome, n, row.n, row.rate, row.low,
                          row.high, row.clusters, row.notes)
            )  # fmt: skip
    order = {gate: k for k, gate in enumerate(gates)}
    return tuple(sorted(found, key=lambda row: order[row.gate]))


def _compared(
    found: Records,
    gates: Sequence[GateName],
    groups: tuple[str, ...],
    unit: str,
    level: float,
    missing_cluster: MissingCluster,
) -> tuple[GateComparison, ...]:
    """Compare task success under the two gates in each group that has sessions."""
    a, b = (GATE_CODES[gate] for gate in gates)
    out = []
    for labels in product(*(found.factors[name].compact().levels for name in groups)):
        part = found.select(**dict(zip(groups, labels, strict=True))) if groups else found
        if not len(part):
            continue
        try:
            made = compare(part, a, b, factor="gate", estimand="task_success", cluster=unit,
                           level=level, missing_cluster=missing_cluster)  # fmt: skip
            out.append(GateComparison(labels, made, made.answer.notes))
        except DataError as error:
            out.append(GateComparison(labels, None, (str(error),)))
    return tuple(out)
