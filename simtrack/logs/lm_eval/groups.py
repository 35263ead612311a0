"""What is the mean of a group of tasks, and its standard error? Always of one and the same mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from simtrack.errors import InputError
from simtrack.options import Computation, Guarantee, choice

__all__ = ["GroupMean", "GroupWeights", "group_mean", "judge_group"]

GroupWeights = Literal["equal", "size"]
#: Two ways of adding up the same numbers.
_SAME = 1e-6
#: The harness pools variances, which differs in the last digits from the weighted formula.
_NEAR = 0.05


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean over a group of tasks, with the standard error of that very mean."""

    weights: GroupWeights
    mean: float
    standard_error: float
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, Any]:
        """Give the fields by name, with a schema id."""
        return {
            "schema": "simtrack.group-mean/1",
            "weights": self.weights,
            "mean": self.mean,
            "standard_error": self.standard_error,
            "computation": self.computation,
            "guarantee": self.guarantee,
        }


def group_mean(
    means: Sequence[float],
    stderrs: Sequence[float],
    sizes: Sequence[int],
    weights: GroupWeights = "equal",
) -> GroupMean:
    """What is the mean of several tasks, each one alike or each by its number of documents?

    With weights w that add up to 1 the mean is Σ w m and its standard error √Σ w² s²: tasks are
    taken as independent. A mean of one kind beside a standard error of the other, as some group
    rows have, says nothing.

    Parameters
    ----------
    means, stderrs, sizes : sequences, one entry a task
        Scores, standard errors (0 or more) and numbers of documents.
    weights : {"equal", "size"}

    Raises
    ------
    InputError
        No task, sequences of several lengths, or no documents.

    Examples
    --------
    >>> found = group_mean([0.8, 0.5], [0.04, 0.025], [100, 400], "size")
    >>> round(found.mean, 6), round(found.standard_error, 10)
    (0.56, 0.0215406592)
    """
    choice("weights", weights, GroupWeights)
    if not means or len({len(means), len(stderrs), len(sizes)}) != 1:
        raise InputError("means, stderrs and sizes", "of one length, at least 1", len(means))
    total = sum(sizes)
    if weights == "size" and (total <= 0 or min(sizes) < 0):
        raise InputError("sizes", "numbers of documents", list(sizes))
    share = [1 / len(means)] * len(means) if weights == "equal" else [n / total for n in sizes]
    mean = math.fsum(w * m for w, m in zip(share, means, strict=True))
    variance = math.fsum((w * s) ** 2 for w, s in zip(share, stderrs, strict=True))
    return GroupMean(weights, mean, math.sqrt(variance))


def judge_group(
    mean: float, stderr: float | None, parts: Sequence[Mapping[str, float]]
) -> tuple[str | None, float | None]:
    """Say whether a stored group row mixes two means, and give the standard error of its own.

    `parts` hold mean, stderr and n of the subtasks; without all three nothing can be said.
    """
    if not parts or stderr is None or any(math.isnan(v) for p in parts for v in p.values()):
        return None, None
    columns = [[p[name] for p in parts] for name in ("mean", "stderr", "n")]
    sizes = [int(n) for n in columns[2]]
    both = {
        w: group_mean(columns[0], columns[1], sizes, w) for w in ("equal", "size")
    }  # fmt: skip
    fits = [g for g in both.values() if math.isclose(g.mean, mean, rel_tol=_SAME, abs_tol=_SAME)]
    if not fits:
        return "mean is neither the equal nor the size-weighted one of its subtasks", None
    if any(math.isclose(g.standard_error, stderr, rel_tol=_NEAR) for g in fits):
        return None, None
    own = fits[0]
    return f"stderr is not that of its mean ({own.weights} weights)", own.standard_error
