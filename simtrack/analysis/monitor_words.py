"""What a monitored sequence rests on, in words: order, mixtures, clusters, trials left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simtrack.analysis.crossing import group_codes
from simtrack.analysis.scope import Scope, differing
from simtrack.errors import InputError
from simtrack.note import Note
from simtrack.records import IDENTITY, Records

__all__ = ["REPEATED", "ROW", "assumed", "said_order", "taken_together"]

#: A cluster of its own for every row.
ROW = "row"
#: What is wrong with rows as steps where tasks repeat: a warning, as no promise is left.
REPEATED = (
    "tasks repeat, and with row as the step repeats of one task are taken as independent trials, "
    "which they are not: neither the interval nor an e-value or p keeps its promise. Leave out "
    "--cluster row, or name the column of tasks"
)
#: What trials repeat, if they do: ids, and without them what else may stand for a task.
_IDS = ("unit", "cluster", "scenario", "task")


def said_order(order: str | None) -> str:
    """Say by what trials are ordered."""
    if order is None:
        return "trials are taken in the order of the file (--order COLUMN for another)"
    return f"trials are taken in the order of {order}"


def taken_together(scope: Scope) -> list[Note]:
    """Refuse several models or arms that nobody compares; say what else is taken together."""
    said = []
    for name in dict.fromkeys((*differing(scope.records, scope.cluster), *scope.conditions)):
        factor = scope.records.factors.get(name)
        known = "" if factor is None else ", ".join(factor.compact().levels)
        if name in {"model", "arm"} and scope.factor is None:
            cure = f"Use --where {name}=LEVEL, or --compare with two of them."
            raise InputError(name, "one, or two to compare", known, cure=cure)
        if name not in {scope.factor, scope.cluster}:
            said.append(Note("pooled", f"taken together, over {name}: {known}".rstrip(": ")))
    return said


def assumed(
    rows: Records,
    values: NDArray[np.float64],
    step: str,
    lost: int,
    levels: tuple[str, str] | None,
    estimand: str | None = None,
) -> list[str]:
    """Say what the statement rests on, and what trials without a score might have made of it."""
    if step == ROW:
        said = ["it holds if the order of trials has nothing to do with how hard they are: put "
                "tasks in random order"]  # fmt: skip
        if _ids_repeat(rows):
            said.insert(0, REPEATED)
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
        if estimand is not None:
            said.append(f"of which of them {estimand} would have been asked is not looked up")
        elif step == ROW and levels is None:
            total, n = float(values.sum()), values.size + lost
            said.append(
                f"had they all failed or all passed, the mean would be {total / n:.4f} or "
                f"{(total + lost) / n:.4f}"
            )
    return said


def _ids_repeat(rows: Records) -> bool:
    """Whether several trials are of one id: of one task, scenario or cluster if there are no ids.

    A column that is the same for all rows names the benchmark and no task of it.
    """
    for column in _IDS:
        if column in rows.factors:
            outer = [n for n in IDENTITY if n in rows.factors and n != column]
            here = rows.factors[column].codes >= 0
            sizes = np.unique(group_codes(rows, (*outer, column))[here], return_counts=True)[1]
            if column == "unit":
                return bool((sizes > 1).any())
            if (sizes > 1).any() and sizes.size > 1:
                return True
    return False
