"""Which interval a rate or a mean gets where nobody names one."""

from __future__ import annotations

from typing import Final

from simtrack.counts import Totals
from simtrack.note import Note

__all__ = ["BOUNDED", "UNBOUNDED", "default_method"]

#: Names in the catalogue: scores in [0, 1], 0/1 outcomes among them, and scores of other ranges.
BOUNDED: Final = "bounded-mean"
UNBOUNDED: Final = "cluster-t"


def default_method(totals: Totals, bounded: bool) -> tuple[str, Note]:
    """Which method of the catalogue should give the interval, and why?

    Scores in [0, 1], 0/1 outcomes or graded, get the bounded mean of clusters: 95 % intervals cover
    .95 and more within Monte Carlo error, with 6 to 164 clusters, one trial a cluster or many, and
    some per cent of clusters that never pass, where Wilson's on the effective number of trials
    falls to .40 (`studies/hard_populations`). Others get cluster t, as no bound is known for them.

    Parameters
    ----------
    totals : Totals
        Shape (clusters, conditions).
    bounded : bool
        Every score lies in [0, 1]; sums alone cannot tell.

    Examples
    --------
    >>> name, why = default_method(Totals.from_arrays([3, 4], [4, 4]), True)
    >>> name, why.code
    ('bounded-mean', 'default-interval')
    """
    if bounded and ((totals.numerator >= 0.0) & (totals.numerator <= totals.denominator)).all():
        why = (
            f"interval: {BOUNDED}, which few clusters or skewed scores in [0, 1] do not mislead; "
            "--method names narrower ones that assume more"
        )
        return BOUNDED, Note("default-interval", why)
    why = f"interval: {UNBOUNDED}, as scores lie outside [0, 1]; few or skewed clusters mislead it"
    return UNBOUNDED, Note("default-interval", why)
