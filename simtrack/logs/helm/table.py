"""Which fields of a HELM run are read, and which of its statistics are no scores?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import Struct

from simtrack.errors import DataError
from simtrack.logs.columns import Column, listed
from simtrack.logs.decode import Decoded, decode
from simtrack.logs.rows import Outcome, choose_metrics, judged, rows_to_records
from simtrack.logs.score_values import ScoreReader
from simtrack.records import Records

__all__ = ["COLUMNS", "Instance", "RunSpec", "StatsFile", "is_bookkeeping", "read_run"]


Number = int | float | None


class StatName(Struct, gc=False):
    """What a statistic is of."""

    name: str
    split: str | None = None


class Stat(Struct, gc=False):
    """One statistic of one instance; `mean` is its value, over `count` readings."""

    name: StatName
    count: int | None = None
    mean: Number = None


class Perturbation(Struct, gc=False):
    """How the instance was changed."""

    name: str = "unnamed"


class InstanceStats(Struct):
    """One record: the statistics that one Metric object gave an instance."""

    instance_id: str | int
    train_trial_index: int = 0
    perturbation: Perturbation | None = None
    stats: list[Stat] = []


class StatsFile(Struct):
    """A whole per_instance_stats.json, its list put in an object."""

    records: list[InstanceStats]


class Adapter(Struct):
    """How the model was asked."""

    model: str | None = None
    model_deployment: str | None = None
    max_eval_instances: int | None = None


class RunSpec(Struct):
    """What was run."""

    name: str | None = None
    adapter_spec: Adapter | None = None


@dataclass(slots=True)
class Instance:
    """All that the records say of one instance, perturbation and trial, merged."""

    instance_id: str | int
    perturbation: str | None
    trial: int
    split: str | None = None
    values: dict[str, Number] = field(default_factory=dict)


#: Statistics about the call, not about the answer: columns, or no column at all.
_BOOKKEEPING = frozenset(
    {"batch_size", "inference_runtime", "logprob", "max_prob", "prompt_truncated", "num_bytes"}
)
_PREFIXES = ("num_", "finish_reason_", "training_", "inference_")


def is_bookkeeping(name: str) -> bool:
    """Say whether a statistic counts tokens, time or energy rather than scoring an answer.

    Examples
    --------
    >>> is_bookkeeping("num_prompt_tokens"), is_bookkeeping("quasi_exact_match")
    (True, False)
    """
    return name in _BOOKKEEPING or name.startswith(_PREFIXES)


def _stat(*names: str) -> Callable[[Instance], Any]:
    """Give the first of these statistics that the instance has."""

    def take(instance: Instance) -> Any:
        return next((v for n in names if (v := instance.values.get(n)) is not None), None)

    return take


COLUMNS = (
    Column("unit", "label", attrgetter("instance_id")),
    Column("repetition", "label", attrgetter("trial")),
    Column("split", "label", attrgetter("split")),
    Column("perturbation", "label", attrgetter("perturbation")),
    Column("tokens_in", "number", _stat("num_prompt_tokens")),
    Column("tokens_out", "number", _stat("num_completion_tokens", "num_output_tokens")),
    Column("duration_s", "number", _stat("inference_runtime")),
)


# A HELM run as a trial table: the records of an instance merged, one row an instance and metric.
_STATS, _SPEC = "per_instance_stats", "run_spec"
_MODEL = re.compile(r"[:,]model=([^,/]+?)(?:__per_instance_stats\.json)?(?=,|$)")
_ORIGINAL = "(none)"


def read_run(
    path: Path, data: bytes, label: str, metric: str | Sequence[str] | None = None
) -> Records:
    """Read a per_instance_stats.json, its model from run_spec.json beside it.

    Labels: unit (instance), repetition (train trial), split, perturbation, metric. Statistics that
    count tokens, time or energy are no metrics unless they are asked for by name. An instance that
    lacks a metric is unscored on it.

    Raises
    ------
    DataError
        Two records that give one instance two values of a statistic; no record; no metric.
    """
    seen = Decoded()
    records = decode(b'{"records":' + data + b"}", StatsFile, label, seen).records
    if not records:
        raise DataError(f"{label}: empty: it holds no instance.")
    instances, merged = _merged(records, label)
    names = list(dict.fromkeys(name for i in instances for name in i.values))
    scores = [name for name in names if not is_bookkeeping(name)]
    if not scores and metric is None:
        raise DataError(f"{label}: no metric among its statistics: {listed(names)}.")
    chosen = choose_metrics(names if metric is not None else scores, metric, label)
    reader = ScoreReader()
    absent = Outcome(status="unscored", reason="the run has no such statistic for the instance")
    constants, notes = _run(path, label)
    return rows_to_records(
        label,
        instances,
        COLUMNS,
        {
            name: [
                judged(reader, i.values[name], name) if name in i.values else absent
                for i in instances
            ]
            for name in chosen
        },
        constants=constants,
        notes=[*notes, *_notes(instances, len(records) - merged), *seen.notes()],
    )


def _merged(records: Sequence[InstanceStats], label: str) -> tuple[list[Instance], int]:
    """Put the records of one instance, perturbation and trial together, values that agree once."""
    perturbed = any(r.perturbation for r in records)
    found: dict[tuple[str, str | None, int], Instance] = {}
    for record in records:
        changed = record.perturbation.name if record.perturbation else None
        kind = changed or (_ORIGINAL if perturbed else None)
        key = str(record.instance_id), kind, record.train_trial_index
        instance = found.setdefault(key, Instance(record.instance_id, kind, key[2]))
        for stat in record.stats:
            name = stat.name.name
            instance.split = instance.split or stat.name.split
            value = stat.mean if stat.count != 0 else None
            if name in instance.values and instance.values[name] != value:
                raise DataError(
                    f"{label}: instance {record.instance_id}, trial {record.train_trial_index} has "
                    f"two values of {name}: {instance.values[name]} and {value}. Keep one."
                )
            instance.values[name] = value
    return list(found.values()), len(found)


def _run(path: Path, label: str) -> tuple[dict[str, str | None], list[str]]:
    """Give run, task and model: from the run specification, else from the name of the run."""
    beside = path.with_name(path.name.replace(_STATS, _SPEC))
    if beside != path and beside.is_file():
        spec = decode(beside.read_bytes(), RunSpec, f"{label}: {beside.name}", Decoded())
        adapter = spec.adapter_spec
        model = (adapter.model or adapter.model_deployment) if adapter else None
        return {"run": spec.name, "task": _task(spec.name), "model": model}, []
    folder = path.resolve().parent.name
    found = _MODEL.search(folder)
    if found is None:
        return {}, ["no run_spec.json beside it: the model is not known"]
    note = f"no run_spec.json beside it: model {found[1]} is taken from the name of the folder"
    return {"run": folder, "task": _task(folder), "model": found[1]}, [note]


def _task(name: str | None) -> str | None:
    """Give the scenario with its arguments, without the model."""
    if name is None:
        return None
    scenario, _, arguments = name.partition(":")
    kept = [a for a in arguments.split(",") if a and not a.startswith("model=")]
    return f"{scenario}:{','.join(kept)}" if kept else scenario


def _notes(instances: Sequence[Instance], merged: int) -> list[str]:
    notes = []
    if merged:
        notes.append(f"{merged} further records of an instance were merged with its first")
    splits = Counter(i.split for i in instances if i.split)
    if len(splits) > 1:
        shown = ", ".join(f"{name} {n}" for name, n in sorted(splits.items()))
        notes.append(f"the splits are mixed ({shown}): choose with select(split=...)")
    kinds = Counter(i.perturbation for i in instances if i.perturbation)
    if len(kinds) > 1:
        shown = ", ".join(f"{name} {n}" for name, n in sorted(kinds.items()))
        notes.append(f"perturbed copies of the same instances ({shown}): choose with select")
    return notes
