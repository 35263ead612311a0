"""The columns of the trial table: checked, selected, joined, and given to pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor, Losses
from simtrack.errors import InputError
from simtrack.note import Note
from simtrack.options import Status, choice
from simtrack.records.plain_columns import as_labels, as_list, as_numbers, is_numeric

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["IDENTITY", "TrialTable"]

#: Columns that are part of an id: equal ids under two of their levels are different units.
IDENTITY = ("task", "dataset", "benchmark", "suite", "scenario")


@dataclass(frozen=True, slots=True, eq=False)
class TrialTable:
    """Columns of one length, one row a trial; `Records` tells what each of them is."""

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
    ) -> Self:
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

    def select(self, **labels: str | Sequence[str]) -> Self:
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

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Self:
        """Keep the rows that `index` (positions or a mask) selects; losses stay as they are."""
        return self._with(
            {name: f.take(index) for name, f in self.factors.items()},
            {name: n[index] for name, n in self.numbers.items()},
        )

    def with_factors(self, **factors: Factor) -> Self:
        """Add labelled columns or put others in their place."""
        return self._with({**self.factors, **factors}, self.numbers)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Stack tables; a column that one of them lacks is missing in its rows."""
        if len(parts) == 1:
            return parts[0]
        labels = list(dict.fromkeys(name for part in parts for name in part.factors))
        numbers = list(dict.fromkeys(name for part in parts for name in part.numbers))
        return cls(
            {n: Factor.concatenate([_labels_of(part, n) for part in parts]) for n in labels},
            {n: np.concatenate([_numbers_of(part, n) for part in parts]) for n in numbers},
            sum((part.losses for part in parts), Losses()),
            {k: v for part in parts for k, v in part.parents.items()},
            parts[0].kind if parts else "trial",
            tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        )

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
        return f"{type(self).__name__}({len(self)} rows: {names})"

    def _with(
        self, factors: Mapping[str, Factor], numbers: Mapping[str, NDArray[np.float64]]
    ) -> Self:
        return type(self)(factors, numbers, self.losses, self.parents, self.kind, self.notes)


def _labels_of(part: TrialTable, name: str) -> Factor:
    found = part.factors.get(name)
    if name == "status" and found is None:
        return Factor.constant("scored", len(part))
    return found if found is not None else Factor((), np.full(len(part), -1, dtype=np.int32))


def _numbers_of(part: TrialTable, name: str) -> NDArray[np.float64]:
    return part.numbers.get(name, np.full(len(part), np.nan))
