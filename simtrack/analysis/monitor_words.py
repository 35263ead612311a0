"""What a monitored sequence rests on, in words: order, mixtures, clusters, trials left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.scope import nested, telling
from simtrack.errors import InputError
from simtrack.records import Records

__all__ = ["ROW", "assumed", "said_order", "taken_together"]

#: A cluster of its own for every row.
ROW = "row"


def said_order(order: str | None) -> str:
    """Say by what trials are ordered."""
    if order is None:
        return "trials are taken in the order of the file (--order COLUMN for another)"
    return f"trials are taken in the order of {order}"


def taken_together(
    records: Records, unit: str, levels: tuple[str, str] | None, column: str | None
) -> list[str]:
    """Refuse several models or arms that nobody compares; say what else is taken together."""
    said = []
    for name in telling(records, unit):
        known = ", ".join(records.factors[name].compact().levels)
        if name in {"model", "arm"} and levels is None:
            cure = f"Use --where {name}=LEVEL, or --compare with two of them."
            raise InputError(name, "one, or two to compare", known, cure=cure)
        if name not in {column, unit}:
            said.append(f"taken together, over {name}: {known}")
    return said


def assumed(
    rows: Records,
    values: NDArray[np.float64],
    step: str,
    lost: int,
    levels: tuple[str, str] | None,
) -> list[str]:
    """Say what the statement rests on, and what trials without a score might have made of it."""
    if step == ROW:
        said = ["it holds if the order of trials has nothing to do with how hard they are: put "
                "tasks in random order"]  # fmt: skip
        if _ids_repeat(rows):
            said.append(
                "ids repeat, and trials of one id go together: with row as the step neither the "
                "interval nor any p-value keeps its promise"
            )
    else:
        said = [
            f"one step is one {step}, and all weigh alike: put them in random order, and look when "
            f"they are complete; a {step} that gains trials changes earlier steps"
        ]
    if lost:
        said.append(
            f"{lost} left out without a score: stopping early costs nothing, but why these lack a "
            "score must have nothing to do with how they would have been scored"
        )
        if step == ROW and levels is None:
            total, n = float(values.sum()), values.size + lost
            said.append(
                f"had they all failed or all passed, the mean would be {total / n:.4f} or "
                f"{(total + lost) / n:.4f}"
            )
    return said


def _ids_repeat(rows: Records) -> bool:
    """Whether several trials are of one id (of one task)."""
    if "unit" not in rows.factors:
        return False
    within, name = nested(rows, "unit", ())
    codes = within.factors[name].codes
    return bool((np.bincount(codes[codes >= 0], minlength=1) > 1).any())
