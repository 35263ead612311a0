"""Figures of the StageIF, StateTrack and ReBIND papers, recomputed where they print counts.

The counts are carried here; `table20_counts.csv` and the like are the project's transcriptions of
the papers, against which they are held where those stand beside the checkout.
"""

from __future__ import annotations

import csv
import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from simtrack.counts import Totals
from simtrack.inference import (
    bootstrap,
    cluster_difference,
    paired_difference,
    sign_flip_contrast,
    sign_flip_contrast_interval,
    sign_test_contrast,
    sign_test_counts,
)
from simtrack.inference.rates.pooled import rule_of_three_pooled, wilson_pooled, zeros_pooled

SAME = 1e-10  # SciPy's t quantile against ours
END = 5e-5  # ends that are named to four places

#: StageIF, Table 20: of 72 trajectories a deployment, tasks done with B1 (marker) and B2 (no tool
#: call), the printed difference in points, and with B1 dead ends and premature stops.
TABLE_20 = {
    "deepseek-v4-flash": (18, 26, 11, 41, 0),
    "deepseek-v4-pro": (25, 31, 8, 5, 0),
    "glm-5.1": (52, 55, 4, 0, 5),
    "gpt-4.1": (22, 30, 11, 0, 1),
    "gpt-4.1-mini": (17, 25, 11, 5, 1),
    "qwen3.5-122b-a10b": (50, 32, -25, 0, 0),
    "qwen3.5-35b-a3b": (2, 51, 68, 69, 0),
    "qwen3.6-27b": (49, 60, 15, 11, 2),
}
TRAJECTORIES = 72
#: StageIF, section 6: +13.0 [+7.1, +19.4] by resampling 12 scenarios, whose counts are not printed.
PRINTED_GAIN, PRINTED_ENDS = 13.0, (7.1, 19.4)

#: Paper, what, k, n, level in percent as printed, Wilson's ends in percent as printed.
WILSON = [
    ("StageIF table 9", "intermediate", 263, 440, 59.8, 55.1, 64.3),
    ("StageIF table 9", "terminal", 417, 440, 94.8, 92.3, 96.5),
    ("StateTrack", "integrity failures", 70, 79, 88.6, 79.7, 93.9),
    ("StateTrack", "the same without Gemini", 27, 32, 84.4, 68.2, 93.1),
]
#: ReBIND: zero counts, and 3/n in percent to as many places as printed (`zero_counts.csv`).
ZEROS = {
    "compiled cells, all twelve": (2968, "0.10"),
    "ceiling control qwen3-max": (600, "0.5"),
    "cross-family rescue, pooled": (594, "0.51"),
    "cross-family rescue, first load": (200, "1.50"),
    "cross-family rescue, second load": (195, "1.54"),
    "cross-family rescue, third load": (199, "1.51"),
    "tombstone compiled arm": (378, "0.8"),
}
#: Claim, k, n, percent as printed.
SHARES = [
    ("SI036 JSON envelopes, gpt-5.6-sol", 332, 958, "34.7"),
    ("SI050 all mid-task reports wrong, gpt-4.1", 73, 109, "67"),
    ("SI051 all mid-task reports wrong, gpt-5.5", 64, 95, "67"),
    ("SI052 all mid-task reports wrong, claude-sonnet-5", 43, 98, "44"),
    ("RB56 format-unstable samples", 49, 762, "6.4"),
    ("ReBIND confident diagnoses", 32, 35, "91.4"),
    # The restoration block has 402 episodes an arm; the counts follow from its printed contrasts.
    ("RB07 vr_blind minus rebind, as 77 of 402", 77, 402, "19.2"),
    ("vr minus rebind, as 5 of 402", 5, 402, "1.24"),
]


def places(text: str) -> int:
    return len(text.partition(".")[2])


def gates() -> Totals:
    """B2 and B1 with the deployments as clusters."""
    return Totals.from_arrays(
        [[b2, b1] for b1, b2, *_ in TABLE_20.values()],
        [[TRAJECTORIES] * 2] * 8,
        clusters=list(TABLE_20),
        conditions=[("B2",), ("B1",)],
        by=("gate",),
    )


@pytest.mark.parametrize(("paper", "what", "k", "n", "rate", "low", "high"), WILSON)
def test_wilson_intervals_as_printed(paper, what, k, n, rate, low, high):
    totals = Totals.from_arrays([k], [n])
    found = wilson_pooled(totals)
    shown = [round(100 * float(v), 1) for v in (totals.rates()[0], found.low[0], found.high[0])]
    assert shown == [rate, low, high]


