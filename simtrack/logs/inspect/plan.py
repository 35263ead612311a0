"""How many sample × epoch cells were planned, and what became of those without a row?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from simtrack.counts import Loss
from simtrack.errors import DataError
from simtrack.logs.columns import label as as_label
from simtrack.logs.inspect.fields import Config, Dataset
from simtrack.logs.inspect.source import InspectLog

__all__ = ["Plan", "losses_by_metric", "plan_of"]

Cell = tuple[str, int]
#: More trials than anyone runs: a header that plans them is damaged.
PLANNED_MAX = 10**12
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """What was planned, and which cells left no row.

    `planned` counts sample × epoch cells; `missing` of them left no trace, of which `examples`
    are named; `early` are those that an early-stopping rule did not run.
    """

    planned: int
    missing: int
    examples: tuple[str, ...]
    early: tuple[Cell, ...]
    notes: tuple[str, ...] = ()


def plan_of(log: InspectLog) -> Plan:
    """Work out the plan from the header: ids × epochs, or the number of samples it states.

    Where the header states more samples than its ids allow, as trimmed logs do, the larger number
    is the plan and a note says so.
    """
    spec = log.header.eval
    results = log.header.results
    config, dataset = spec.config or Config(), spec.dataset or Dataset()
    epochs = max(config.epochs or 1, 1)
    seen = {(as_label(s.id) or "", s.epoch) for s in log.samples}
    stops = results.early_stopping.early_stops if results and results.early_stopping else ()
    stopped = dict.fromkeys((as_label(s.id) or "", s.epoch) for s in stops)
    early = tuple(cell for cell in stopped if cell not in seen)
    ids = dict.fromkeys(as_label(i) or "" for i in dataset.sample_ids or ())
    drawn = (len(ids) or _bounded(dataset.samples, config.limit)) * epochs
    stated = max((results.total_samples if results else None) or 0, 0)
    traced = seen.union(early)
    inside = sum(1 for i, e in traced if i in ids and 1 <= e <= epochs)
    lost = len(ids) * epochs - inside
    planned = max(drawn, len(traced) + lost, stated)
    if planned > PLANNED_MAX:
        raise DataError(
            f"{log.label}: the header plans more than {PLANNED_MAX:.0e} trials, which nobody runs. "
            "Mend its epochs or sample counts."
        )
    named = ((i, e) for e in range(1, epochs + 1) for i in ids if (i, e) not in traced)
    examples = tuple(f"{i} epoch {e}" for i, e in islice(named, min(lost, _EXAMPLES)))
    notes = []
    again = len(dataset.sample_ids or ()) - len(ids)
    if again:
        notes.append(f"{again} sample ids occur more than once in the header; each counts once")
    if stated and drawn and stated != drawn:
        notes.append(
            f"the header states {stated} samples, its ids × epochs give {drawn}; "
            f"{planned} are taken as planned"
        )
    return Plan(planned, planned - len(traced), examples, early, tuple(notes))


def losses_by_metric(
    log: InspectLog, plan: Plan, metrics: Sequence[str], where: dict[str, str]
) -> list[Loss]:
    """Give the cells without a row as losses, once for each metric, so that every one adds up."""
    reason = "planned, but not in the log"
    if log.status != "success":
        reason = f"no trace in the log (run status: {log.status})"
    early = tuple(f"{i} epoch {e}" for i, e in plan.early)
    found = []
    for metric in metrics:
        labels = tuple({**where, "metric": metric}.items())
        found.append(Loss("missing", plan.missing, reason, labels, plan.examples))
        found.append(Loss("early-stopped", len(early), "stopped early by a rule", labels, early))
    return found


def _bounded(samples: int | None, limit: object) -> int:
    total = max(samples or 0, 0)
    if isinstance(limit, int) and not isinstance(limit, bool):
        return min(total, max(limit, 0))
    if isinstance(limit, list) and len(limit) == 2 and all(isinstance(v, int) for v in limit):
        first, stop = int(limit[0]), int(limit[1])
        return max(min(total, stop) - max(first, 0), 0)
    return total
