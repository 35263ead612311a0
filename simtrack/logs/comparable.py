"""Can these files be compared? What their headers and rows say against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simtrack.logs.columns import label as as_label
from simtrack.logs.columns import listed
from simtrack.logs.inspect.fields import Config
from simtrack.logs.inspect.metrics import header_metric
from simtrack.logs.inspect.source import InspectLog
from simtrack.logs.inspect.table import inspect_version
from simtrack.records import Records

__all__ = ["Facts", "inspect_facts", "table_facts", "warnings_of"]

#: Versions of Inspect from which scoring differs: version, metrics (by part of name), what.
_CHANGES: tuple[tuple[tuple[int, ...], str, str], ...] = (
    ((0, 3, 133), "", "a scorer that gives no score leaves the sample unscored"),
    ((0, 3, 221), "pass_at", "pass_at of too few epochs is NaN, before it was 1"),
    ((0, 3, 245), "model_graded", "a judge's reply that cannot be parsed is unscored, before it "
     "was incorrect"),
    ((0, 3, 253), ".", "NaN within an object of scores stays NaN, before it was null and counted "
     "as 0 in Inspect's own mean"),
)  # fmt: skip
_SETTINGS = ("limit", "epochs", "message_limit", "token_limit", "turn_limit", "time_limit",
             "working_limit", "cost_limit")  # fmt: skip
#: How the reader of lm-eval results flags a standard error of 0 beside a score within (0, 1).
IMPOSSIBLE = "stderr is 0"
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Facts:
    """What one file says of how it was run, as far as comparisons need it.

    `settings` holds what was set of limit and epochs; `samples` the ids that were planned, or
    seen; `zeros` the metrics with a standard error of 0 beside a score within (0, 1).
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
    )


def table_facts(file: str, records: Records) -> Facts:
    """Take the facts of any other file from its rows."""
    factors = {n: f.compact().levels for n, f in records.factors.items()}
    tasks, runs = factors.get("task", ()), factors.get("run", ())
    flagged = any(IMPOSSIBLE in flag for flag in factors.get("flag", ()))
    stderr, value = records.numbers.get("stderr"), records.numbers.get("value")
    impossible = stderr is not None and value is not None and bool(
        ((stderr == 0) & (value > 0) & (value < 1)).any()
    )  # fmt: skip
    aggregate = records.kind == "aggregate"
    repetitions = len(factors.get("repetition", ()))
    return Facts(
        file,
        tasks[0] if len(tasks) == 1 else "",
        runs[0] if len(runs) == 1 else "",
        samples=frozenset() if aggregate else frozenset(factors.get("unit", ())),
        settings={"epochs": str(repetitions)} if repetitions else {},
        metrics=factors.get("metric", ()),
        zeros=("some",) if impossible or flagged else (),
    )


def warnings_of(facts: Sequence[Facts]) -> list[str]:
    """Say what stands against comparing these files, one line each."""
    tasks: dict[str, list[Facts]] = {}
    for fact in facts:
        if fact.task:
            tasks.setdefault(fact.task, []).append(fact)
    found: list[str] = []
    for task, group in tasks.items():
        if len(group) > 1:
            found += [f"task {task}: {text}" for text in _within(group)]
    return [*found, *_repeated(facts), *_impossible(facts)]


def _within(group: Sequence[Facts]) -> Iterator[str]:
    """Compare the files of one task."""
    sets: dict[frozenset[str], list[str]] = {}
    for fact in group:
        if fact.samples:
            sets.setdefault(fact.samples, []).append(fact.file)
    if len(sets) > 1:
        common = frozenset.intersection(*sets)
        shown = "; ".join(f"{len(s)} in {_files(names)}" for s, names in sets.items())
        yield (
            f"the sample sets differ ({shown}; {len(common)} in all of them). Compare on the "
            "common ones: --compare pairs by id"
        )
    for name in _SETTINGS:
        values: dict[str, list[str]] = {}
        for fact in group:
            values.setdefault(fact.settings.get(name, "none"), []).append(fact.file)
        if len(values) > 1:
            shown = "; ".join(f"{v} in {_files(names)}" for v, names in values.items())
            yield f"{name} differs ({shown})"
    for version, part, what in _CHANGES:
        dated = [f for f in group if f.version]
        touched = [f for f in dated if not part or any(part in m for m in f.metrics)]
        older = [f.file for f in touched if f.version < version]
        newer = [f.file for f in touched if f.version >= version]
        if older and newer:
            dotted = ".".join(map(str, version))
            yield (
                f"scoring changed between the versions of Inspect: from {dotted} on {what} "
                f"(before: {_files(older)}; since: {_files(newer)})"
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
            yield f"run {run} is in {len(names)} files ({_files(names)}): keep one of them"
    for task, found in tries.items():
        if len(found) > 1:
            names = list(found.values())
            yield (
                f"task_id {task} was run {len(names)} times ({_files(names)}): a later run may "
                "replace an earlier one"
            )


def _impossible(facts: Sequence[Facts]) -> Iterator[str]:
    names = [fact.file for fact in facts if fact.zeros]
    if names:
        yield (
            f"a standard error of 0 stands beside a score within (0, 1), which cannot be: "
            f"{_files(names)}. It is not used"
        )


def _files(names: Sequence[str]) -> str:
    return listed(list(names), _SHOWN)
