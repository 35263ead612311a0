"""The power of a study, and what else it does: worked out from sums over all its outcomes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from simtrack.inference import clopper_pearson
from simtrack.inference.differences.margin import MARGIN_METHODS
from simtrack.note import Note
from simtrack.options import Computation, Guarantee
from simtrack.planning.exact import least_pvalue
from simtrack.planning.goals import Equivalent, Excludes
from simtrack.planning.question import Question, simulation_error
from simtrack.planning.tally import Tally
from simtrack.results import REASONS

__all__ = ["Power", "power_of"]

_LEVEL = 0.95
_MOST_CLUSTERS = 99
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Power:
    """How likely is the study to reach its goal, and what else does it do?

    Attributes
    ----------
    power : float
        Share of studies that reach the goal. A study without an answer is a miss.
    power_answered : float or None
        The share among studies with an answer; None if there are none.
    mcse : float or None
        Monte Carlo standard error of `power`; None where it is exact.
    low, high : float or None
        The Clopper-Pearson interval of a simulated power, at .95: simulation error alone.
    bounds : (float, float)
        The power, and the share if every study without an answer had reached the goal.
    failure_rate : float
        Share of studies without an answer.
    n_draws, n_ok, n_refused, n_failed : int
        Simulated studies; those with an answer; those whose method refused; those whose method
        broke down. 0 draws where it is exact.
    reasons : tuple of (str, float)
        Why studies have no answer, and what share of all studies that is.
    truth, null : float
        The true value of the estimand under the agent, and the value tested.
    type_s : float or None
        Share of the studies that met the goal whose estimate is on the wrong side of the null.
    type_m : float or None
        Mean |estimate - null| of the studies that met the goal, over |truth - null|.
    coverage, mean_width, sd_width : float or None
        Of the intervals of studies that have one, at `level`: Monte Carlo standard errors follow
        from `n_ok`.
    bias, rmse : float or None
        Of the estimate, over the studies that have one.
    level : float
        Of the intervals.
    alpha : float or None
        Level of the test, as typed; None where the goal tests nothing.
    """

    power: float
    power_answered: float | None
    mcse: float | None
    low: float | None
    high: float | None
    bounds: tuple[float, float]
    failure_rate: float
    n_draws: int
    n_ok: int
    n_refused: int
    n_failed: int
    reasons: tuple[tuple[str, float], ...]
    truth: float
    null: float
    type_s: float | None
    type_m: float | None
    coverage: float | None
    coverage_mcse: float | None
    mean_width: float | None
    sd_width: float | None
    bias: float | None
    rmse: float | None
    level: float
    alpha: float | None
    analysis: str
    goal: str
    clusters: int
    repetitions: int
    seed: int | None
    block: int | None
    computation: Computation
    guarantee: Guarantee
    notes: tuple[Note, ...]

    def to_dict(self) -> dict[str, object]:
        """Give plain values for JSON."""
        plain = asdict(self) | {"reasons": dict(self.reasons), "notes": list(self.notes)}
        plain["truth"] = None if math.isnan(self.truth) else self.truth
        return {"schema": "simtrack.power/2"} | plain | {"bounds": list(self.bounds)}

    def __repr__(self) -> str:
        error = "exact" if self.mcse is None else f"mcse {self.mcse:.2g}, {self.n_draws} draws"
        return f"Power({self.power:.4g} ({error}), {self.analysis}, {self.clusters} clusters)"


def power_of(question: Question, found: Tally, *, exact: bool = False) -> Power:
    """Work out every property from the sums of all blocks (or of all possible studies)."""
    missing = found.n - found.ok
    ends = (None, None) if exact else _ends(found)
    truth, goal = question.truth, question.goal
    known = not math.isnan(truth)
    size = abs(truth - question.null) if known else 0.0
    wrong = found.below if truth > question.null else found.above
    held = _ratio(found.covered, found.intervals) if known else None
    counts = [0 if exact else int(v) for v in (found.n, found.ok, found.refused, found.failed)]
    return Power(
        power=found.met / found.n,
        power_answered=_ratio(found.met, found.ok),
        mcse=None if exact else simulation_error(found),
        low=ends[0],
        high=ends[1],
        bounds=(found.met / found.n, (found.met + missing) / found.n),
        failure_rate=missing / found.n,
        n_draws=counts[0],
        n_ok=counts[1],
        n_refused=counts[2],
        n_failed=counts[3],
        reasons=tuple(
            (why, k / found.n) for why, k in zip(REASONS, found.reasons, strict=True) if k
        ),
        truth=truth,
        null=question.null,
        type_s=_ratio(wrong, found.signed) if size else None,
        type_m=_ratio(found.sum_size, found.signed * size),
        coverage=held,
        coverage_mcse=_share_error(held, found.intervals, exact),
        mean_width=_ratio(found.sum_width, found.intervals),
        sd_width=_spread(found.sum_width, found.sum_width_square, found.intervals),
        bias=_ratio(found.sum_error, found.estimated) if known else None,
        rmse=_root(_ratio(found.sum_square, found.estimated)) if known else None,
        level=goal.level(question.analysis),
        alpha=goal.alpha,
        analysis=question.analysis.name,
        goal=str(goal),
        clusters=question.design.clusters,
        repetitions=question.design.repetitions,
        seed=None if exact else question.seed,
        block=None if exact else question.block,
        computation="enumeration" if exact else "monte-carlo",
        guarantee="descriptive",
        notes=_notes(question, found, exact),
    )


def _notes(question: Question, found: Tally, exact: bool) -> tuple[Note, ...]:
    notes = _cannot(question, found)
    if not found.ok:
        notes.append(Note("no-answer", "no study has an answer: each counts as a miss"))
    elif found.ok < found.n:
        share = f"{(found.n - found.ok) / found.n:.2%} of studies have no answer"
        text = f"{share} and count as misses; coverage, width and bias are of the others"
        notes.append(Note("no-answer", text, n=0 if exact else int(found.n - found.ok)))
    margin = isinstance(question.goal, Equivalent | Excludes)
    if margin and question.analysis.name not in MARGIN_METHODS:
        level = question.goal.level(question.analysis)
        text = f"the {100 * level:g} % interval decides: test has no margin for this method"
        notes.append(Note("interval-decides", text))
    if question.interim is not None:
        notes.append(Note("given-interim", "power, coverage, bias and errors are given the "
                          "observed clusters, and hold if the agent is right"))  # fmt: skip
    if math.isnan(question.truth):
        notes.append(Note("no-truth", "the estimand is not defined under this agent: no coverage "
                          "and no bias"))  # fmt: skip
    if not exact and question.decided_at is None and simulation_error(found) > question.mcse:
        told = f"stopped at max_draws before the Monte Carlo error was {question.mcse:g}"
        notes.append(Note("draws-exhausted", told))
    return tuple(notes)


def _cannot(question: Question, found: Tally) -> list[Note]:
    """Say why the test can never reject, and what would make it able to."""
    name, clusters = question.analysis.name, question.design.clusters
    notes, alpha = [], question.goal.alpha
    if alpha is not None and (floor := least_pvalue(question)) > alpha + _ROUNDING:
        need = next((g for g in range(clusters, _MOST_CLUSTERS)
                     if least_pvalue(question, g) <= alpha + _ROUNDING), None)  # fmt: skip
        both = question.goal.tests(question.analysis)[0][1] == "two-sided"
        side = "two-sided" if both else "one-sided"
        text = f"{name} of {clusters} clusters cannot reject: its least {side} p is {floor:.3g}, "
        enough = "" if need is None else f"; {need} clusters are enough"
        notes.append(Note("cannot-reject", f"{text}above alpha {alpha:.12g}{enough}"))
    several = REASONS.index("more than one trial a cluster and arm")
    if found.reasons[several]:
        notes.append(Note("one-trial", f"{name} takes 1 repetition; sign-flip takes more"))
    return notes


def _ends(found: Tally) -> tuple[float, float]:
    low, high = clopper_pearson(int(found.met), int(found.n), level=_LEVEL)
    return float(low), float(high)


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom > 0.0 else None


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def _spread(total: float, squares: float, n: float) -> float | None:
    if n <= 0.0:
        return None
    return math.sqrt(max(0.0, squares / n - (total / n) ** 2))


def _share_error(share: float | None, n: float, exact: bool) -> float | None:
    if share is None or exact:
        return None
    return math.sqrt(max(share * (1.0 - share), 1.0 / n) / n)
