"""Which fields of lm-evaluation-harness files are read, and how its metrics are named?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from simtrack.errors import DataError
from simtrack.logs.columns import Column
from simtrack.logs.decode import Decoded, decode

__all__ = [
    "AGGREGATE_COLUMNS",
    "HEAVY",
    "NO_METRICS",
    "SAMPLE_COLUMNS",
    "Aggregate",
    "ResultsFile",
    "Size",
    "metric_name",
    "results_beside",
    "task_of",
]

#: Fields of a sample that hold its texts: they are skipped without being decoded.
HEAVY = frozenset({"doc", "arguments", "resps", "filtered_resps", "target"})
#: Fields of a sample that are no metric; files of 2024 do not list their metrics.
NO_METRICS = HEAVY | {
    "doc_id", "filter", "metrics", "doc_hash", "prompt_hash", "target_hash", "name", "sample_len",
}  # fmt: skip
_SAMPLES = re.compile(r"samples_(.+)_(\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?)\.jsonl?")


class Size(Struct):
    """How many documents a task has, and how many were run."""

    original: int | None = None
    effective: int | None = None


class RunConfig(Struct):
    """How the model was called; `model_args` was text before it was an object."""

    model: str | None = None
    model_args: Any = None


class ResultsFile(Struct):
    """A results file of any vintage: the aggregates of every task."""

    results: dict[str, dict[str, Any]]
    groups: dict[str, dict[str, Any]] | None = None
    group_subtasks: dict[str, list[str]] | None = None
    versions: dict[str, Any] | None = None
    n_shot: dict[str, Any] | None = field(name="n-shot", default=None)
    n_samples: dict[str, Size] | None = field(name="n-samples", default=None)
    config: RunConfig | None = None
    model_name: str | None = None
    lm_eval_version: str | None = None
    git_hash: str | None = None
    date: Any = None

    @property
    def model(self) -> str | None:
        """The model, as far as the vintage says."""
        if self.model_name:
            return self.model_name
        args = self.config.model_args if self.config else None
        if isinstance(args, dict):
            found = args.get("pretrained") or args.get("model")
            return str(found) if found else None
        if isinstance(args, str):
            pairs = dict(part.partition("=")[::2] for part in args.split(","))
            return pairs.get("pretrained") or pairs.get("model") or pairs.get("engine")
        return None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One number of a results file: a metric of a task, with its standard error if it has one."""

    task: str
    metric: str
    raw: Any
    stderr: float | None
    n: int | None
    level: str
    n_shot: Any = None
    version: Any = None
    flag: str | None = None
    stderr_checked: float | None = None


AGGREGATE_COLUMNS = (
    Column("unit", "label", attrgetter("task")),
    Column("task", "label", attrgetter("task")),
    Column("level", "label", attrgetter("level")),
    Column("n_shot", "label", attrgetter("n_shot")),
    Column("version", "label", attrgetter("version")),
    Column("flag", "label", attrgetter("flag")),
    Column("stderr", "number", attrgetter("stderr")),
    Column("stderr_checked", "number", attrgetter("stderr_checked")),
    Column("n", "number", attrgetter("n")),
)


def _optional(name: str) -> Callable[[dict[str, Any]], Any]:
    def take(record: dict[str, Any]) -> Any:
        return record.get(name)

    return take


SAMPLE_COLUMNS = (
    Column("unit", "label", itemgetter("doc_id")),
    Column("doc_hash", "label", _optional("doc_hash")),
    Column("prompt_hash", "label", _optional("prompt_hash")),
    Column("target_hash", "label", _optional("target_hash")),
)


def metric_name(metric: str, chosen: str | None) -> str:
    """Name a metric with its filter, as results files do; the filter "none" is left out.

    Examples
    --------
    >>> metric_name("exact_match", "strict-match"), metric_name("acc", "none")
    ('exact_match,strict-match', 'acc')
    """
    return metric if chosen in (None, "", "none") else f"{metric},{chosen}"


def task_of(path: Path) -> tuple[str | None, str | None]:
    """Give task and time stamp from the name of a samples file, None where it has been renamed."""
    found = _SAMPLES.fullmatch(path.name)
    return (found[1], found[2]) if found else (None, None)


def results_beside(path: Path, stamp: str | None, label: str) -> ResultsFile | None:
    """Read the results file of the same run, if it lies beside the samples."""
    file = path.with_name(f"results_{stamp}.json")
    if stamp is None or not file.is_file():
        return None
    try:
        return decode(file.read_bytes(), ResultsFile, f"{label}: {file.name}", Decoded())
    except DataError:
        return None
