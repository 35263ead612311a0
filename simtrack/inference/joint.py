"""Joint outcomes of pairs: each cluster tried once under each of two conditions."""

from __future__ import annotations

import numpy as np

from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.inference.two_rates import Two, two_columns

__all__ = ["joint_counts"]


def joint_counts(
    totals: Totals, first: int = 0, second: int = 1
) -> tuple[Two, tuple[float, float, float, float], tuple[str, ...]]:
    """How many pairs succeeded in both conditions, in the first or second only, in neither?

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions), with at most one 0/1 trial a cluster and condition. Clusters
        that lack one of the two are left out, and a note counts them.
    first, second : int
        Columns of `totals`.

    Returns
    -------
    two : Two
        The two columns over the pairs alone.
    cells : tuple of float
        Pairs with success in both, first only, second only, neither.
    notes : tuple of str

    Raises
    ------
    InputError
        More than one trial in a cluster and condition, or a score other than 0 and 1.

    Examples
    --------
    >>> joint_counts(Totals.from_arrays([[1, 0], [1, 1], [0, 0]], [[1, 1], [1, 1], [1, 0]]))[1:]
    ((1.0, 1.0, 0.0, 0.0), ('unpaired clusters left out: 1',))
    """
    two = two_columns(totals, first, second)
    top, bottom = two.totals.numerator, two.totals.denominator
    if (bottom > 1.0).any():
        cure = "Use newcombe-clustered or paired-cluster-t."
        raise InputError(
            "trials", "at most one a cluster and condition", int(bottom.max()), cure=cure
        )
    if ((top != 0.0) & (top != 1.0)).any():
        raise InputError("scores", "0 or 1 for pairs", cure="Use paired-cluster-t.")
    both = (bottom[:, 0] > 0.0) & (bottom[:, 1] > 0.0)
    kept = Totals.from_arrays(
        top[both],
        bottom[both],
        clusters=[label for label, here in zip(totals.clusters, both, strict=True) if here],
        conditions=two.totals.conditions,
        by=two.totals.by,
        name=totals.name,
    )
    a, b = top[both].T
    cells = (
        float((a * b).sum()),
        float((a * (1.0 - b)).sum()),
        float(((1.0 - a) * b).sum()),
        float(((1.0 - a) * (1.0 - b)).sum()),
    )
    dropped = int((np.any(bottom > 0.0, axis=1) & ~both).sum())
    notes = (f"unpaired clusters left out: {dropped}",) if dropped else ()
    return two_columns(kept, 0, 1), cells, notes
