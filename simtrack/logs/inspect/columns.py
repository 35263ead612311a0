"""The declared column map of Inspect logs: which field becomes which column, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any

from simtrack.counts import Loss
from simtrack.errors import DataError
from simtrack.logs.columns import (
    LABEL_COLUMNS_MAX,
    LABEL_MAX_CHARACTERS,
    LABELS,
    NUMBERS,
    RESERVED,
    Column,
    listed,
)
from simtrack.logs.columns import label as as_label
from simtrack.logs.inspect.carried import carried_limit
from simtrack.logs.inspect.fields import Config, Dataset, Header, Message, Sample
from simtrack.logs.inspect.source import InspectLog

__all__ = [
    "LOG_COLUMNS",
    "OWN_COLUMNS",
    "SAMPLE_COLUMNS",
    "Plan",
    "argument_labels",
    "error_text",
    "losses_by_metric",
    "metadata_columns",
    "own_columns",
    "own_numbers",
    "plan_of",
]


#: The key of a log's metadata under which simtrack names the sample metadata that are columns.
OWN_COLUMNS = "simtrack_columns"
#: Columns that the log itself says, whatever its metadata claim.
_NEVER_OWN = frozenset({"unit", "metric", "status", "reason", "outcome", "limit"})

#: What JSON decodes to that may be a label.
_SCALARS = frozenset({str, bool, int, float})


def error_text(sample: Sample) -> str | None:
    """Give the error of a sample, which a summary holds as plain text."""
    error = sample.error
    return error.message or "error" if isinstance(error, Message) else error


def _run(header: Header) -> str | None:
    """Name one execution of one task: eval_id where there is one, else run and task together."""
    spec = header.eval
    return spec.eval_id or "/".join(part for part in (spec.run_id, spec.task_id) if part) or None


def _usage(name: str) -> Callable[[Sample], float | None]:
    """Add up one field over the models of a sample; None where no model has it."""

    def take(sample: Sample) -> float | None:
        found = None
        for usage in (sample.model_usage or {}).values():
            amount = getattr(usage, name)
            if amount is not None:
                found = amount if found is None else found + amount
        return found

    return take


#: One value a log.
LOG_COLUMNS = (
    Column("run", "label", _run),
    Column("task", "label", attrgetter("eval.task")),
    Column("model", "label", attrgetter("eval.model")),
    Column("task_id", "label", attrgetter("eval.task_id")),
    Column("solver", "label", attrgetter("eval.solver")),
)
#: One value a sample and epoch.
SAMPLE_COLUMNS = (
    Column("unit", "label", attrgetter("id")),
    Column("repetition", "label", attrgetter("epoch")),
    Column("limit", "label", carried_limit),
    Column("tokens_in", "number", _usage("input_tokens")),
    Column("tokens_out", "number", _usage("output_tokens")),
    Column("duration_s", "number", attrgetter("total_time")),
    Column("working_s", "number", attrgetter("working_time")),
    Column("cost_usd", "number", _usage("total_cost")),
)


def argument_labels(header: Header) -> dict[str, Any]:
    """Give the scalar arguments of the task, the usual arms of a study, as arg.<name>."""
    found = [(k, v) for k, v in (header.eval.task_args or {}).items() if _is_label(v)]
    return {f"arg.{name}": value for name, value in found[:LABEL_COLUMNS_MAX]}


def own_columns(header: Header) -> tuple[frozenset[str], frozenset[str]]:
    """Give the names of sample metadata that are labels and numbers of a table simtrack wrote."""
    said = header.eval.metadata
    own = said.get(OWN_COLUMNS) if isinstance(said, dict) else None
    if not isinstance(own, dict):
        return frozenset(), frozenset()
    lists = (own.get(kind) for kind in ("labels", "numbers"))
    labels, numbers = (
        frozenset(n for n in found if isinstance(n, str))
        if isinstance(found, list)
        else frozenset()
        for found in lists
    )
    return labels - _NEVER_OWN - set(NUMBERS), numbers - labels - set(LABELS) - {"value"}


def own_numbers(samples: Sequence[Sample], name: str) -> list[Any]:
    """Give a numeric column that simtrack wrote to metadata, None where a sample has none."""
    found = [(sample.metadata or {}).get(name) for sample in samples]
    return [v if isinstance(v, (int, float)) and not isinstance(v, bool) else None for v in found]


def metadata_columns(
    samples: Sequence[Sample],
    own: frozenset[str] = frozenset(),
    numeric: frozenset[str] = frozenset(),
) -> tuple[dict[str, list[Any]], list[str]]:
    """Give a column for every metadata key with short scalar values, None where a sample has none.

    A key that has the name of another column becomes metadata.<key>, unless it is an `own` column
    of a table that simtrack wrote; those that are `numeric` there are no labels. Keys whose values
    are long texts in some sample are left out, and of very many keys all but the most frequent;
    their names are in the notes, which are the second result.
    """
    times: dict[str, int] = {}
    long: dict[str, None] = {}
    for sample in samples:
        for key, value in (sample.metadata or {}).items():
            kind = value.__class__
            if kind not in _SCALARS or key in numeric:
                continue
            if kind is str and len(value) > LABEL_MAX_CHARACTERS and key not in own:
                long[key] = None
            else:
                times[key] = times.get(key, 0) + 1
    frequent = [key for key, _ in Counter(times).most_common() if key not in long]
    kept = set(frequent[:LABEL_COLUMNS_MAX]) | own.intersection(times)
    found: dict[str, list[Any]] = {key: [None] * len(samples) for key in times if key in kept}
    for row, sample in enumerate(samples):
        for key, value in (sample.metadata or {}).items():
            if (column := found.get(key)) is not None and value.__class__ in _SCALARS:
                column[row] = value
    columns = {key if key in own else _free_name(key): column for key, column in found.items()}
    rare = [key for key in frequent[LABEL_COLUMNS_MAX:] if key not in own]
    notes = [f"metadata left out (long text): {listed(list(long))}"] if long else []
    if rare:
        shown = listed(rare, 5)
        notes.append(f"metadata left out beyond the {LABEL_COLUMNS_MAX} commonest keys: {shown}")
    return columns, notes


def _free_name(key: str) -> str:
    taken = key in RESERVED or key == "task_id" or key.startswith(("arg.", "metadata."))
    return f"metadata.{key}" if taken else key


def _is_label(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LABEL_MAX_CHARACTERS
    return isinstance(value, (bool, int, float))


# How many sample × epoch cells were planned, and what became of those without a row?
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
