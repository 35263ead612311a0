"""pass@k and pass^k of every group of a trial table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simtrack.analysis.crossing import lies_within
from simtrack.analysis.scope import Scope
from simtrack.analysis.source import read_totals
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference import PassK, pass_at_k, pass_hat_k
from simtrack.options import MissingCluster
from simtrack.records import Records, is_binary

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
    scope: Scope,
    ks: Sequence[int],
    *,
    level: float = 0.95,
    missing_cluster: MissingCluster = "refuse",
) -> tuple[PassRates, ...]:
    """How often do any, and all, of k trials of a task pass, in each group?

    A task is a unit where clusters hold several of them, else a cluster.

    Raises
    ------
    InputError
        The same k twice; units that are repeated under several conditions.

    Examples
    --------
    >>> from simtrack.records import Records
    >>> records = Records.from_columns({"unit": ["a"] * 4 + ["b"] * 4,
    ...                                 "value": [1, 1, 1, 1, 1, 1, 0, 0]})
    >>> (found,) = pass_rates(Scope.of(records), [2])
    >>> str(found.at[0].exact), str(found.hat[0].exact)
    ('11/12', '7/12')
    """
    if not ks:
        return ()
    if len(set(ks)) != len(ks):
        raise InputError("k", "different numbers", ", ".join(map(str, ks)))
    scope.refuse_conditions("pass@k")
    records, unit = scope.records, scope.unit
    _refuse_graded(records)
    inside = unit not in (None, scope.cluster) and lies_within(records, scope.cluster, (unit,))
    task = unit if inside and unit is not None else scope.cluster
    totals = read_totals(records, None, scope.by, task, missing_cluster).totals
    home: dict[str | None, str | None] = {}
    if inside:
        pairs = (records.factors[task].values(), records.factors[scope.cluster].values())
        home = dict(zip(*pairs, strict=True))
    rows = []
    for place, labels in enumerate(totals.conditions):
        mine = totals.column(place)
        groups = [str(home[label]) for label in mine.clusters] if inside else None
        at, hat = (_each(rule, mine, ks, groups, level) for rule in (pass_at_k, pass_hat_k))
        rows.append(PassRates(labels, at, hat))
    return tuple(rows)


def _each(
    rule: object, tasks: Totals, ks: Sequence[int], groups: list[str] | None, level: float
) -> tuple[PassK, ...]:
    assert callable(rule)
    return tuple(rule(tasks, k, cluster=groups, level=level) for k in ks)


def _refuse_graded(records: Records) -> None:
    """Refuse scores that are neither 0 nor 1, by the scores themselves: sums can be whole."""
    if is_binary(records):
        return
    scores = records.numbers["value"]
    wrong = float(scores[~np.isnan(scores) & (scores != 0.0) & (scores != 1.0)][0])
    cure = f"Say what each stands for: --score {wrong:g}=0."
    raise InputError("scores", "0 or 1 for pass@k and pass^k", f"{wrong:g}", cure=cure)
