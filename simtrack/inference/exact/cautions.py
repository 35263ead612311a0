"""When is the p of a sign-flip test to be trusted, and when is there none?"""

from __future__ import annotations

from collections.abc import Iterator

from simtrack.note import Note
from simtrack.options import Alternative

__all__ = ["MOST_IMBALANCE", "few_differ", "refusal", "symmetry_cautions"]

#: Factors that nobody can assign at random: a later stage always follows an earlier one.
_NOT_RANDOMISED = frozenset({"stage", "turn", "depth", "position", "repetition"})
#: Most of Σ|m - n| / Σ(m + n) over the trials of the arms within clusters: 1/3 is two to one.
MOST_IMBALANCE = 1.0 / 3.0


def refusal(
    clusters: int, imbalance: float, alpha: float, alternative: Alternative = "two-sided"
) -> str:
    """Say why the sign-flip test gives no verdict, or nothing: too few clusters, unequal arms.

    Examples
    --------
    >>> refusal(4, 0.0, 0.05)
    '4 clusters can give no p below 0.125, above 0.05'
    """
    floor = (2.0 if alternative == "two-sided" else 1.0) * 0.5**clusters
    if floor > alpha:
        return f"{clusters} clusters can give no p below {floor:.3g}, above {alpha:g}"
    if imbalance > MOST_IMBALANCE:
        return (
            "the arms have very different numbers of trials within clusters, so differences are "
            "skewed under the null; compare equal numbers of trials"
        )
    return ""


def symmetry_cautions(imbalance: float, factor: str) -> Iterator[Note]:
    """Say where flipping the signs of cluster differences is not quite fair."""
    if imbalance > 0.0:
        yield Note(
            "unequal-trials",
            "the arms have different numbers of trials in some clusters: the sign-flip p is "
            "approximate, since differences are not quite symmetric",
        )
    if factor in _NOT_RANDOMISED:
        yield Note(
            "not-randomised",
            f"the sign-flip p assumes differences symmetric about 0 under the null, and {factor} "
            "is not assigned at random",
        )


def few_differ(live: int, of: int, what: str, sides: int, alpha: float) -> tuple[Note, ...]:
    """Say that what was seen left the test no way to reject, though the design had one."""
    floor = min(1.0, sides * 0.5**live)
    if live == 0 or floor <= alpha:
        return ()
    text = f"{live} of {of} {what} differ at all: no p below {floor:.3g} was possible"
    return (Note("few-differ", text, n=live),)
