"""pass@k and pass^k of every group of a trial table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simtrack.analysis.source import read_totals
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import PassK, pass_at_k, pass_hat_k
from simtrack.options import MissingCluster
from simtrack.records import Records

__all__ = ["PassRates", "pass_rates"]


@dataclass(frozen=True, slots=True)
class PassRates:
    """How often would any, and all, of k trials of a task pass, in one group?

    Attributes
    ----------
    labels : tuple of str
        One for each grouping column.
    at, hat : tuple of PassK
        pass@k and pass^k for each k asked for.
    """

    labels: tuple[str, ...]
    at: tuple[PassK, ...]
    hat: tuple[PassK, ...]

    def to_dict(self, by: Sequence[str]) -> dict[str, object]:
        """Give plain values for JSON."""
        return {
            "labels": dict(zip(by, self.labels, strict=True)),
            "pass_at_k": [found.to_dict() for found in self.at],
            "pass_hat_k": [found.to_dict() for found in self.hat],
        }


def pass_rates(
    records: Records,
    ks: Sequence[int],
    *,
    by: Sequence[str] = (),
    cluster: str,
    level: float = 0.95,
    missing_cluster: MissingCluster = "refuse",
) -> tuple[PassRates, ...]:
    """How often do any, and all, of k trials of a task pass, in each group?

    A task is a `unit` where clusters hold several of them, else a cluster.

    Examples
    --------
    >>> records = Records.from_columns({"unit": ["a"] * 4 + ["b"] * 4,
    ...                                 "value": [1, 1, 1, 1, 1, 1, 0, 0]})
    >>> (found,) = pass_rates(records, [2], cluster="unit")
    >>> str(found.at[0].exact), str(found.hat[0].exact)
    ('11/12', '7/12')
    """
    if len(set(ks)) != len(ks) or not ks:
        raise InputError("k", "different numbers, one at least", ", ".join(map(str, ks)))
    home = _homes(records, cluster)
    task = cluster if home is None else "unit"
    totals = read_totals(records, None, tuple(by), task, missing_cluster).totals
    rows = []
    for place, labels in enumerate(totals.conditions):
        mine = totals.column(place)
        groups = None if home is None else [home[label] for label in mine.clusters]
        at, hat = (_each(rule, mine, ks, groups, level) for rule in (pass_at_k, pass_hat_k))
        rows.append(PassRates(labels, at, hat))
    return tuple(rows)


def _each(
    rule: object, tasks: Totals, ks: Sequence[int], groups: list[str] | None, level: float
) -> tuple[PassK, ...]:
    assert callable(rule)
    return tuple(rule(tasks, k, cluster=groups, level=level) for k in ks)


def _homes(records: Records, cluster: str) -> dict[str, str] | None:
    """Give the cluster of each unit, where every unit lies in one cluster that is no unit."""
    if cluster == "unit" or "unit" not in records.factors:
        return None
    found: dict[str, str] = {}
    pairs = zip(records.factors["unit"].values(), records.factor(cluster).values(), strict=True)
    for unit, home in pairs:
        if unit is None or home is None:
            continue
        if found.setdefault(unit, home) != home:
            return None
    return found
