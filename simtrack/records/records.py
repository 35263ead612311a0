"""The trial table: one row a planned opportunity that left a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simtrack.counts import Counts, Sums
from simtrack.options import MissingCluster
from simtrack.records.reduction import to_counts, to_sums
from simtrack.records.table import TrialTable

__all__ = ["Records"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records(TrialTable):
    """What happened in every trial, in file order?

    Parameters
    ----------
    factors : mapping of name to Factor
        Labelled columns. Names with a meaning: `unit` (the scripted thing, e.g. the sample id),
        `cluster` (the resampling unit, `unit` if absent), `repetition`, `model`, `metric`,
        `outcome` (a category), and `status` (a `Status`; absent means that every row is scored).
    numbers : mapping of name to float64 array, shape (rows,)
        Numeric columns; NaN is missing. `value` is the score.
    losses : Losses
        Planned opportunities that left no row at all.
    parents : mapping of str to str
        Which factor nests which: {"cluster": "family"}.
    kind : str
        What a row is: "trial", "checkpoint", "clause" or "episode".
    notes : tuple of str
        What the reader of the source should be told, one line each. Texts become a `Note`
        without a code; a `Note` stays as it is.

    Examples
    --------
    >>> records = Records.from_columns({"unit": ["q1", "q2"], "value": [1, 0]})
    >>> len(records), sorted(records.factors)
    (2, ['unit'])
    """

    def counts(
        self,
        *,
        cluster: str | None = None,
        by: Sequence[str] = (),
        pair: str | None = None,
        on: Sequence[str] = (),
        missing_cluster: MissingCluster = "refuse",
    ) -> Counts:
        """Count outcomes by cluster and condition: see `simtrack.records.to_counts`.

        Examples
        --------
        >>> records = Records.from_columns({"unit": ["q1", "q1", "q2"], "value": [1, 0, 1]})
        >>> records.counts().cells.tolist()
        [[1, 1], [0, 1]]
        """
        return to_counts(
            self, cluster=cluster, by=by, pair=pair, on=on, missing_cluster=missing_cluster
        )

    def sums(
        self,
        *,
        cluster: str | None = None,
        by: Sequence[str] = (),
        value: str = "value",
        missing_cluster: MissingCluster = "refuse",
    ) -> Sums:
        """Add up a numeric score by cluster and condition: see `simtrack.records.to_sums`."""
        return to_sums(self, cluster=cluster, by=by, value=value, missing_cluster=missing_cluster)
