"""Compare two levels of a factor over the clusters that have both."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from simtrack.analysis.pairing import QUICK_LAW, cautions, flip_interval, in_both, refusal
from simtrack.analysis.scope import Scope
from simtrack.analysis.source import Table, read_totals
from simtrack.counts import Losses, Totals
from simtrack.errors import DataError, InputError
from simtrack.estimands import Estimand
from simtrack.inference import PairedDifference, cluster_contrasts, paired_difference
from simtrack.options import MissingCluster
from simtrack.records import Records
from simtrack.validate import open_unit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much higher is `a` than `b`, and could it be chance?

    Attributes
    ----------
    estimand, cluster, factor, a, b : str
        The difference is a minus b, by `cluster`.
    paired : PairedDifference
        All numbers: difference, interval, standard errors, pooled difference, test.
    pvalue : float or None
        The exact sign-flip p; None where the test cannot reach 1 - level (see `notes`).
    losses : Losses
    notes : tuple of str
        What was left out, assumed or refused.
    sign_flip_low, sign_flip_high : float or None
        The mean differences that the sign-flip test does not reject; None, with a note, where the
        test is refused or these would take long (`simtrack.analysis.test_levels` takes its time).
    """

    estimand: str
    cluster: str
    factor: str
    a: str
    b: str
    paired: PairedDifference
    pvalue: float | None
    losses: Losses
    notes: tuple[str, ...]
    sign_flip_low: float | None = None
    sign_flip_high: float | None = None

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        numbers = asdict(self.paired)
        numbers["test"] = None if self.paired.test is None else self.paired.test.to_dict()
        for theirs, ours in _RENAMED.items():
            numbers[ours] = numbers.pop(theirs)
        head = {n: getattr(self, n) for n in _HEAD}
        return (
            {"schema": "simtrack.compare/1"}
            | head
            | numbers
            | {"left_out": self.losses.by_kind(), "notes": list(self.notes)}
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one row; the test's fields are spread out, the notes are one text."""
        import pandas as pd

        plain = self.to_dict()
        plain.pop("schema")
        plain.pop("left_out")
        test = plain.pop("test")
        fields = test if isinstance(test, dict) else {}
        wanted = ("pvalue_exact", "floor", "route")
        row = plain | {f"test_{name}": fields.get(name) for name in wanted}
        return pd.DataFrame([row | {"notes": "; ".join(self.notes)}])

    def __repr__(self) -> str:
        p = "p refused" if self.pvalue is None else f"p={self.pvalue:.4g}"
        return f"Comparison({self.a} - {self.b}: {self.paired!r}, {p})"


_HEAD = ("estimand", "cluster", "factor", "a", "b", "pvalue", "sign_flip_low", "sign_flip_high")
_RENAMED = {
    "only_first": "only_a",
    "only_second": "only_b",
    "rate_first": "rate_a",
    "rate_second": "rate_b",
}


def compare(
    table: Table,
    a: str,
    b: str,
    *,
    factor: str,
    estimand: Estimand | str | None = None,
    cluster: str | None = None,
    level: float = 0.95,
    missing_cluster: MissingCluster = "refuse",
) -> Comparison:
    """How much higher is level `a` of `factor` than level `b`, over the clusters that have both?

    The difference is a minus b, averaged over clusters with equal weight, with a cluster t(G-1)
    interval and the exact sign-flip p. Clusters are matched by their label, never by row order;
    those with one level only are left out and counted. Two log files are two levels of `model`
    once their tables are stacked (`Records.concatenate`).

    Parameters
    ----------
    table : Counts, Sums, Totals or Records
    a, b : str
        Two levels of `factor`.
    factor : str
        A condition of the table ("model", "stage", "arm").
    estimand, cluster, level, missing_cluster
        As in `simtrack.analysis.estimate`.

    Raises
    ------
    InputError, DataError
        A factor or a level that the table does not have; a table that cannot be reduced.

    Examples
    --------
    >>> from simtrack.records import Records
    >>> records = Records.from_columns(
    ...     {
    ...         "unit": [f"q{k}" for k in range(8)] * 2,
    ...         "model": ["x"] * 8 + ["y"] * 8,
    ...         "value": [1, 1, 1, 1, 1, 1, 0, 1] + [0, 0, 1, 0, 0, 0, 0, 0],
    ...     }
    ... )
    >>> compare(records, "x", "y", factor="model").pvalue
    0.03125
    """
    open_unit("level", level)
    if isinstance(table, Records):
        scope = Scope.of(table, cluster=cluster, levels=(a, b), factor=factor)
        factor, cluster = scope.factor or factor, scope.cluster
        table = in_both(scope, a, b)
    source = read_totals(table, estimand, (factor,), cluster, missing_cluster)
    totals = source.totals
    first, second = _column(totals, factor, a), _column(totals, factor, b)
    paired = paired_difference(totals, first, second, level=level, bounded=source.bounded)
    if paired.clusters == 0:
        raise DataError(
            f"no {source.cluster_name} has both {a} and {b}, so there is no pair to compare. "
            "Name a cluster that they share (--cluster)."
        )
    refused = refusal(paired, round(1.0 - level, 12))
    usable = paired.test is not None and not refused
    notes = [*paired.notes, *(cautions(paired, factor, level) if usable else ())]
    low = high = None
    if refused:
        notes.append(f"sign-flip test refused: {refused}")
    elif paired.test is not None:
        pair = Totals.stack([totals.column(first), totals.column(second)], (a, b), totals.name)
        found = flip_interval(paired.test, cluster_contrasts(pair).values, level, QUICK_LAW)
        if found is None:
            notes.append("no sign-flip interval here: it takes longer (simtrack test)")
        else:
            low, high = found.low, found.high
    return Comparison(
        totals.name,
        source.cluster_name,
        factor,
        a,
        b,
        paired,
        paired.test.pvalue if usable and paired.test is not None else None,
        totals.losses,
        tuple(notes),
        low,
        high,
    )


def _column(totals: Totals, factor: str, level: str) -> int:
    if totals.by != (factor,):
        raise InputError("factor", f"the one condition of these totals, {totals.by}", factor)
    known = [labels[0] for labels in totals.conditions]
    if level not in known:
        raise InputError("level of " + factor, f"one of {', '.join(known)}", repr(level))
    return known.index(level)