@pytest.mark.parametrize(("what", "n", "printed"), [(w, *v) for w, v in ZEROS.items()])
def test_rule_of_three_bounds_as_printed(what, n, printed):
    none = Totals.from_arrays([0], [n])
    found, exact = rule_of_three_pooled(none), zeros_pooled(none)
    assert f"{100 * found.high[0]:.{places(printed)}f}" == printed
    assert exact.high[0] < found.high[0]  # 3 is a little more than -log .05
    assert (1 - exact.high[0]) ** n == pytest.approx(0.05, rel=SAME)


@pytest.mark.parametrize(("claim", "k", "n", "printed"), SHARES)
def test_shares_as_printed(claim, k, n, printed):
    rate = Totals.from_arrays([k], [n]).rates()[0]
    assert f"{100 * rate:.{places(printed)}f}" == printed


def test_rebind_sign_test_of_45_against_1():
    """Printed: 1.3e-12 over 67 tasks; 21 did not move."""
    found = sign_test_counts(45, 1, 21)
    assert f"{found.pvalue:.1e}" == "1.3e-12"
    assert found.exact == Fraction(2 * (1 + 46), 2**46)
    assert found.pvalue == pytest.approx(stats.binomtest(45, 46).pvalue, rel=1e-12, abs=0)


@pytest.mark.parametrize(("clusters", "floor"), [(6, Fraction(2, 64)), (12, Fraction(2, 4096))])
def test_stageif_floors_of_six_and_twelve_scenarios(clusters, floor):
    """Appendix O prints .031 for the six help-desk scenarios; the primary study has twelve."""
    best = Totals.from_arrays([[3, 1]] * clusters, [[4, 4]] * clusters)
    for test in (sign_flip_contrast(best), sign_test_contrast(best)):
        assert test.exact == test.floor == floor
        assert test.refusal(0.05) is None
        assert test.refusal(float(floor) * 0.99) is not None


def test_stageif_five_scenarios_could_not_have_been_tested():
    best = Totals.from_arrays([[3, 1]] * 5, [[4, 4]] * 5)
    assert "2/32 = 0.0625, above 0.05" in sign_flip_contrast(best).refusal(0.05)


def test_table_20_gain_as_printed_with_the_deployments_as_clusters():
    """75 of 576: the point is the printed one. Eight deployments differ far more than scenarios.

    The printed interval resamples scenarios and takes the eight deployments as given; ours asks
    what other deployments would do, so it is wider and holds 0.
    """
    found = paired_difference(gates())
    assert found.difference == pytest.approx(75 / 576, rel=1e-14)
    assert round(100 * found.difference, 1) == PRINTED_GAIN
    assert found.pooled_difference == pytest.approx(found.difference, rel=1e-14)
    rates = np.array([[b2, b1] for b1, b2, *_ in TABLE_20.values()]) / TRAJECTORIES
    right = stats.ttest_rel(rates[:, 0], rates[:, 1])
    ends = right.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=SAME)
    assert (found.low, found.high) == pytest.approx((-0.0839, 0.3443), abs=END)
    assert found.t_pvalue == pytest.approx(right.pvalue, rel=SAME)
    assert 100 * found.low < PRINTED_ENDS[0] < PRINTED_GAIN < PRINTED_ENDS[1] < 100 * found.high
    trials = cluster_difference(gates())  # pooled rates: the same, since all have 72
    assert (trials.low, trials.high) == pytest.approx((found.low, found.high), rel=SAME)


def test_table_20_exact_tests_over_eight_deployments():
    """All 256 sign patterns of +8 +6 +3 +8 +8 -18 +49 +11, and 7 up against 1 down."""
    gaps = [b2 - b1 for b1, b2, *_ in TABLE_20.values()]
    sums = [
        sum(s * abs(g) for s, g in zip(signs, gaps, strict=True))
        for signs in itertools.product((1, -1), repeat=8)
    ]
    flip, sign = sign_flip_contrast(gates(), randomised=True), sign_test_contrast(gates())
    assert flip.exact == Fraction(sum(abs(s) >= 75 for s in sums), 256) == Fraction(46, 256)
    assert flip.floor == Fraction(2, 256)
    assert (sign.positive, sign.negative) == (7, 1)
    assert sign.exact == Fraction(2 * (1 + 8), 256)
    means = sorted(
        Fraction(sum(chosen), 72 * size)
        for size in range(1, 9)
        for chosen in itertools.combinations(gaps, size)
    )
    interval = sign_flip_contrast_interval(gates())  # rank floor(.025 x 256) = 6
    right = float(means[5]), float(means[-6])
    assert (interval.low, interval.high) == pytest.approx(right, rel=1e-14)
    assert interval.low < 0.0 < interval.high


