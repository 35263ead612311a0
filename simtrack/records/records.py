"""The trial table: one row a planned opportunity that left a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Counts, Factor, Losses, Sums
from simtrack.errors import InputError
from simtrack.note import Note
from simtrack.options import MissingCluster, Status, choice
from simtrack.records.plain_columns import as_labels, as_list, as_numbers, is_numeric

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["IDENTITY", "Records"]

#: Columns that are part of an id: equal ids under two of their levels are different units.
IDENTITY = ("task", "dataset", "benchmark", "suite", "scenario")


@dataclass(frozen=True, slots=True, eq=False)
class Records:
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

    factors: Mapping[str, Factor]
    numbers: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)
    parents: Mapping[str, str] = field(default_factory=dict)
    kind: str = "trial"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Labels that notes quote may hold line breaks; a note is one line.
        object.__setattr__(self, "notes", tuple(map(Note.of, self.notes)))
        lengths = {name: len(factor) for name, factor in self.factors.items()}
        lengths |= {name: number.size for name, number in self.numbers.items()}
        if len(set(lengths.values())) > 1:
            raise InputError("columns", "of one length", lengths)
        both = set(self.factors) & set(self.numbers)
        if both:
            raise InputError("columns", "either labels or numbers", ", ".join(sorted(both)))
        for level in self.factors["status"].levels if "status" in self.factors else ():
            choice("status", level, Status)

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Sequence[object]],
        *,
        levels: Mapping[str, Sequence[str]] | None = None,
        kind: str = "trial",
    ) -> Records:
        """Build a table from plain columns: text becomes labels, numbers stay numbers.

        None, NaN, and pandas' NA and NaT are missing. Integers become labels unless the column is
        `value` or `signal`; a column of floats is one of numbers.

        Raises
        ------
        InputError
            No mapping of names to lists, a score that is no number, a label that is nested, a
            status that is no `Status`, or columns of several lengths.
        """
        if not isinstance(columns, Mapping):
            raise InputError("columns", "a mapping from names to lists", type(columns).__name__)
        factors: dict[str, Factor] = {}
        numbers: dict[str, NDArray[np.float64]] = {}
        for name, column in columns.items():
            listed = as_list(name, column)
            if is_numeric(name, listed):
                numbers[name] = as_numbers(name, listed)
            else:
                factors[name] = Factor.from_values(
                    as_labels(name, listed), (levels or {}).get(name)
                )
        return cls(factors, numbers, kind=kind)

    def __len__(self) -> int:
        for factor in self.factors.values():
            return len(factor)
        for number in self.numbers.values():
            return int(number.size)
        return 0

    def factor(self, name: str) -> Factor:
        """Give a labelled column, or refuse and print the names there are."""
        if name not in self.factors:
            from difflib import get_close_matches

            known = sorted(set(self.factors) - {"status", "reason"})
            near = get_close_matches(name, known, 1)
            cure = f"Did you mean {near[0]}?" if near else ""
            raise InputError("column", f"one of {', '.join(known)}", repr(name), cure=cure)
        return self.factors[name]

    def select(self, **labels: str | Sequence[str]) -> Records:
        """Keep the rows with these labels: `select(metric="clean", model=["a", "b"])`.

        Losses that are known to have another label go with the rows; those that do not say stay.
        """
        keep = np.ones(len(self), dtype=bool)
        losses = self.losses.entries
        for name, wanted in labels.items():
            factor = self.factor(name)
            listed = [wanted] if isinstance(wanted, str) else list(wanted)
            codes = [factor.code_of(w, name) for w in listed]
            keep &= np.isin(factor.codes, codes)
            kept = {factor.levels[code] for code in codes}
            losses = tuple(x for x in losses if dict(x.where).get(name) in (None, *kept))
        return replace(self.take(keep), losses=Losses(losses))

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Records:
        """Keep the rows that `index` (positions or a mask) selects; losses stay as they are."""
        return self._with(
            {name: f.take(index) for name, f in self.factors.items()},
            {name: n[index] for name, n in self.numbers.items()},
        )

    def with_factors(self, **factors: Factor) -> Records:
        """Add labelled columns or put others in their place."""
        return self._with({**self.factors, **factors}, self.numbers)

    @staticmethod
    def concatenate(parts: Sequence[Records]) -> Records:
        """Stack tables; a column that one of them lacks is missing in its rows."""
        if len(parts) == 1:
            return parts[0]
        labels = list(dict.fromkeys(name for part in parts for name in part.factors))
        numbers = list(dict.fromkeys(name for part in parts for name in part.numbers))
        return Records(
            {n: Factor.concatenate([_labels_of(part, n) for part in parts]) for n in labels},
            {n: np.concatenate([_numbers_of(part, n) for part in parts]) for n in numbers},
            sum((part.losses for part in parts), Losses()),
            {k: v for part in parts for k, v in part.parents.items()},
            parts[0].kind if parts else "trial",
            tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )

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
        from simtrack.records.reduction import to_counts

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
        from simtrack.records.reduction import to_sums

        return to_sums(self, cluster=cluster, by=by, value=value, missing_cluster=missing_cluster)

    def to_pandas(self) -> pd.DataFrame:
        """Give the table as a data frame, labels as categories."""
        import pandas as pd

        columns: dict[str, object] = {
            name: pd.Categorical.from_codes(f.codes, pd.Index(list(f.levels), dtype=object))
            for name, f in self.factors.items()
        }
        return pd.DataFrame(columns | dict(self.numbers))

    def __repr__(self) -> str:
        names = ", ".join((*self.factors, *self.numbers))
        return f"Records({len(self)} rows: {names})"

    def _with(
        self, factors: Mapping[str, Factor], numbers: Mapping[str, NDArray[np.float64]]
    ) -> Records:
        return Records(factors, numbers, self.losses, self.parents, self.kind, self.notes)


def _labels_of(part: Records, name: str) -> Factor:
    found = part.factors.get(name)
    if name == "status" and found is None:
        return Factor.constant("scored", len(part))
    return found if found is not None else Factor((), np.full(len(part), -1, dtype=np.int32))


def _numbers_of(part: Records, name: str) -> NDArray[np.float64]:
    return part.numbers.get(name, np.full(len(part), np.nan))
