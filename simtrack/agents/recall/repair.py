"""What gives a forgotten rule back: restating it, or anchoring it in three stages (StateTrack)."""

from __future__ import annotations

from dataclasses import dataclass

from simtrack.errors import InputError
from simtrack.plain import Document
from simtrack.validate import integer, real

__all__ = ["Anchoring", "Reinstatement", "Repair"]


@dataclass(frozen=True, slots=True)
class Reinstatement(Document):
    """How many violations end when the rule is stated again?

    Parameters
    ----------
    full : float
        Share of collapsed probes that recover fully.
    partial : float
        Share that recovers at least in part; full recovery is part of it.

    Examples
    --------
    >>> Reinstatement(full=0.5, partial=0.75).shares
    (0.5, 0.25, 0.25)
    """

    full: float
    partial: float

    def __post_init__(self) -> None:
        real("full", self.full, 0.0, 1.0)
        real("partial", self.partial, 0.0, 1.0)
        if self.partial < self.full:
            raise InputError("partial", f"at least full, {self.full:g}, part of it", self.partial)

    @property
    def recovered(self) -> float:
        """The share of violations that end: full recovery."""
        return self.full

    @property
    def shares(self) -> tuple[float, float, float]:
        """The shares of FULL, PARTIAL (in part only) and NONE: they sum to 1."""
        return self.full, self.partial - self.full, 1.0 - self.partial


@dataclass(frozen=True, slots=True)
class Anchoring(Document):
    """How many violations end under Structured State Anchoring, in its three stages?

    Parameters
    ----------
    prepend : float
        Share of violations that end when the active state is put before every turn.
    predicates : float
        Share of all violations that end, besides, when it is put as verifiable predicates.
    detect : float
        Chance that the post-check sees a violation.
    repair : float
        Chance that a retry mends it.
    retries : int
        The most retries; the paper allows 2.

    Examples
    --------
    >>> ssa = Anchoring(prepend=0.3, predicates=0.1, detect=1.0, repair=0.5)
    >>> round(ssa.recovered, 12), ssa.retries_per_violation  # 0.4 + 0.6 (1 - 0.5^2)
    (0.85, 1.5)
    """

    prepend: float
    predicates: float
    detect: float
    repair: float
    retries: int = 2

    def __post_init__(self) -> None:
        for name in ("prepend", "predicates", "detect", "repair"):
            real(name, getattr(self, name), 0.0, 1.0)
        integer("retries", self.retries, 0, 100)
        if self.prepend + self.predicates > 1.0:
            raise InputError(
                "predicates", "at most 1 - prepend, both being shares of one", self.predicates
            )

    @property
    def stages(self) -> tuple[float, float, float]:
        """The share of all violations that each stage ends."""
        left = 1.0 - self.prepend - self.predicates
        return self.prepend, self.predicates, left * self.repair * self.retries_per_violation

    @property
    def recovered(self) -> float:
        """The share of violations that end: the sum of the stages."""
        return sum(self.stages)

    @property
    def retries_per_violation(self) -> float:
        """The mean number of retries spent on an answer that violates the rule when checked."""
        again = self.detect * (1.0 - self.repair)  # the retry fails and is looked at again
        return self.detect * sum(again**k for k in range(self.retries))


Repair = Reinstatement | Anchoring
