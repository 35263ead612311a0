"""A study before it is run: how many clusters and repetitions, under which conditions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simtrack.errors import InputError
from simtrack.plain import Document, Pairs
from simtrack.validate import integer

__all__ = ["Design"]

_FIELDS = ("clusters", "repetitions", "conditions", "between", "cluster_name")
_MOST_CELLS = 100_000


@dataclass(frozen=True, slots=True, init=False)
class Design(Document):
    """How many trials are planned, of what?

    Every cluster is run `repetitions` times in every cell of the crossed conditions; a factor named
    in `between` varies from cluster to cluster instead: clusters take its levels in turn, so its
    levels share no cluster.

    Parameters
    ----------
    clusters : int
        Resampling units (tasks, scenarios), at least 1.
    repetitions : int
        Trials of a cluster in a cell, at least 1.
    conditions : mapping of name to levels
        Factors and their levels, in their order: {"stage": STAGES, "arm": ("bare", "compiled")}.
    between : sequence of str
        The factors among them that vary between clusters.
    cluster_name : str
        What the clusters are called in tables and logs.

    Examples
    --------
    >>> design = Design(12, 20, {"stage": ("READY", "COMPLETED")})
    >>> design.trials, design.cells[1]
    (480, {'stage': 'COMPLETED'})
    """

    clusters: int
    repetitions: int
    conditions: Pairs[tuple[str, ...]]
    between: tuple[str, ...]
    cluster_name: str

    def __init__(
        self,
        clusters: int,
        repetitions: int = 1,
        conditions: Mapping[str, Sequence[str]] | Sequence[tuple[str, Sequence[str]]] = (),
        between: Sequence[str] = (),
        cluster_name: str = "scenario",
    ) -> None:
        pairs = conditions.items() if isinstance(conditions, Mapping) else conditions
        frozen = Pairs((str(name), tuple(map(str, levels))) for name, levels in pairs)
        count = 1
        for name, levels in frozen:
            if not levels or len(set(levels)) != len(levels):
                raise InputError(f"conditions[{name}]", "distinct levels, at least one", levels)
            count *= len(levels)
        if count > _MOST_CELLS:
            raise InputError("conditions", f"at most {_MOST_CELLS} cells", count)
        names = [name for name, _ in frozen]
        if len(set(names)) != len(names):
            raise InputError("conditions", "distinct names", ", ".join(names))
        for name in between:
            if name not in names:
                raise InputError("between", f"among the conditions ({', '.join(names)})", name)
        object.__setattr__(self, "clusters", integer("clusters", clusters, 1))
        object.__setattr__(self, "repetitions", integer("repetitions", repetitions, 1))
        object.__setattr__(self, "conditions", frozen)
        object.__setattr__(self, "between", tuple(between))
        object.__setattr__(self, "cluster_name", str(cluster_name))

    @property
    def cells(self) -> tuple[dict[str, str], ...]:
        """The labels of every cell of the crossed conditions, last factor fastest."""
        names = [name for name, _ in self.conditions]
        levels = [levels for _, levels in self.conditions]
        return tuple(dict(zip(names, c, strict=True)) for c in itertools.product(*levels))

    def runs(self, cluster: int, cell: Mapping[str, str]) -> bool:
        """Say whether a cluster is run in a cell: always, but for factors between clusters.

        Clusters take the combinations of `between` levels in turn.
        """
        if not self.between:
            return True
        axes = [levels for name, levels in self.conditions if name in self.between]
        names = [name for name, _ in self.conditions if name in self.between]
        turns = list(itertools.product(*axes))
        return tuple(cell[name] for name in names) == turns[cluster % len(turns)]

    @property
    def trials(self) -> int:
        """All planned trials."""
        within = (len(levels) for name, levels in self.conditions if name not in self.between)
        return self.repetitions * self.clusters * math.prod(within)

    def with_(self, **changes: Any) -> Design:
        """Give this design with some fields changed; all checks are made again."""
        return Design(**{**{name: getattr(self, name) for name in _FIELDS}, **changes})
