"""Can these files be compared? What their headers and rows say against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from simtrack.counts import NO_LABEL, Grouping, group_rows
from simtrack.logs.columns import label as as_label
from simtrack.logs.columns import listed
from simtrack.logs.inspect.changes import CHANGES, touches, traits_of
from simtrack.logs.inspect.fields import Config
from simtrack.logs.inspect.metrics import header_metric
from simtrack.logs.inspect.source import InspectLog
from simtrack.logs.inspect.table import inspect_version
from simtrack.records import Records

__all__ = ["Facts", "inspect_facts", "table_facts", "warnings_of"]

_SETTINGS = ("limit", "epochs", "message_limit", "token_limit", "turn_limit", "time_limit",
             "working_limit", "cost_limit")  # fmt: skip
#: How the reader of lm-eval results flags a standard error of 0 beside a score within (0, 1).
IMPOSSIBLE = "stderr is 0"
#: Columns whose levels are parts of a table that are compared with each other.
_ARMS = ("source", "task", "model", "solver", "arm")
_SHOWN, _SETS = 4, 8


@dataclass(frozen=True, slots=True)
class Facts:
    """What one file says of how it was run, as far as comparisons need it.

    `settings` holds what was set of limit and epochs, all of it if `configured`; `samples` the ids
    that were planned, or seen; `zeros` the metrics with a standard error of 0 beside a score within
    (0, 1). A table gives facts for each source, task, model and arm in it, named in `file`; where
    it names no task, `table` says which of them belong together.
    """

    file: str
    task: str = ""
    run: str = ""
    task_id: str = ""
    samples: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    version: tuple[int, ...] = ()
    metrics: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    configured: bool = False
    traits: frozenset[str] = frozenset()
    table: str = ""


def inspect_facts(file: str, log: InspectLog, records: Records) -> Facts:
    """Take the facts of an Inspect log from its header."""
    spec = log.header.eval
    config = spec.config or Config()
    settings = {n: as_label(v) for n in _SETTINGS if (v := getattr(config, n)) is not None}
    settings["epochs"] = settings.get("epochs") or "1"
    planned = spec.dataset.sample_ids if spec.dataset else None
    ids = {as_label(i) or "" for i in planned or ()} | {as_label(s.id) or "" for s in log.samples}
    metrics = records.factors["metric"].levels
    stated = {name: header_metric(log.header, name) for name in metrics}
    zeros = [
        name
        for name, found in stated.items()
        if found.get("stderr") == 0 and 0 < found.get("accuracy", found.get("mean", 0)) < 1
    ]
    return Facts(
        file,
        spec.task,
        next(iter(records.factors["run"].levels), "") if "run" in records.factors else "",
        spec.task_id or "",
        frozenset(ids),
        {n: text for n, text in settings.items() if text is not None},
        () if (version := inspect_version(log)) == (0,) else version,
        metrics,
        tuple(zeros),
        configured=True,
        traits=traits_of(log.header, records.notes, records),
    )


def table_facts(file: str, records: Records) -> list[Facts]:
    """Take the facts of any other file from its rows: one for each source, task, model and arm."""
    factors = {n: f.compact().levels for n, f in records.factors.items()}
    flagged = any(IMPOSSIBLE in flag for flag in factors.get("flag", ()))
    stderr, value = records.numbers.get("stderr"), records.numbers.get("value")
    impossible = stderr is not None and value is not None and bool(
        ((stderr == 0) & (value > 0) & (value < 1)).any()
    )  # fmt: skip
    zeros = ("some",) if impossible or flagged else ()
    metrics, runs = factors.get("metric", ()), factors.get("run", ())
    keys = {
        n: records.factors[n].with_missing_named() for n in _ARMS if len(factors.get(n, ())) > 1
    }
    parts = group_rows(keys, len(records)) if keys and len(records) else None
    if records.kind == "aggregate" or parts is None or parts.size == 1:
        tasks = factors.get("task", ())
        repetitions = len(factors.get("repetition", ()))
        return [Facts(
            file,
            tasks[0] if len(tasks) == 1 else "",
            runs[0] if len(runs) == 1 else "",
            samples=frozenset(() if records.kind == "aggregate" else factors.get("unit", ())),
            settings={"epochs": str(repetitions)} if repetitions else {},
            metrics=metrics,
            zeros=zeros,
        )]  # fmt: skip
    task = factors["task"][0] if len(factors.get("task", ())) == 1 else ""
    units, epochs = (_sets(records, name, parts) for name in ("unit", "repetition"))
    found = []
    for k in range(parts.size):
        of = {n: f.levels[f.codes[k]] for n, f in parts.factors.items()}
        found.append(Facts(
            f"{file} [{_named(of)}]",
            task or (of["task"] if "task" in of and of["task"] in factors["task"] else ""),
            samples=units[k],
            settings={"epochs": str(len(epochs[k]))} if epochs[k] else {},
            metrics=metrics,
            zeros=zeros if k == 0 else (),
            table=f"{file} [{of['source']}]" if "source" in of else file,
        ))  # fmt: skip
    return found


def _named(labels: Mapping[str, str]) -> str:
    """Name a part of a table by what tells it from the others, other than its task."""
    told = [label for n, label in labels.items() if n != "task" and label != NO_LABEL]
    return ", ".join(told or [label for n, label in labels.items() if n == "task"])


def _sets(records: Records, name: str, parts: Grouping) -> list[frozenset[str]]:
    """Give the labels that a column has in each group of rows."""
    factor = records.factors.get(name)
    found: list[list[str]] = [[] for _ in range(parts.size)]
    if factor is not None:
        known = factor.codes >= 0
        levels = len(factor.levels)
        pairs = np.unique(parts.index[known] * levels + factor.codes[known])
        for group, code in zip((pairs // levels).tolist(), (pairs % levels).tolist(), strict=True):
            found[group].append(factor.levels[code])
    return [frozenset(labels) for labels in found]


def warnings_of(facts: Sequence[Facts]) -> list[str]:
    """Say what stands against comparing these files, one line each."""
    tasks: dict[str, list[Facts]] = {}
    for fact in facts:
        if fact.task or fact.table:
            what = f"task {fact.task}" if fact.task else fact.table
            tasks.setdefault(what, []).append(fact)
    found: list[str] = []
    for what, group in tasks.items():
        if len(group) > 1:
            found += [f"{what}: {text}" for text in _within(group)]
    return [*found, *_repeated(facts), *_impossible(facts)]


def _within(group: Sequence[Facts]) -> Iterator[str]:
    """Compare the files of one task."""
    sets: dict[frozenset[str], list[str]] = {}
    for fact in group:
        if fact.samples:
            sets.setdefault(fact.samples, []).append(fact.file)
    if len(sets) > 1:
        common = frozenset.intersection(*sets)
        shown = _some([f"{len(s)} in {_files(names)}" for s, names in sets.items()])
        yield (
            f"the sample sets differ ({shown}; {len(common)} in all of them). Compare on the "
            "common ones: --compare pairs by id"
        )
    for name in _SETTINGS:
        values: dict[str, list[str]] = {}
        for fact in group:
            if fact.configured or name in fact.settings:  # a table says nothing of limits
                values.setdefault(fact.settings.get(name, "none"), []).append(fact.file)
        if len(values) > 1:
            shown = _some([f"{name}={v} in {_files(names)}" for v, names in values.items()])
            yield f"{name} differs ({shown})"
    yield from _changed(group)


def _changed(group: Sequence[Facts]) -> Iterator[str]:
    """Name the changes of scoring between the versions of Inspect that wrote these files."""
    told: dict[tuple[str, str], list[str]] = {}
    traits = frozenset().union(*(fact.traits for fact in group))
    for change in CHANGES:
        touched = [f for f in group if f.version and touches(change, f.metrics)]
        older = [f.file for f in touched if f.version < change.version]
        newer = [f.file for f in touched if f.version >= change.version]
        if older and newer and (not change.trait or change.trait in traits):
            dotted = ".".join(map(str, change.version))
            told.setdefault((_files(older), _files(newer)), []).append(
                f"from {dotted} on {change.what}"
            )
    for (before, since), changes in told.items():
        yield (
            f"scoring changed between the versions of Inspect: {'; '.join(changes)} "
            f"(before: {before}; since: {since})"
        )


def _repeated(facts: Sequence[Facts]) -> Iterator[str]:
    """Name runs that stand in more than one file, and tasks that were tried again."""
    runs: dict[str, list[str]] = {}
    tries: dict[str, dict[str, str]] = {}
    for fact in facts:
        if fact.run:
            runs.setdefault(fact.run, []).append(fact.file)
        if fact.run and fact.task_id:
            tries.setdefault(fact.task_id, {}).setdefault(fact.run, fact.file)
    for run, names in runs.items():
        if len(names) > 1:
            yield (
                f"run {run} is in {len(names)} files ({_files(names)}): keep one of them, as "
                "--latest does"
            )
    for task, found in tries.items():
        if len(found) > 1:
            names = list(found.values())
            yield (
                f"task_id {task} was run {len(names)} times ({_files(names)}): a later run may "
                "replace an earlier one, as --latest has it"
            )


def _impossible(facts: Sequence[Facts]) -> Iterator[str]:
    names = [fact.file for fact in facts if fact.zeros]
    if names:
        yield (
            f"a standard error of 0 stands beside a score within (0, 1), which cannot be: "
            f"{_files(names)}. It is not used"
        )


def _some(texts: Sequence[str]) -> str:
    """Give the first of many sets, and how many others there are."""
    more = f"; {len(texts) - _SETS} more such" if len(texts) > _SETS else ""
    return "; ".join(texts[:_SETS]) + more


def _files(names: Sequence[str]) -> str:
    return listed(list(names), _SHOWN)
