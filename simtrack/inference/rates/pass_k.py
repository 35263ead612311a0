"""pass@k and pass^k: does at least one of k trials of a task pass, or every one?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from simtrack.answer import Answer
from simtrack.counts import Factor, Totals, natural_order
from simtrack.errors import InputError
from simtrack.inference.rates.bounded_mean import bounded_mean
from simtrack.method import Ask, Layout, Method
from simtrack.note import Note
from simtrack.options import Computation, Guarantee
from simtrack.validate import integer, open_unit

__all__ = ["METHODS", "PassK", "PassRule", "pass_at_k", "pass_hat_k"]

#: "any": at least one of k trials passes (pass@k); "all": every one does (pass^k).
PassRule = Literal["any", "all"]


@dataclass(frozen=True, slots=True, eq=False)
class PassK:
    """How often would k trials of a task pass, averaged over tasks with equal weight?

    Attributes
    ----------
    name : str
        "pass@k" or "pass^k" with the k.
    value : float or None
        Mean over the tasks with at least k trials; None if there is no such task.
    exact : Fraction or None
        The same as a fraction.
    by_task : dict of str to Fraction
        The unbiased estimate of each task with at least k trials.
    not_estimable : tuple of str
        Tasks with fewer than k trials: they are in no average, never as 0 or 1.
    tasks, trials : int
        Tasks that count, and their trials.
    low, high : float or None
        Interval over tasks (or the clusters they belong to).
    totals : Totals
        Σ estimate, number of tasks and Σ estimate² by cluster: what any interval for a rate takes.
    notes : tuple of str
    """

    name: str
    k: int
    rule: PassRule
    value: float | None
    exact: Fraction | None
    by_task: dict[str, Fraction]
    not_estimable: tuple[str, ...]
    tasks: int
    trials: int
    low: float | None
    high: float | None
    level: float
    totals: Totals
    notes: tuple[str, ...]
    method: str
    computation: Computation = "quadrature"
    guarantee: Guarantee = "conjectured"

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        plain = ("name", "k", "rule", "value", "tasks", "trials", "low", "high", "level",
                 "method", "computation", "guarantee")  # fmt: skip
        return (
            {"schema": "simtrack.pass-k/1"}
            | {name: getattr(self, name) for name in plain}
            | {
                "value_exact": None if self.exact is None else str(self.exact),
                "by_task": {task: str(value) for task, value in self.by_task.items()},
                "not_estimable": list(self.not_estimable),
                "notes": list(self.notes),
            }
        )

    def __repr__(self) -> str:
        if self.value is None:
            return f"PassK({self.name}: not estimable, no task has {self.k} trials)"
        ends = "no interval" if self.low is None else f"{self.low:.4f} to {self.high:.4f}"
        return f"PassK({self.name} {self.value:.4f}, {ends}, {self.tasks} tasks)"


def pass_at_k(
    tasks: Totals,
    k: int,
    *,
    cluster: Sequence[str] | None = None,
    level: float = 0.95,
) -> PassK:
    """How often does at least one of k trials of a task pass?

    For a task with c passes in n trials the unbiased estimate is 1 - C(n-c, k) / C(n, k), for
    n ≥ k only. Tasks may have different numbers of trials. The interval takes each task as one
    score in [0, 1] and is that of a plain rate, `bounded_mean`, so that k = 1 with one number of
    trials a task agrees with the rate. Of 95 % intervals, k from 1 to 8, it covers .98 on
    average and nowhere less than .95 beyond Monte Carlo error, with 6 to 164 tasks of which up to
    60 % are impossible; Wilson's on the effective number of tasks falls to .51
    (`studies/hard_populations`).

    Parameters
    ----------
    tasks : Totals of one condition
        Passes and trials, the task as the cluster.
    k : int, at least 1
    cluster : sequence of str, optional
        What each task belongs to (a family of tasks); each is its own without it.
    level : float
        Confidence level.

    References
    ----------
    Chen et al. (2021), Evaluating large language models trained on code, eq. 1. It is the minimum
    variance unbiased estimate: Hoeffding (1948), Ann. Math. Stat. 19, 293-325.

    Examples
    --------
    >>> tasks = Totals.from_arrays([1, 0, 3], [3, 3, 3], clusters=["a", "b", "c"])
    >>> found = pass_at_k(tasks, 2)
    >>> found.exact, found.by_task["a"]
    (Fraction(5, 9), Fraction(2, 3))
    >>> pass_at_k(Totals.from_arrays([0], [3]), 8).not_estimable
    ('0',)
    """
    return _pass(tasks, k, "any", cluster, level)


def pass_hat_k(
    tasks: Totals,
    k: int,
    *,
    cluster: Sequence[str] | None = None,
    level: float = 0.95,
) -> PassK:
    """How often do all of k trials of a task pass (pass^k)?

    The unbiased estimate of a task is C(c, k) / C(n, k), for n ≥ k only. Parameters as in
    `pass_at_k`.

    References
    ----------
    Yao et al. (2024), τ-bench: A Benchmark for Tool-Agent-User Interaction, section 3.

    Examples
    --------
    >>> tasks = Totals.from_arrays([4, 2, 1], [4, 4, 2], clusters=["a", "b", "c"])
    >>> [str(pass_hat_k(tasks, k).exact) for k in (1, 2, 4)]
    ['2/3', '7/18', '1/2']
    """
    return _pass(tasks, k, "all", cluster, level)


def _pass(
    tasks: Totals,
    k: int,
    rule: PassRule,
    cluster: Sequence[str] | None,
    level: float,
) -> PassK:
    open_unit("level", level)
    k = integer("k", k, 1)
    passed, trials = _whole(tasks)
    groups = list(tasks.clusters) if cluster is None else [str(c) for c in cluster]
    if len(groups) != len(passed):
        raise InputError("cluster", f"given for each of {len(passed)} tasks", len(groups))
    by_task: dict[str, Fraction] = {}
    short: list[str] = []
    held: list[str] = []
    for task, group, c, n in zip(tasks.clusters, groups, passed, trials, strict=True):
        if n < k:
            short.append(task)
            continue
        ways = math.comb(c, k) if rule == "all" else math.comb(n, k) - math.comb(n - c, k)
        by_task[task] = Fraction(ways, math.comb(n, k))
        held.append(group)
    totals = _totals(by_task, held, tasks, rule)
    ends = bounded_mean(totals, level=level)
    exact = sum(by_task.values(), Fraction(0)) / len(by_task) if by_task else None
    return PassK(
        f"pass{'@' if rule == 'any' else '^'}{k}",
        k,
        rule,
        None if exact is None else float(exact),
        exact,
        by_task,
        tuple(short),
        len(by_task),
        sum(n for n in trials if n >= k),
        _value(ends.low[0]),
        _value(ends.high[0]),
        level,
        totals,
        (
            *_short_note(short, len(passed), k),
            *_uneven_note([n for n in trials if n >= k], k),
            *_renamed(ends.notes[0]),
        ),
        f"{ends.method}, tasks with equal weight",
        ends.computation,
        ends.guarantee,
    )


def _whole(tasks: Totals) -> tuple[list[int], list[int]]:
    if tasks.shape[1] != 1:
        raise InputError("tasks", "of one condition", tasks.shape[1], cure="Take totals.column(0).")
    top, bottom, square = (a[:, 0] for a in (tasks.numerator, tasks.denominator, tasks.square))
    if (bottom != np.rint(bottom)).any():
        raise InputError("tasks", "of whole numbers of trials", float(bottom.max()))
    # Σ score² = Σ score for scores of 0 and 1 alone; the sum itself can be whole by chance.
    graded = (square != top) | (top != np.rint(top)) | (top < 0.0) | (top > bottom)
    if graded.any():
        task = tasks.clusters[int(np.flatnonzero(graded)[0])]
        raise InputError("scores", "0 or 1 for pass@k and pass^k", "others", where=f"task {task}",
                         cure="Say what each stands for: --score 0.5=0.")  # fmt: skip
    return [int(c) for c in top.tolist()], [int(n) for n in bottom.tolist()]


def _totals(
    by_task: dict[str, Fraction], held: Sequence[str], tasks: Totals, rule: PassRule
) -> Totals:
    levels = natural_order(set(held))
    codes = Factor.from_values(held, levels).codes
    values = np.array([float(v) for v in by_task.values()])
    columns = [np.bincount(codes, w, len(levels)) for w in (values, None, values * values)]
    top, bottom, square = (np.asarray(c, dtype=np.float64)[:, None] for c in columns)
    name = "pass@k" if rule == "any" else "pass^k"
    return Totals(
        top, bottom, square, tuple(levels), tasks.conditions, tasks.by, name, tasks.losses
    )


def _short_note(short: Sequence[str], tasks: int, k: int) -> tuple[Note, ...]:
    if not short:
        return ()
    shown = ", ".join(short[:5]) + (" …" if len(short) > 5 else "")
    text = f"{len(short)} of {tasks} tasks have fewer than {k} trials and are left out: {shown}"
    return (Note("too-few-trials", text, n=len(short)),)


def _uneven_note(trials: Sequence[int], k: int) -> tuple[Note, ...]:
    few, most = min(trials, default=0), max(trials, default=0)
    if k > 1 or few == most:
        return ()
    text = (
        f"tasks have {few} to {most} trials and weigh alike here; the rate weighs trials alike, so "
        "the two may differ"
    )
    return (Note("tasks-weigh-alike", text),)


def _renamed(notes: Sequence[str]) -> tuple[str, ...]:
    # Each task is one score here, so what is said of trials is meant of tasks.
    told = (note for note in notes if Note.of(note).code != "icc-undefined")
    return tuple(note.replace("trial", "task") for note in told)


def _value(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def _answer_of(rule: Callable[..., PassK]) -> Callable[[Layout, Ask], Answer]:
    """Give the answer of a rule for one k: the rows of the layout are tasks."""

    def answer(layout: Layout, ask: Ask) -> Answer:
        options = {"k": 1} | dict(ask.options)
        found = rule(layout.totals, options.pop("k"), cluster=layout.groups, level=ask.level,
                     **options)  # fmt: skip
        return Answer(
            found.value, found.low, found.high, n=found.trials,
            clusters=len(found.totals.clusters), computation=found.computation,
            guarantee=found.guarantee, notes=tuple(Note.of(line) for line in found.notes),
            extra={"interval": found.method, "tasks": found.tasks,
                   "not_estimable": len(found.not_estimable)},
        )  # fmt: skip

    return answer


METHODS = (
    Method(
        "pass-at-k", "rank",
        "At least one of k trials of a task passes, unbiased for unequal numbers of trials.",
        "Tasks with fewer than k trials: listed, in no average.",
        "quadrature", "conjectured", "Chen et al. 2021, eq. 1; interval: Gaffke 2005",
        answer=_answer_of(pass_at_k), options=("k",), verb="score --pass-k",
    ),
    Method(
        "pass-hat-k", "rank",
        "All of k trials of a task pass, unbiased for unequal numbers of trials.",
        "Tasks with fewer than k trials: listed, in no average.",
        "quadrature", "conjectured", "Yao et al. 2024, tau-bench; interval: Gaffke 2005",
        answer=_answer_of(pass_hat_k), options=("k",), verb="score --pass-k",
    ),
)  # fmt: skip
