"""Every quantity of the papers is computed, by name or by a function, or says why not."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from pathlib import Path

import pytest

from simtrack.counts import Counts
from simtrack.errors import InputError
from simtrack.estimands import (
    CATALOGUE,
    RATE,
    Unavailable,
    estimand,
    factorial_effect,
    factorial_interaction,
)
from simtrack.probe.placebo import placebo_quantile
from simtrack.taxonomy import GATE

#: What nothing computes, as of now.
NOT_COMPUTED = {"reasoning_tokens", "framework_survey", "anchoring_shares", "detector_audit"}
TESTS = Path(__file__).resolve().parents[1]


def test_what_is_no_ratio_names_the_function_that_computes_it_or_why_none_does():
    without = set()
    for name, entry in CATALOGUE.items():
        if not isinstance(entry, Unavailable):
            continue
        assert entry.needs
        if not entry.home:
            without.add(name)
            continue
        module, _, function = entry.home.partition(":")
        assert callable(getattr(import_module(module), function)), name
    assert without == NOT_COMPUTED


def test_every_ratio_and_contrast_is_named_in_a_test():
    text = "".join(path.read_text("utf-8") for path in TESTS.rglob("test_*.py"))
    named = [n for n, e in CATALOGUE.items() if not isinstance(e, Unavailable)]
    assert [name for name in named if f'"{name}"' not in text] == []


def test_ends_of_rollouts_by_hand():
    ends = {"TASK_OK": 6, "DEAD_END": 3, "PREMATURE": 1, "STALL": 4, "TURN_CAP": 2, "TRANSPORT": 4}
    table = Counts.from_cells([list(ends.values())], outcomes=tuple(ends), cluster=["a"])
    for name, code in (("task_success", "TASK_OK"), ("dead_end_share", "DEAD_END"),
                       ("premature_stop_share", "PREMATURE"), ("stall_share", "STALL"),
                       ("turn_cap_share", "TURN_CAP")):  # fmt: skip
        what = estimand(name)
        assert what.taxonomy is GATE
        totals = what.totals(table)
        # Transport failures stay in the denominator here: 20 rollouts.
        assert (totals.numerator.sum(), totals.denominator.sum()) == (ends[code], 20)


def test_contrasts_of_arms_by_hand():
    # broad adherence: injected 9 of 12, static 6 of 12, baseline 3 of 12
    cells = [[3, 9], [6, 6], [9, 3]]
    table = Counts.from_cells(
        cells, outcomes=("APP_MISS", "CLEAN"), cluster=["s"] * 3,
        conditions={"arm": ["injected", "static", "baseline"]},
    )  # fmt: skip
    assert estimand("injected_minus_baseline").value(table) == pytest.approx(0.5)
    assert estimand("static_minus_baseline").value(table) == pytest.approx(0.25)


def test_an_interaction_is_a_difference_of_differences():
    factors = {"O": ("0", "1"), "X": ("0", "1"), "C": ("0", "1")}
    rates = {  # passes of 10 by (O, X, C)
        ("0", "0", "0"): 1, ("1", "0", "0"): 3, ("0", "1", "0"): 2, ("1", "1", "0"): 8,
        ("0", "0", "1"): 4, ("1", "0", "1"): 5, ("0", "1", "1"): 6, ("1", "1", "1"): 9,
    }  # fmt: skip
    table = Counts.from_cells(
        [[10 - k, k] for k in rates.values()], outcomes=("FAIL", "PASS"), cluster=["s"] * 8,
        conditions={n: [key[i] for key in rates] for i, n in enumerate(factors)},
    )  # fmt: skip
    # At C=0: (8-2) - (3-1) = 4 tenths; at C=1: (9-6) - (5-4) = 2 tenths; mean 3 tenths.
    whole = factorial_interaction(RATE, factors, ("O", "X"))
    assert whole.value(table) == pytest.approx(0.3)
    assert factorial_interaction(RATE, factors, ("O", "X"), scale="half").value(
        table
    ) == pytest.approx(0.15)
    # The effect of O at high X minus at low X, each a main effect within its half.
    effect = factorial_effect(RATE, {"O": factors["O"], "C": factors["C"]}, "O")
    gap = [effect.value(table.select(X=level)) for level in ("1", "0")]
    assert whole.value(table) == pytest.approx(gap[0] - gap[1])
    with pytest.raises(InputError, match="two different factors"):
        factorial_interaction(RATE, factors, ("O", "O"))


def test_the_placebo_quantile_is_that_of_the_printed_null_and_of_scipy():
    from scipy import stats

    # ReBIND appendix C: the 95th percentile of |effect| after 10 rounds at high adherence is .200.
    assert placebo_quantile(10, "0.95") == Fraction(1, 5)
    for k, rate in ((10, 0.5), (7, 0.9), (30, 0.2)):
        law = stats.binom.pmf(range(k + 1), k, rate)
        chance = {g: sum(law[i] * law[j] for i in range(k + 1) for j in range(k + 1)
                         if abs(i - j) <= g) for g in range(k + 1)}  # fmt: skip
        wanted = next(g for g in range(k + 1) if chance[g] >= 0.95)
        assert placebo_quantile(k, rate) == Fraction(wanted, k)
    assert placebo_quantile(10, 0) == 0
    with pytest.raises(InputError, match="rate must be from 0 to 1"):
        placebo_quantile(10, 1.5)
