"""The result of testing two levels in every group of a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from simtrack.analysis.catalogue import find_method
from simtrack.answer import Answer
from simtrack.counts import Loss
from simtrack.errors import InputError
from simtrack.inference.differences.margin import Margin
from simtrack.note import plain_notes
from simtrack.options import Alternative

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TestAdjustment", "TestFamily", "TestRow"]

#: How p-values are adjusted for their family; max-t is for sign-flip alone.
TestAdjustment = Literal[
    "bonferroni", "holm", "hochberg", "benjamini-hochberg", "benjamini-yekutieli", "max-t"
]


@dataclass(frozen=True, slots=True)
class TestRow:
    """What does the method say of one group: one hypothesis of the family?

    Attributes
    ----------
    labels : tuple of str
        One for each name in `TestFamily.by`.
    clusters : int
        Clusters with both levels; with any of them for methods that match none.
    trials_a, trials_b : int
        Trials of each level that count.
    unpaired : int
        Scored trials that found no partner.
    answer : Answer
        Difference, interval, p-value, floor, refusal and notes.
    adjusted : float or None
        The p-value adjusted for the family; None without a p-value, or where nothing was asked.
    family : str
        The family that it was adjusted in.
    """

    __test__: ClassVar[bool] = False

    labels: tuple[str, ...]
    clusters: int
    trials_a: int
    trials_b: int
    unpaired: int
    answer: Answer
    adjusted: float | None = None
    family: str = "all"

    def __repr__(self) -> str:
        name, v = "/".join(self.labels) or "all", self.answer
        p = "p refused" if v.refused else "no p" if v.pvalue is None else f"p={v.pvalue:.4g}"
        gap = "not defined" if v.estimate is None else f"{v.estimate:+.4f}"
        return f"TestRow({name}: {gap}, {p})"


@dataclass(frozen=True, slots=True)
class TestFamily:
    """Which of these groups differ between two levels, once it is counted how many were tested?

    Attributes
    ----------
    factor, a, b : str
        Differences are a minus b.
    cluster, method, alternative : str
    by : tuple of str
    level : float
        Of the intervals; a test that cannot reach 1 - level is refused.
    adjust : str or None
    sizes : dict of str to int
        How many hypotheses each family was adjusted for.
    controls : str
        Which error the adjustment controls, under which dependence.
    rows : tuple of TestRow
        Every group, those without a verdict in their place.
    losses : tuple of Loss
    notes : tuple of str
    margin : Margin or None
        The differences that are to be ruled out, where they are; then p and intervals are those of
        equivalence or non-inferiority.
    """

    __test__: ClassVar[bool] = False

    factor: str
    a: str
    b: str
    cluster: str
    method: str
    alternative: Alternative
    by: tuple[str, ...]
    level: float
    adjust: TestAdjustment | None
    sizes: dict[str, int]
    controls: str
    rows: tuple[TestRow, ...]
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    margin: Margin | None = None

    @property
    def answer(self) -> Answer:
        """The answer, where there is one hypothesis."""
        if len(self.rows) != 1:
            raise InputError("rows", "one, to have one answer", len(self.rows))
        return self.rows[0].answer

    @property
    def quantity(self) -> str:
        """What the estimates are: "difference", "ratio", "median", "kappa" and so on."""
        return find_method(self.method).quantity or "difference"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        head = {name: getattr(self, name) for name in _HEAD}
        rows = [_plain_row(self.by, row) for row in self.rows]
        left_out: dict[str, int] = {}
        for loss in self.losses:
            left_out[loss.kind] = left_out.get(loss.kind, 0) + loss.n
        return (
            {"schema": "simtrack.test/2"}
            | head
            | ({} if self.margin is None else {"margin": self.margin.to_dict()})
            | ({} if self.quantity == "difference" else {"quantity": self.quantity})
            | {"by": list(self.by), "sizes": dict(self.sizes), "rows": rows}
            | {"left_out": dict(sorted(left_out.items())), "notes": plain_notes(self.notes)}
        )

    def to_frame(self) -> pd.DataFrame:
        """Give one row a group; the labels are columns, the notes one text."""
        import pandas as pd

        rows = []
        for row in self.rows:
            plain = _plain_row(self.by, row)
            plain["notes"] = "; ".join(row.answer.notes)
            labels = plain.pop("labels")
            rows.append((labels if isinstance(labels, dict) else {}) | plain)
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        return (
            f"TestFamily({self.a} - {self.b} by {self.method}: {len(self.rows)} hypotheses, "
            f"adjusted by {self.adjust or 'nothing'})"
        )


#: What a row says in places of its own; the rest of an answer's extra follows.
_PLACED = ("interval", "floor", "mcse")
_HEAD = ("factor", "a", "b", "cluster", "method", "alternative", "level", "adjust", "controls")


def _plain_row(by: Sequence[str], row: TestRow) -> dict[str, object]:
    v, floor = row.answer, row.answer.extra.get("floor")
    own: dict[str, object] = {
        "difference": v.estimate, "low": v.low, "high": v.high,
        "interval": v.extra.get("interval", ""), "pvalue": v.pvalue,
        "floor": float(floor) if isinstance(floor, Fraction) else None, "refused": v.refused,
        "mcse": v.extra.get("mcse"), "computation": v.computation, "guarantee": v.guarantee,
        "notes": plain_notes(v.notes), "pvalue_exact": _text(v.exact),
    }  # fmt: skip
    own |= {n: value for n, value in v.extra.items() if n not in _PLACED}
    counts = {n: getattr(row, n) for n in ("clusters", "trials_a", "trials_b", "unpaired")}
    labels: Mapping[str, str] = dict(zip(by, row.labels, strict=True))
    return {"labels": labels} | counts | own | {"adjusted": row.adjusted, "family": row.family}


def _text(exact: object) -> str | None:
    return str(exact) if isinstance(exact, Fraction) else None
