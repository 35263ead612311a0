"""A share among repetitions of which some failed: never counted as misses in silence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction

from simtrack.inference.rates.wilson import wilson
from simtrack.method import Method
from simtrack.options import Computation, Guarantee
from simtrack.validate import integer, open_unit

__all__ = ["METHODS", "ShareWithFailures", "share_with_failures"]


@dataclass(frozen=True, slots=True)
class ShareWithFailures:
    """How large is a share, given that some repetitions gave no answer?

    Attributes
    ----------
    hits, answered, failed : int
        Repetitions with the event (a rejection, say), with any answer, and without one.
    share : Fraction or None
        hits / answered; None if nothing was answered.
    low, high : float or None
        Wilson's interval for `share`, for independent repetitions.
    failure_rate : Fraction
    bounds : (Fraction, Fraction)
        The share if every failure were a miss, and if every one were a hit.
    notes : tuple of str
    """

    hits: int
    answered: int
    failed: int
    share: Fraction | None
    low: float | None
    high: float | None
    failure_rate: Fraction
    bounds: tuple[Fraction, Fraction]
    level: float
    notes: tuple[str, ...] = ()
    method: str = "Wilson among the answered"
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON, fractions as floats."""
        plain = asdict(self) | {
            "share": None if self.share is None else float(self.share),
            "failure_rate": float(self.failure_rate),
            "bounds": [float(end) for end in self.bounds],
            "notes": list(self.notes),
        }
        return {"schema": "simtrack.share-with-failures/1"} | plain

    def __repr__(self) -> str:
        shown = "not estimable" if self.share is None else f"{float(self.share):.4f}"
        low, high = (float(end) for end in self.bounds)
        return (
            f"ShareWithFailures({shown} among {self.answered}, {self.failed} failed, "
            f"bounds {low:.4f} to {high:.4f})"
        )


def share_with_failures(
    hits: int, answered: int, failed: int, *, level: float = 0.95
) -> ShareWithFailures:
    """How large is a share (a power, a coverage) when some fits or runs failed?

    The estimate is among the repetitions that gave an answer; the bounds hold whatever the failed
    ones would have given. If all failed, nothing is estimable, which is not a share of 0.

    Parameters
    ----------
    hits : int, 0 to `answered`
    answered, failed : int, at least 0; together at least 1
    level : float
        Confidence level.

    References
    ----------
    Manski (2003), Partial Identification of Probability Distributions, chapter 1.

    Examples
    --------
    >>> share_with_failures(85, 170, 30)
    ShareWithFailures(0.5000 among 170, 30 failed, bounds 0.4250 to 0.5750)
    """
    open_unit("level", level)
    answered, failed = integer("answered", answered, 0), integer("failed", failed, 0)
    hits = integer("hits", hits, 0, answered)
    total = integer("answered and failed", answered + failed, 1)
    bounds = (Fraction(hits, total), Fraction(hits + failed, total))
    rate = Fraction(failed, total)
    if answered == 0:
        why = f"not estimable: all {failed} repetitions failed"
        return ShareWithFailures(0, 0, failed, None, None, None, rate, bounds, level, (why,))
    low, high = wilson(hits, answered, level=level)
    notes = (f"{failed} of {total} repetitions failed and are in no share",) if failed else ()
    share = Fraction(hits, answered)
    return ShareWithFailures(hits, answered, failed, share, low, high, rate, bounds, level, notes)


_OF_REPETITIONS = "of repetitions, not of trials: power bounds its own share in the same way"
METHODS = (
    Method(
        "share-with-failures", "missingness",
        "A power or coverage of which some repetitions failed: share among the rest, and bounds.",
        "Repetitions that are not independent.",
        "closed-form", "asymptotic", "Wilson 1927; Manski 2003",
        unasked=_OF_REPETITIONS,
    ),
)  # fmt: skip
