"""A samples file as a trial table: one row a document and metric, each filter a metric of its own.

The harness writes one line for each document and filter; pooling them would count every document
as often as there are filters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from simtrack.counts import Loss
from simtrack.errors import DataError
from simtrack.logs.columns import label as as_label
from simtrack.logs.columns import listed
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.lines import read_lines
from simtrack.logs.lm_eval.fields import (
    HEAVY,
    NO_METRICS,
    SAMPLE_COLUMNS,
    metric_name,
    results_beside,
    task_of,
)
from simtrack.logs.rows import Outcome, choose_metrics, judged, rows_to_records
from simtrack.logs.score_values import ScoreReader
from simtrack.records import Records

__all__ = ["read_samples"]

Sample = dict[str, Any]
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_samples(
    path: Path,
    data: bytes,
    label: str,
    metric: str | Sequence[str] | None = None,
    *,
    salvage: bool = False,
) -> Records:
    """Read one line a document and filter: "exact_match,strict-match" is one metric.

    Task and time come from the file's name, model and plan from the results file of the same run
    beside it, else from the folder's name. Metrics whose items are lists (inputs of F1, perplexity
    and other statistics of a whole corpus) are left out with a note. `doc_hash` pairs documents
    across runs.

    Raises
    ------
    DataError
        The same document and filter twice (a file that a second run was appended to), a broken
        line before the last, or no metric.
    """
    seen = Decoded()
    lines, torn, notes = read_lines(
        data, lambda text, at: _sample(text, at, seen), label, salvage=salvage
    )
    _refuse_repeats(lines, label)
    samples = [sample for _, sample in lines]
    metrics, left_out = _metrics(samples)
    if left_out:
        notes.append(f"metrics of the whole corpus left out (their items are lists): {left_out}")
    if not metrics:
        raise DataError(f"{label}: no metric has a number for each document.")
    chosen = choose_metrics(metrics, metric, label)
    reader = ScoreReader()
    units: dict[str, Sample] = {}
    for sample in samples:
        units.setdefault(as_label(sample["doc_id"]) or "", sample)
    readings: dict[str, dict[str, Outcome]] = {name: {} for name in chosen}
    for sample in samples:
        for name in _own_metrics(sample):
            full = metric_name(name, sample.get("filter"))
            if full in readings and name in sample:
                unit = as_label(sample["doc_id"]) or ""
                readings[full][unit] = judged(reader, sample[name], full)
    reader.refuse_unknown(label, chosen)
    constants, losses, told = _run(path, label, len(units), torn)
    without = Outcome(status="unscored", reason="no score was logged")
    return rows_to_records(
        label,
        list(units.values()),
        SAMPLE_COLUMNS,
        {name: [readings[name].get(unit, without) for unit in units] for name in chosen},
        constants=constants,
        losses=losses,
        notes=[*notes, *told, *_repeated(data), *reader.notes(), *seen.notes()],
    )


def _sample(text: bytes, where: str, seen: Decoded) -> Sample:
    """Decode one line but for its texts."""
    try:
        found: Any = {
            name: msgspec.json.decode(raw)
            for name, raw in _RAW.decode(text).items()
            if name not in HEAVY
        }
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = decode_record(text, where, seen)
        if isinstance(found, dict):
            found = {name: value for name, value in found.items() if name not in HEAVY}
    if not isinstance(found, dict) or not isinstance(found.get("doc_id"), (int, str)):
        raise DataError(f"{where} has no doc_id, so it is no sample of lm-eval.")
    if not isinstance(found.get("filter"), (str, type(None))):
        raise DataError(f"{where} has a filter that is no text.")
    return found


def _own_metrics(sample: Sample) -> list[str]:
    named = sample.get("metrics")
    if isinstance(named, list):
        return [name for name in named if isinstance(name, str)]
    return [name for name in sample if name not in NO_METRICS]


def _metrics(samples: Sequence[Sample]) -> tuple[list[str], str]:
    """List the metrics with a number a document, and name those whose items are lists."""
    names: dict[str, bool] = {}
    for sample in samples:
        for name in _own_metrics(sample):
            full = metric_name(name, sample.get("filter"))
            nested = isinstance(sample.get(name), (list, dict))
            names[full] = names.get(full, False) or nested
    nested_names = [name for name, nested in names.items() if nested]
    return [name for name, nested in names.items() if not nested], (
        listed(nested_names) if nested_names else ""
    )


def _refuse_repeats(lines: Sequence[tuple[int, Sample]], label: str) -> None:
    times = Counter((as_label(s["doc_id"]), s.get("filter")) for _, s in lines)
    twice = {key for key, n in times.items() if n > 1}
    if not twice:
        return
    keys = [(as_label(s["doc_id"]), s.get("filter")) for _, s in lines]
    first = next(key for key in keys if key in twice)
    numbers = [str(line) for (line, _), key in zip(lines, keys, strict=True) if key == first]
    raise DataError(
        f"{label}: document {first[0]} stands more than once under filter {first[1]} (lines "
        f"{', '.join(numbers[:4])}; {len(twice)} such): a second run was appended to the file. "
        "Keep the lines of one run."
    )


def _run(
    path: Path, label: str, documents: int, torn: Sequence[Loss]
) -> tuple[dict[str, Any], list[Loss], list[str]]:
    """Give the labels of the run, what it planned beyond the lines, and notes."""
    task, stamp = task_of(path)
    beside = results_beside(path, stamp, label)
    model = beside.model if beside else None
    notes = []
    if model is None and "__" in path.resolve().parent.name:
        model = path.resolve().parent.name.replace("__", "/")
        notes.append(f"model {model} is taken from the name of the folder")
    sizes = (beside.n_samples if beside else None) or {}
    size = sizes.get(task or "")
    losses = list(torn)
    if size is not None and size.effective is not None:
        lost = max(size.effective - documents, 0)
        losses = [Loss("missing", lost, "in the plan of the results file, but not in the samples")]
    constants = {"task": task, "model": model, "run": stamp}
    return constants, losses, notes


def _repeated(data: bytes) -> list[str]:
    """Say whether every document was sampled several times, which the scores do not show."""
    first = data.lstrip().partition(b"\n")[0]
    try:
        found = msgspec.json.decode(first).get("resps")
        times = len(found[0])
    except (msgspec.MsgspecError, UnicodeDecodeError, AttributeError, TypeError, LookupError):
        return []
    if times < 2 or not isinstance(found[0], list):
        return []
    return [f"each document was sampled {times} times (repeats), which lm-eval scores as one"]
