"""What every agent offers: exact expectations, drawn counts, and drawn trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired, Protocol, TypedDict, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.estimands import Contrast, Estimand
from simtrack.records import Records
from simtrack.rng import Stream

__all__ = ["Agent", "DrawOptions", "expected_value", "planned_trials", "shuffled_records"]


class DrawOptions(TypedDict):
    """Which draws, for which clusters, and how the work is shared: what every `Stream` takes."""

    replicates: int | range
    clusters: int
    threads: NotRequired[int]
    chunk: NotRequired[int | None]


@runtime_checkable
class Agent(Protocol):
    """A table of probabilities over a design, with clusters that differ.

    All agents are frozen, hashable and picklable, and `to_dict` gives plain data (with a schema id
    and a `kind`) from which an equal agent is made.
    """

    def counts(
        self,
        design: Design,
        draws: int | range,
        seed: int,
        *,
        threads: int = 1,
        chunk: int | None = None,
    ) -> CountsBatch:
        """Draw studies of this design: one draw a cell, not one a trial.

        `draws` is how many, from 0, or which ones: draw r is the same whatever else is drawn.
        """
        ...

    def records(self, design: Design, seed: int) -> Records:
        """Draw one study trial by trial, with outcome codes, as a reader of its log gives it."""
        ...

    def expectation(self, what: Estimand | Contrast, design: Design) -> float:
        """Give the true value of an estimand under this agent: exact, by quadrature or algebra."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Give plain data with a schema id and the agent's kind."""
        ...


# What all agents share: true values from expected counts, and trials from drawn counts.
def planned_trials(design: Design) -> NDArray[np.int64]:
    """Give the planned trials by cluster and cell: int64, shape (clusters, cells).

    Examples
    --------
    >>> planned_trials(Design(2, 5, {"arm": ("a", "b")}, between=["arm"])).tolist()
    [[5, 0], [0, 5]]
    """
    shape = (design.clusters, len(design.cells))
    if not design.between:
        return np.full(shape, design.repetitions, dtype=np.int64)
    runs = [[design.runs(g, cell) for cell in design.cells] for g in range(design.clusters)]
    return np.where(np.array(runs), np.int64(design.repetitions), np.int64(0))


def expected_value(
    what: Estimand | Contrast,
    design: Design,
    outcomes: Sequence[str],
    expected: NDArray[np.float64],
    labels: Sequence[dict[str, str]] | None = None,
) -> float:
    """Give the estimand at expected counts: E[numerator] / E[denominator], term by term.

    Parameters
    ----------
    expected : float64 array, shape (clusters, cells, outcomes)
        The mean of each count.
    labels : sequence of mappings, optional
        Of each cell; by default the design's.

    Returns
    -------
    float
        NaN where a denominator is expected to be empty.
    """
    table = cast("NDArray[Any]", expected)[None]
    batch = CountsBatch(table, tuple(outcomes), tuple(labels or design.cells), design.cluster_name)
    if isinstance(what, Estimand):
        top, bottom = what.batch(batch)
        return _ratio(float(top.sum()), float(bottom.sum()))
    tops, bottoms, weights = what.batch(batch)
    over = zip(weights.tolist(), tops[0].sum(axis=0), bottoms[0].sum(axis=0), strict=True)
    return float(sum(w * _ratio(float(a), float(b)) for w, a, b in over))


def shuffled_records(batch: CountsBatch, stream: Stream) -> Records:
    """Spread the first study of a batch over trials, the outcomes of a cell in random order.

    Where trials of a cell are exchangeable this is their exact law, and the records' counts are
    the batch's.
    """
    columns: dict[str, list[str]] = {batch.cluster_name: []}
    columns |= {name: [] for name in batch.labels[0]}
    columns |= {"repetition": [], "outcome": []}
    for c, label in enumerate(batch.labels):
        keys = stream.labelled(order_of=tuple(f"{k}={v}" for k, v in label.items()))
        cells = batch.cells[0, :, c]
        most = int(cells.sum(axis=1).max(initial=0))
        if most == 0:
            continue
        places = keys.uniform(replicates=1, clusters=batch.clusters, draws_each=most)[0]
        for g in range(batch.clusters):
            drawn = np.repeat(np.arange(len(batch.outcomes)), cells[g])
            order = np.argsort(places[g, : drawn.size], kind="stable")
            columns["outcome"] += [batch.outcomes[k] for k in drawn[order]]
            columns["repetition"] += [f"{r + 1}" for r in range(drawn.size)]
            columns[batch.cluster_name] += [f"{g + 1}"] * drawn.size
            for name, level in label.items():
                columns[name] += [level] * drawn.size
    levels = {n: tuple(dict.fromkeys(label[n] for label in batch.labels)) for n in batch.labels[0]}
    levels["outcome"] = batch.outcomes
    return Records.from_columns(columns, levels=levels)


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0.0 else float("nan")
