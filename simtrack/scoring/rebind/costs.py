"""What does one arm cost more than another, in tokens or dollars behind a delivered task?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.inference.numerics.special import t_critical
from simtrack.options import Computation, Guarantee
from simtrack.plain import Plain
from simtrack.price import Price, price_of
from simtrack.records import Records
from simtrack.scoring.columns import number_column
from simtrack.validate import confidence_level

__all__ = ["CostRatio", "cost_ratio"]

Floats = NDArray[np.float64]
#: Without a column of deliveries: an artifact is there and does not do what was revoked.
_NOT_DELIVERED = ("TRANSPORT", "EMPTY", "UNPARSEABLE", "TRUE_RELAPSE")
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class CostRatio(Plain, schema="simtrack.cost-ratio/1"):
    """How many times more does a delivered task cost in the first arm than in the second?

    Attributes
    ----------
    unit : "tokens" or "usd"
    basis : "delivery" or "closed loop"
        The closed loop adds what the probes of the first arm took, without amortisation.
    ratio : float or None
        (Σ cost / Σ delivered) of the first arm over that of the second.
    low, high : float or None
        Student's t on the logarithm, linearised over clusters.
    per_delivered : two floats or None
    cost, delivered, episodes : pairs of numbers
    clusters, shared : pair of int, and int
    se_log, df : float or None
    unknown : int
        Episodes left out, whose cost the log does not say.
    notes : tuple of str
    """

    unit: Literal["tokens", "usd"]
    basis: Literal["delivery", "closed loop"]
    first: str
    second: str
    ratio: float | None
    low: float | None
    high: float | None
    level: float
    per_delivered: tuple[float | None, float | None]
    cost: tuple[float, float]
    delivered: tuple[int, int]
    episodes: tuple[int, int]
    clusters: tuple[int, int]
    shared: int
    se_log: float | None
    df: float | None
    unknown: int
    notes: tuple[str, ...] = ()
    method: str = "cluster t on the log of a ratio of ratios"
    computation: Computation = "closed-form"
    guarantee: Guarantee = "asymptotic"

    def __repr__(self) -> str:
        if self.ratio is None:
            return "CostRatio(not defined)"
        ends = "no interval" if self.low is None else f"{self.low:.3f} to {self.high:.3f}"
        return f"CostRatio({self.first} / {self.second}: {self.ratio:.3f}, {ends}, {self.unit})"


def cost_ratio(
    records: Records,
    first: str,
    second: str,
    *,
    by: str = "arm",
    tokens: Sequence[str] = ("input_tokens", "output_tokens"),
    probe: Sequence[str] = (),
    prices: Mapping[str, Price] | None = None,
    model: str = "model",
    delivered: str | None = None,
    cluster: str | None = None,
    level: float = 0.95,
) -> CostRatio:
    """How much does the first arm's overhead cost a delivered task, in tokens or dollars?

    Ratio of sums: all tokens of an arm (failed episodes too) over its delivered tasks, then over
    that of the other arm. The variance of its logarithm is linearised over clusters, which the arms
    may share wholly, partly or not at all.

    Parameters
    ----------
    records : Records
        Episodes with numeric columns of tokens.
    first, second : str
        Levels of the column `by`.
    tokens : sequence of str
        Columns to add up. For dollars two: tokens read and tokens written.
    probe : sequence of str
        Columns of what the probes took, added to the first arm: the closed loop. For dollars two.
    prices : mapping of model to Price, optional
        Then the cost is in dollars; `read_prices` reads one.
    model : str
        The column of models, for prices.
    delivered : str, optional
        A column of 1 and 0. Without it, an episode delivers if its artifact parses and does not
        relapse (the paper blocks delivery at relapse alone).

    Source: ReBIND section 5.6, appendix H.

    Examples
    --------
    >>> rows = Records.from_columns({
    ...     "unit": ["t1", "t2"] * 2, "arm": ["rebind"] * 2 + ["bare"] * 2,
    ...     "outcome": ["NO_TRACE", "UNPARSEABLE", "NO_TRACE", "NO_TRACE"],
    ...     "total_tokens": [300.0, 300.0, 200.0, 200.0]})
    >>> cost_ratio(rows, "rebind", "bare", tokens=["total_tokens"]).ratio
    3.0
    """
    confidence_level("level", level)
    if first == second:
        raise InputError("second", "another arm than the first", repr(second))
    arms = records.factor(by)
    codes = [arms.code_of(name, by) for name in (first, second)]
    cost = _cost(records, tokens, prices, model)
    is_first = arms.codes == codes[0]
    if probe:
        cost = cost + np.where(is_first, _cost(records, probe, prices, model), 0.0)
    done = _delivered(records, delivered)
    unit = records.factor(cluster or ("cluster" if "cluster" in records.factors else "unit"))
    wanted = is_first | (arms.codes == codes[1])
    known = ~np.isnan(cost) & ~np.isnan(done) & (unit.codes >= 0)
    sides = [(arms.codes == code) & known for code in codes]
    table = np.zeros((2, 3, len(unit.levels)))
    for side, mask in enumerate(sides):
        for k, weights in enumerate((cost, done, np.ones(len(records)))):
            table[side, k] = np.bincount(unit.codes[mask], weights[mask], len(unit.levels))
    unknown = int((wanted & ~known).sum())
    return _result(table, first, second, prices is not None, bool(probe), level, unknown,
                   delivered is None)  # fmt: skip


def _result(
    table: Floats,
    first: str,
    second: str,
    in_usd: bool,
    has_probe: bool,
    level: float,
    unknown: int,
    by_outcome: bool,
) -> CostRatio:
    total = table.sum(axis=2)
    here = table[:, 2] > 0.0
    clusters, shared = here.sum(axis=1), int(here.all(axis=0).sum())
    per = [float(c / d) if d > 0.0 else None for c, d, _ in total.tolist()]
    notes = []
    if by_outcome:
        notes.append("delivered: the artifact parses and does not relapse")
    if unknown:
        notes.append(
            f"{unknown} episodes are left out: their tokens, delivery or cluster is missing"
        )
    ratio = se = df = low = high = None
    if per[0] is not None and per[1]:
        ratio = per[0] / per[1]
        se, df, why = _standard_error(table, total, here, clusters, shared)
        notes += [why] if why else []
    else:
        notes.append("not defined: an arm delivers nothing, or the second costs nothing")
    if ratio and se is not None and df is not None and se > _ROUNDING:
        half = t_critical(level, df) * se
        low, high = ratio * math.exp(-half), ratio * math.exp(half)
    return CostRatio(
        "usd" if in_usd else "tokens", "closed loop" if has_probe else "delivery", first, second,
        ratio, low, high, level, (per[0], per[1]), (float(total[0, 0]), float(total[1, 0])),
        (int(total[0, 1]), int(total[1, 1])), (int(total[0, 2]), int(total[1, 2])),
        (int(clusters[0]), int(clusters[1])), shared, se, df, unknown, tuple(notes),
    )  # fmt: skip


def _standard_error(
    table: Floats, total: Floats, here: NDArray[np.bool_], clusters: NDArray[np.int64], shared: int
) -> tuple[float | None, float | None, str]:
    """Linearise log(cost / delivered) of each arm: a cluster moves it by C_g / C - D_g / D."""
    if clusters.min() < 2:
        return None, None, "no interval: an arm with one cluster cannot say how clusters differ"
    if (total[:, 0] <= 0.0).any():
        return None, None, "no interval: a cost of 0 has no logarithm"
    move = table[:, 0] / total[:, :1] - table[:, 1] / total[:, 1:2]
    factor = clusters / (clusters - 1.0)
    own = float((factor * (move**2).sum(axis=1)).sum())
    both = float((move[0] * move[1]).sum()) * math.sqrt(float(factor.prod()))
    square = own - 2.0 * both
    se = math.sqrt(square) if square > _ROUNDING * own else 0.0
    why = "" if se > _ROUNDING else "no interval: every cluster has the same ratio"
    return se, float(clusters.min()) - 1.0, why


def _cost(
    records: Records, columns: Sequence[str], prices: Mapping[str, Price] | None, model: str
) -> Floats:
    """Give tokens or dollars of every row; NaN where a column has no number."""
    counts = [number_column(records, name, "tokens") for name in columns]
    for name, values in zip(columns, counts, strict=True):
        if (values < 0.0).any():
            raise DataError(f"{name} holds a negative number. Tokens are 0 or more.")
    if not counts:
        raise InputError("tokens", "at least one column", "none")
    if prices is None:
        return np.asarray(np.sum(counts, axis=0))
    if len(counts) != 2:
        raise InputError("tokens", "two columns for dollars: read and written", list(columns))
    factor = records.factor(model).compact()
    rates = np.full((len(factor.levels) + 1, 3), np.nan)
    for k, name in enumerate(factor.levels):
        rates[k] = _rates(price_of(prices, name))
    found = rates[factor.codes]
    return np.asarray(found[:, 0] + found[:, 1] * counts[0] + found[:, 2] * counts[1])


def _rates(price: Price) -> tuple[float, float, float]:
    """Give dollars for a call, a token read and a token written."""
    if price.usd_per_call is not None:
        return price.usd_per_call, 0.0, 0.0
    return 0.0, price.with_tokens(1.0, 0.0).usd(), price.with_tokens(0.0, 1.0).usd()


def _delivered(records: Records, column: str | None) -> Floats:
    if column is None:
        outcome = records.factor("outcome")
        done = [float(code not in _NOT_DELIVERED) for code in outcome.levels]
        return np.array([*done, np.nan])[outcome.codes]
    if column in records.numbers:
        values = records.numbers[column]
    else:
        factor: Factor = records.factor(column)
        known = {"1": 1.0, "0": 0.0, "true": 1.0, "false": 0.0}
        levels = [known.get(level.lower(), -1.0) for level in factor.levels]
        values = np.array([*levels, np.nan])[factor.codes]
    if not (np.isnan(values) | (values == 0.0) | (values == 1.0)).all():
        raise DataError(f"{column} must hold 1 (delivered) and 0 only.")
    return values
