"""Which fields of a HELM run are read, and which of its statistics are no scores?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from msgspec import Struct

from simtrack.logs.columns import Column

__all__ = ["COLUMNS", "Instance", "RunSpec", "StatsFile", "is_bookkeeping"]

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