def test_table_20_bootstrap_over_deployments_is_the_law_of_all_resamples():
    """Sums of eight draws from the gaps, by convolution in whole numbers."""
    law = {0: 1}
    for _ in range(8):
        step: dict[int, int] = {}
        for total, ways in law.items():
            for b1, b2, *_ in TABLE_20.values():
                step[total + b2 - b1] = step.get(total + b2 - b1, 0) + ways
        law = step
    ends = []
    for wanted in (Fraction(1, 40), Fraction(39, 40)):
        reached = 0
        for value in sorted(law):
            reached += law[value]
            if Fraction(reached, 8**8) >= wanted:
                ends.append(value / 576)
                break
    found = bootstrap(gates())
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-14)
    assert (found.low, found.high) == pytest.approx((-0.0243, 0.3177), abs=END)
    assert found.low < 0.0 < PRINTED_ENDS[0] / 100  # it holds 0, unlike the printed interval


def test_table_20_differences_and_stops_as_printed():
    """The difference column, and 22.7 % missing-marker and 1.6 % premature stops of section 6."""
    for b1, b2, printed, *_ in TABLE_20.values():
        assert round(100 * (b2 - b1) / TRAJECTORIES) == printed
    stops = Totals.from_arrays([row[3:] for row in TABLE_20.values()], [[TRAJECTORIES] * 2] * 8)
    assert [round(100 * float(r), 1) for r in stops.rates()] == [22.7, 1.6]


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.shared
def test_the_counts_carried_here_are_those_of_the_transcriptions(shared):
    stageif, rebind = shared / "reference" / "stageif", shared / "reference" / "rebind"
    found = {(r["deployment"], r["gate"], r["outcome"]): int(r["count"])
             for r in rows(stageif / "table20_counts.csv")}  # fmt: skip
    points = {r["deployment"]: int(r["b2_minus_b1_points"])
              for r in rows(stageif / "table20_difference.csv")}  # fmt: skip
    assert set(points) == set(TABLE_20)
    for name, (b1, b2, printed, dead, premature) in TABLE_20.items():
        assert (b1, b2) == (found[name, "B1_marker", "task_ok"],
                            found[name, "B2_no_tool_call", "task_ok"])  # fmt: skip
        assert (dead, premature) == (found[name, "B1_marker", "dead_end"],
                                     found[name, "B1_marker", "premature_stop"])  # fmt: skip
        assert printed == points[name]
    table_9 = {
        (r["checkpoint"], int(r["valid"]), int(r["planned"]), float(r["percent"]), float(r["low"]),
         float(r["high"]))
        for r in rows(stageif / "table9_seed.csv")
    }  # fmt: skip
    assert {w[1:] for w in WILSON if w[0] == "StageIF table 9"} == table_9
    bounds = {r["name"]: (int(r["n"]), r["upper_bound_printed"].strip("≤%"))
              for r in rows(rebind / "zero_counts.csv") if r["upper_bound_printed"]}  # fmt: skip
    assert bounds == ZEROS


@pytest.mark.shared
def test_the_printed_claims_are_those_of_the_transcriptions(shared):
    claims = {r["claim_id"]: r for folder in ("stageif", "rebind")
              for r in rows(shared / "reference" / folder / "text_claims.csv")}  # fmt: skip
    gain = claims["SI130"]
    assert (float(gain["value"]), float(gain["low"]), float(gain["high"])) == (
        PRINTED_GAIN, *PRINTED_ENDS,
    )  # fmt: skip
    assert (claims["SI132"]["printed"], claims["SI131"]["printed"]) == ("22.7%", "1.6%")
    for claim, k, n, printed in SHARES:
        row = claims.get(claim.split()[0])
        if row is not None and row["numerator"]:
            assert (int(row["numerator"]), int(row["n"])) == (k, n)
            assert row["printed"].strip("%") == printed or row["unit"] == "count"
    sign = claims["RB04"]
    assert (sign["p_printed"], claims["RB05"]["value"], claims["RB06"]["value"]) == (
        "1.3e-12", "45", "1",
    )  # fmt: skip
