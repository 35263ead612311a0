"""The laws of a relapse agent: how ready slices are to relapse, and how their episodes end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simtrack.agents.categories import Table, frozen_table, look_up
from simtrack.agents.heterogeneity import beta_parameters
from simtrack.agents.relapse.retry import Attempts
from simtrack.errors import InputError
from simtrack.plain import Document, Pairs
from simtrack.taxonomy import RELAPSE
from simtrack.validate import real

__all__ = [
    "OUTCOMES",
    "SLICES",
    "EpisodeLaws",
    "cell_weights",
    "latent_cells",
    "latent_thresholds",
    "propensities",
    "turn_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The codes that an episode of the agent can end in.
OUTCOMES = RELAPSE.codes[1:]
_MOST_TURNS = 10_000
_WRITTEN = (
    "rate unparseable empty miss icc task_share persistence common in_force classes loops slices"
)
_CLASSES = 3
_TABLES = ("rate", "unparseable", "empty", "miss")
_SHARES = ("icc", "task_share", "persistence", "common", "in_force")
#: A Beta law is cut into this many equally likely parts, each at its own mean: the mean of the law
#: is kept exactly; its variance falls by some 1e-5 of itself, and by 2e-3 at a rate of 0.01.
SLICES = 1024


@lru_cache(maxsize=256)
def propensities(rate: float, icc: float) -> Floats:
    """Give the propensities of `SLICES` equally likely kinds of slices, rising.

    Parameters
    ----------
    rate : float
        Their mean, from 0 to 1.
    icc : float
        Var / (rate (1 - rate)), from 0 to below 1; 0 gives the rate to every slice.

    Returns
    -------
    float64 array, shape (SLICES,)
        Rounded to multiples of 2^-40, so that libraries differ in no draw to speak of.

    Examples
    --------
    >>> kinds = propensities(0.25, 0.2)  # Beta(1, 3)
    >>> round(float(kinds.mean()), 9), round(float(kinds.var()) / (0.25 * 0.75), 4)
    (0.25, 0.2)
    """
    if icc == 0.0 or rate in (0.0, 1.0):
        return _frozen(np.full(SLICES, rate))
    from scipy.special import betainc, betaincinv

    a, b = beta_parameters(rate, icc)
    share = np.arange(SLICES + 1) / SLICES
    ends = betaincinv(a, b, share)
    # the mean of a part of Beta(a, b) is a difference of Beta(a + 1, b) probabilities
    means = np.clip(rate * SLICES * np.diff(betainc(a + 1.0, b, ends)), ends[:-1], ends[1:])
    return _frozen(np.round(means * 2.0**40) / 2.0**40)


@lru_cache(maxsize=1)
def latent_thresholds() -> Floats:
    """Give the normal deviates between which the kinds of slices lie: (SLICES - 1,), rising."""
    from scipy.special import ndtri

    return _frozen(np.round(ndtri(np.arange(1, SLICES) / SLICES) * 2.0**40) / 2.0**40)


def latent_cells(task: Floats, own: Floats, task_share: float) -> Ints:
    """Give the kind of each slice from its task's deviate and its own.

    `task_share` is the correlation of the latent deviates of two slices of one task.
    """
    z = math.sqrt(task_share) * task + math.sqrt(1.0 - task_share) * own
    return np.searchsorted(latent_thresholds(), z, side="right").astype(np.int64)


def cell_weights(task: Floats, task_share: float) -> Floats:
    """Give P(kind | task's deviate): shape (deviates, SLICES)."""
    from scipy.special import ndtr

    if task_share >= 1.0:
        weights = np.zeros((task.size, SLICES))
        weights[np.arange(task.size), latent_cells(task, task, 1.0)] = 1.0
        return weights
    centre = math.sqrt(task_share) * task[:, None]
    reached = ndtr((latent_thresholds() - centre) / math.sqrt(1.0 - task_share))
    ends = np.concatenate([np.zeros((task.size, 1)), reached, np.ones((task.size, 1))], axis=1)
    return np.diff(ends, axis=1)


def _frozen(values: Floats) -> Floats:
    values.flags.writeable = False
    return values


@dataclass(frozen=True, slots=True, init=False)
class EpisodeLaws(Document, schema="simtrack.agent/1", kind="relapse", names=_WRITTEN):
    """The parameters of a `RelapseAgent`, which says what each means, and how episodes end."""

    rate: Table[float]
    icc: float
    task_share: float
    persistence: float
    unparseable: Table[float]
    empty: Table[float]
    miss: Table[float]
    classes: tuple[float, float, float]
    loops: Pairs[Attempts]
    common: float
    in_force: float
    slices: tuple[str, ...]

    def __init__(
        self,
        rate: object,
        icc: float = 0.0,
        task_share: float = 0.0,
        persistence: float = 0.0,
        unparseable: object = 0.0,
        empty: object = 0.0,
        miss: object = 0.0,
        classes: tuple[float, float, float] = (0.0, 0.0, 0.0),
        loops: Mapping[str, Attempts] | tuple[tuple[str, Attempts], ...] = (),
        common: float = 0.0,
        in_force: float = 1.0,
        slices: tuple[str, ...] = ("condition", "load"),
    ) -> None:
        tables = zip(_TABLES, (rate, unparseable, empty, miss), strict=True)
        shares = zip(_SHARES, (icc, task_share, persistence, common, in_force), strict=True)
        pairs = loops.items() if isinstance(loops, Mapping) else loops
        fields: dict[str, object] = {name: frozen_table(name, lines) for name, lines in tables}
        fields |= {name: real(name, value, 0.0, 1.0) for name, value in shares}
        fields["classes"] = tuple(real("classes", c, 0.0, 1.0) for c in classes)
        fields["loops"] = Pairs((str(arm), loop) for arm, loop in pairs)
        fields["slices"] = tuple(map(str, slices))
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        for name in _TABLES:
            for _, value in getattr(self, name):
                real(name, value, 0.0, 1.0)
        if len(self.classes) != _CLASSES or sum(self.classes) > 1.0:
            raise InputError("classes", "three shares of at most 1 together", self.classes)
        if self.icc == 1.0:
            raise InputError("icc", "below 1", self.icc)

    def ending(self, cell: Mapping[str, str], relapse: Floats) -> tuple[Floats, Floats, Floats]:
        """How do episodes of a cell end, whose slices have these propensities?

        Returns
        -------
        unparseable, relapse, miss : float64 arrays of the propensities' shape
            P(unparseable | not empty), P(relapse | parseable) and
            P(miss | parseable, no relapse), of the last attempt.
        """
        unparseable = look_up("unparseable", self.unparseable, cell)
        miss = look_up("miss", self.miss, cell)
        loop = dict(self.loops).get(cell.get("arm", ""))
        if loop is None:
            shape = relapse.shape
            return np.full(shape, unparseable), relapse, np.full(shape, miss)
        final = loop.law(relapse, unparseable, miss)
        parsed = 1.0 - final[..., 0]
        status = _over(final[..., 1], parsed)
        return final[..., 0], status, _over(final[..., 2], parsed - final[..., 1])


def turn_of(cell: Mapping[str, str]) -> int:
    """Give the turn of a cell: its `depth`, a whole number; 0 where the design has none."""
    text = cell.get("depth", "0")
    if not text.isdecimal() or int(text) > _MOST_TURNS:
        raise InputError("depth", f"a whole number of turns from 0 to {_MOST_TURNS}", repr(text))
    return int(text)


def _over(top: Floats, bottom: Floats) -> Floats:
    return np.where(bottom > 0.0, top / np.where(bottom > 0.0, bottom, 1.0), 0.0)
