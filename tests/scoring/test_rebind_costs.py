"""Cost behind a delivered task, in tokens and dollars, as a ratio of ratios of sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from simtrack.errors import DataError, InputError
from simtrack.price import Price
from simtrack.records import Records
from simtrack.scoring.rebind.costs import cost_ratio

#: The step of a numeric derivative, and what it is good to.
STEP, NUMERIC = 1e-6, 1e-6

# cluster, arm, model, tokens read, tokens written, probe read, probe written, outcome
ROWS = [
    ("t1", "rebind", "m", 1000, 400, 9000, 500, "NO_TRACE"),
    ("t1", "bare", "m", 800, 300, np.nan, np.nan, "NO_TRACE"),
    ("t2", "rebind", "m", 1200, 600, 8000, 700, "UNPARSEABLE"),
    ("t2", "bare", "m", 900, 200, np.nan, np.nan, "TRUE_RELAPSE"),
    ("t3", "rebind", "m", 1100, 500, 7000, 100, "CLAUSE_MISS"),
    ("t3", "bare", "m", 700, 350, np.nan, np.nan, "LEGIT_REFERENCE"),
    ("t4", "rebind", "m", 1500, 300, 9500, 0, "NO_TRACE"),
    ("t4", "bare", "m", 600, 250, np.nan, np.nan, "NO_TRACE"),
]
NAMES = ("cluster", "arm", "model", "input_tokens", "output_tokens", "probe_in", "probe_out",
         "outcome")  # fmt: skip


def table(rows: list[tuple[object, ...]] = ROWS) -> Records:
    columns = {n: list(c) for n, c in zip(NAMES, zip(*rows, strict=True), strict=True)}
    for name in NAMES[3:7]:
        columns[name] = [float(v) for v in columns[name]]  # type: ignore[arg-type]
    return Records.from_columns(columns)


def log_ratio(weights: np.ndarray) -> float:
    """log(cost / delivered) of rebind minus that of bare, each cluster with a weight."""
    cost = np.array([[1400, 1100], [1800, 1100], [1600, 1050], [1800, 850]], dtype=float)
    done = np.array([[1, 1], [0, 0], [1, 1], [1, 1]], dtype=float)
    c, d = (weights[:, None] * cost).sum(axis=0), (weights[:, None] * done).sum(axis=0)
    return float(np.log(c[0] / d[0]) - np.log(c[1] / d[1]))


def test_ratio_of_sums_by_hand() -> None:
    found = cost_ratio(table(), "rebind", "bare")
    # rebind: 1400 + 1800 + 1600 + 1800 = 6600 tokens for 3 tasks (one does not parse); bare:
    # 1100 + 1100 + 1050 + 850 = 4100 for 3 (one relapses). 2200 against 1366.67.
    assert (found.cost, found.delivered, found.episodes) == ((6600.0, 4100.0), (3, 3), (4, 4))
    assert found.ratio == pytest.approx(6600 / 4100)
    assert (found.unit, found.basis, found.clusters, found.shared) == (
        "tokens",
        "delivery",
        (4, 4),
        4,
    )


def test_interval_is_linearised_over_clusters() -> None:
    found = cost_ratio(table(), "rebind", "bare", level=0.9)
    # The derivative of the log ratio in each cluster's weight, by differences; then
    # G/(G-1) Σ d², and Student's t with 3 degrees of freedom.
    ones = np.ones(4)
    moves = np.array([
        (log_ratio(ones + STEP * e) - log_ratio(ones - STEP * e)) / (2 * STEP) for e in np.eye(4)
    ])  # fmt: skip
    se = math.sqrt(4 / 3 * float((moves**2).sum()))
    assert found.se_log == pytest.approx(se, rel=NUMERIC)
    half = stats.t.ppf(0.95, 3) * se
    assert found.low == pytest.approx(6600 / 4100 * math.exp(-half), rel=NUMERIC)
    assert found.high == pytest.approx(6600 / 4100 * math.exp(half), rel=NUMERIC)


def test_arms_with_no_common_cluster_are_independent() -> None:
    apart = [(f"{row[1]}{row[0]}", *row[1:]) for row in ROWS]
    shared, found = (
        cost_ratio(table(), "rebind", "bare"),
        cost_ratio(table(apart), "rebind", "bare"),
    )
    assert (found.ratio, found.shared) == (shared.ratio, 0)
    # Variances add up: those of each arm's log ratio against an arm that costs the same everywhere.
    parts = []
    for c, d in (([1400, 1800, 1600, 1800], [1, 0, 1, 1]), ([1100, 1100, 1050, 850], [1, 0, 1, 1])):
        move = np.array(c) / sum(c) - np.array(d) / sum(d)
        parts.append(4 / 3 * float((move**2).sum()))
    assert found.se_log == pytest.approx(math.sqrt(sum(parts)))


def test_closed_loop_adds_the_probes_of_the_first_arm() -> None:
    found = cost_ratio(table(), "rebind", "bare", probe=["probe_in", "probe_out"])
    # Probes: 9500 + 8700 + 7100 + 9500 = 34800.
    assert found.cost == (6600.0 + 34800.0, 4100.0)
    assert (found.basis, found.unknown) == ("closed loop", 0)
    assert found.ratio == pytest.approx(41400 / 4100)


def test_dollars_by_a_price_table() -> None:
    # The paper's prices of qwen3-8b: 0.1 and 0.4 dollars a million tokens read and written.
    prices = {"m": Price(input_usd_per_mtok=0.1, output_usd_per_mtok=0.4)}
    found = cost_ratio(table(), "rebind", "bare", prices=prices)
    # Read 4800 and written 1800 under rebind: 480 + 720 = 1200 millionths of a dollar; 3000 and
    # 1100 under bare: 300 + 440 = 740.
    assert found.cost == pytest.approx((1200e-6, 740e-6))
    assert (found.unit, found.ratio) == ("usd", pytest.approx(1200 / 740))
    by_call = cost_ratio(table(), "rebind", "bare", prices={"m": Price(usd_per_call=0.01)})
    assert by_call.ratio == pytest.approx(1.0)


def test_the_papers_delivery_overhead() -> None:
    # 38,979 tokens a delivered task under rebind, 26,198 under bare: printed as 1.49.
    rows = [("t", a, "m", n, 0, 0, 0, "NO_TRACE") for a, n in (("rebind", 38979), ("bare", 26198))]
    found = cost_ratio(table(rows), "rebind", "bare")
    assert found.ratio is not None
    assert round(found.ratio, 2) == 1.49
    assert (found.low, found.se_log) == (None, None)


def test_deliveries_from_a_column() -> None:
    done = Records.from_columns({"d": ["1", "1", "0", "1", "1", "1", "1", None]}).factors["d"]
    rows = table().with_factors(done=done)
    found = cost_ratio(rows, "rebind", "bare", delivered="done")
    assert (found.delivered, found.unknown) == ((3, 3), 1)
    assert found.cost == (6600.0, 3250.0)  # the last bare episode is left out


def test_what_cannot_be_told() -> None:
    none = [(*row[:-1], "EMPTY") if row[1] == "bare" else row for row in ROWS]
    found = cost_ratio(table(none), "rebind", "bare")
    assert (found.ratio, found.low) == (None, None)
    assert "not defined: an arm delivers nothing, or the second costs nothing" in found.notes
    lost = [(*row[:3], np.nan, *row[4:]) if row[0] == "t1" else row for row in ROWS]
    assert cost_ratio(table(lost), "rebind", "bare").unknown == 2


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InputError, match="tokens must be a column of numbers, one of arm"):
        cost_ratio(table(), "rebind", "bare", tokens=["tokens"])
    with pytest.raises(InputError, match="arm must be one of bare, rebind"):
        cost_ratio(table(), "rebind", "vr")
    with pytest.raises(InputError, match="two columns for dollars"):
        cost_ratio(table(), "rebind", "bare", tokens=["input_tokens"], prices={})
    with pytest.raises(InputError, match="model must be one of the price table's"):
        cost_ratio(table(), "rebind", "bare", prices={"x": Price(usd_per_call=1)})
    negative = [(*row[:3], -1, *row[4:]) for row in ROWS]
    with pytest.raises(DataError, match="input_tokens holds a negative number"):
        cost_ratio(table(negative), "rebind", "bare")
