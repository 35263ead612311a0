"""Which fields of an Inspect log are read? All others are skipped without being decoded."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

__all__ = ["Config", "Dataset", "Header", "JsonLog", "Message", "Sample", "Score", "Usage"]


class Message(Struct, gc=False):
    """An error of a run or a sample."""

    message: str = ""


class Score(Struct, gc=False):
    """One score: a number, text, boolean, list, or object of numbers."""

    value: Any = None


class Usage(Struct, gc=False):
    """What one model was given and gave, in tokens, and its price in dollars if known."""

    input_tokens: int | float | None = None
    output_tokens: int | float | None = None
    total_cost: float | None = None


class Limit(Struct, gc=False):
    """What halted a sample: type is message, token, time, working, context, operator …"""

    type: str = "unknown"
    limit: float | None = None


class Sample(Struct, gc=False):
    """One sample in one epoch; a summary has the same names, with plain text for two of them."""

    id: int | str
    epoch: int
    scores: dict[str, Score | None] | None = None
    score: Score | None = None
    metadata: dict[str, Any] | None = None
    model_usage: dict[str, Usage] | None = None
    total_time: float | None = None
    working_time: float | None = None
    error: Message | str | None = None
    limit: Limit | str | None = None
    invalidation: Any = None
    model_fallbacks: Any = None


class Dataset(Struct):
    """What was to be run: `sample_ids` after the limit; `samples` often before it."""

    name: str | None = None
    samples: int | None = None
    sample_ids: list[int | str] | None = None


class Config(Struct):
    """How often, how many of the samples (`limit`: a number or a pair), and what halts one."""

    epochs: int | None = None
    limit: Any = None
    message_limit: Any = None
    token_limit: Any = None
    turn_limit: Any = None
    time_limit: Any = None
    working_limit: Any = None
    cost_limit: Any = None


class ScorerSpec(Struct):
    """A declared scorer; `metrics` is an object where its scores are objects."""

    name: str = ""
    metrics: Any = None


class Spec(Struct):
    """What was run."""

    task: str
    model: str
    eval_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    created: str | None = None
    task_args: dict[str, Any] | None = None
    solver: str | None = None
    dataset: Dataset | None = None
    config: Config | None = None
    scorers: list[ScorerSpec] | None = None
    packages: dict[str, Any] | None = None
    metadata: Any = None


class Metric(Struct):
    """An aggregate as Inspect computed it."""

    value: Any = None


class HeaderScore(Struct):
    """The aggregates of one scorer, or of one key of its scores."""

    name: str = ""
    scorer: str = ""
    reducer: str | None = None
    metrics: dict[str, Metric] = {}


class EarlyStop(Struct):
    """A sample that was not run by design."""

    id: int | str
    epoch: int = 1
    reason: str | None = None


class EarlyStopping(Struct):
    """What an early-stopping rule left out."""

    early_stops: list[EarlyStop] = []


class Results(Struct):
    """The counts and aggregates of a finished run."""

    total_samples: int | None = None
    completed_samples: int | None = None
    scores: list[HeaderScore] = []
    early_stopping: EarlyStopping | None = None


class Header(Struct):
    """A log without its samples; `_journal/start.json` has `eval` alone."""

    eval: Spec
    version: int | None = None
    status: str | None = None
    results: Results | None = None
    error: Message | None = None
    invalidated: bool | None = None


class JsonLog(Header):
    """A whole log in one JSON object; `samples` may be absent."""

    samples: list[Sample] | None = None
