"""An attempt loop with a checker: how an episode ends when what is reported is tried again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simtrack.errors import InputError
from simtrack.plain import Document
from simtrack.validate import integer, real

__all__ = ["FAILURES", "Attempts"]

Floats = NDArray[np.float64]
#: What can be wrong with an attempt; the last state is that nothing is.
FAILURES = ("unparseable", "relapse", "miss")


@dataclass(frozen=True, slots=True)
class Attempts(Document):
    """Which failures does the checker see, and what does a retry do about them?

    A seen failure is reported and the model tries again while attempts and tokens last. A retry
    repeats the reported failure with its chance `again`; if it does not, the attempt is like a
    first one that is free of that failure. A checker that is blind to tombstones cannot see a
    relapse. Compilation is one attempt at a low rate; a ladder changes `again`.

    Parameters
    ----------
    sees : tuple of 3 floats
        The chance that the checker reports each of `FAILURES`.
    again : tuple of 3 floats
        The chance that a retry repeats each of them.
    attempts : int
        The most attempts.
    budget_tokens, first_tokens, retry_tokens : int
        An attempt is made only if its tokens fit in what is left of the budget.

    Examples
    --------
    >>> loop = Attempts(sees=(1, 1, 1), again=(0.5, 0.4, 0.5))
    >>> float(loop.law(np.array([0.25]))[0, 1].round(12))  # 0.25 * 0.4 * 0.4
    0.04
    """

    sees: tuple[float, float, float]
    again: tuple[float, float, float] = (0.0, 0.0, 0.0)
    attempts: int = 3
    budget_tokens: int = 4000
    first_tokens: int = 1000
    retry_tokens: int = 1000

    def __post_init__(self) -> None:
        for name in ("sees", "again"):
            values = tuple(real(name, v, 0.0, 1.0) for v in getattr(self, name))
            if len(values) != len(FAILURES):
                raise InputError(name, f"one chance for each of {', '.join(FAILURES)}", values)
            object.__setattr__(self, name, values)
        integer("attempts", self.attempts, 1, 100)
        integer("first_tokens", self.first_tokens, 1)
        integer("retry_tokens", self.retry_tokens, 1)
        integer("budget_tokens", self.budget_tokens, self.first_tokens)

    @property
    def affordable(self) -> int:
        """The attempts that the budget pays for, at most `attempts`."""
        left = self.budget_tokens - self.first_tokens
        return min(self.attempts, 1 + left // self.retry_tokens)

    def law(self, relapse: Floats | float, unparseable: float = 0.0, miss: float = 0.0) -> Floats:
        """How do episodes end whose first attempts fail like this? Exact, attempt by attempt.

        Parameters
        ----------
        relapse : float64 array of any shape
            P(relapse | parseable) of a first attempt.
        unparseable, miss : float
            P(unparseable), and P(miss | parseable, no relapse), of a first attempt.

        Returns
        -------
        float64 array, shape (..., 4)
            Shares that end unparseable, relapsed, with a clause missed, and good.
        """
        relapse = np.asarray(relapse, dtype=np.float64)
        first = _first(relapse, unparseable, miss)
        now, final = first, np.zeros_like(first)
        for _ in range(self.affordable - 1):
            tried = now[..., : len(FAILURES)] * np.array(self.sees)
            final[..., : len(FAILURES)] += now[..., : len(FAILURES)] - tried
            final[..., -1] += now[..., -1]
            now = sum(
                (tried[..., k, None] * self._after(first, k) for k in range(len(FAILURES))),
                np.zeros_like(first),
            )
        return final + now

    def _after(self, first: Floats, failure: int) -> Floats:
        """The law of a retry after this failure."""
        again = self.again[failure]
        fresh = first.copy()
        fresh[..., failure] = 0.0
        total = fresh.sum(axis=-1, keepdims=True)
        good = np.zeros_like(first)
        good[..., -1] = 1.0
        free = np.where(total > 0.0, fresh / np.where(total > 0.0, total, 1.0), good)
        after = (1.0 - again) * free
        after[..., failure] = again
        return after


def _first(relapse: Floats, unparseable: float, miss: float) -> Floats:
    parsed = 1.0 - unparseable
    clear = parsed * (1.0 - relapse)
    parts = (
        np.broadcast_to(unparseable, relapse.shape),
        parsed * relapse,
        clear * miss,
        clear * (1.0 - miss),
    )
    return np.stack(parts, axis=-1)
