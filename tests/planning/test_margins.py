"""Power at a margin plans for exactly the test that is run on data."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from simtrack.agents import PairedAgent
from simtrack.analysis import analyses
from simtrack.counts import Totals
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.inference.differences.margin import MARGIN_METHODS, Margin, margin_answer
from simtrack.method import Ask, Layout
from simtrack.planning import Differs, Equivalent, Excludes, Question, power
from simtrack.planning.question import study_results

ARM = ("rate", "arm", "new", "old")
AGENT = PairedAgent(0.85, icc=0.05, effect=0.1)
#: Sums of some thousand products of doubles.
CLOSE = 1e-11
GOALS = (
    (Equivalent(-0.3, 0.25, 0.1), (-0.3, 0.25), "two-sided"),
    (Excludes(-0.2, 0.1), 0.2, "greater"),
    (Excludes(0.2, 0.1), 0.2, "less"),
)


@pytest.mark.parametrize("name", MARGIN_METHODS)
@pytest.mark.parametrize(("goal", "margin", "side"), GOALS)
def test_power_decides_each_study_as_test_does(name, goal, margin, side):
    analysis = analyses.named(name, *ARM)
    pairing = analysis.method.pairing
    apart = name in {"miettinen-nurminen-clustered", "newcombe", "miettinen-nurminen"}
    repetitions = 1 if pairing == "trials" else 3
    design = Design(12, repetitions, {"arm": ("new", "old")}, between=("arm",) if apart else ())
    question = Question(design, AGENT, analysis, goal, max_draws=25, block=25)
    results = study_results(question, range(25))
    planned = goal.met(results, analysis) & goal.answered(results, analysis)
    batch = AGENT.counts(design, range(25), 0)
    top, bottom, _ = analysis.arrays(batch)
    for r in range(25):
        totals = Totals.from_arrays(top[r], bottom[r])
        found = margin_answer(
            analysis.method, Layout.of_totals(totals, (1.0, -1.0), pairing), Ask(0.9),
            Margin.of(margin, side),
        )  # fmt: skip
        assert planned[r] == (found.extra["verdict"] not in {"not shown", "refused"}), r
    assert 0 < planned.sum() < 25


# 3 ^ 2 tables a cluster, 5 clusters, tenths as typed: every study by fractions
@pytest.mark.parametrize("goal", [Excludes(-0.3, 0.1), Excludes(0.2, 0.2)])
def test_exact_power_of_non_inferiority_is_that_of_all_studies_one_by_one(goal):
    design = Design(5, 2, {"arm": ("new", "old")})
    found = power(design, AGENT, analyses.sign_flip(*ARM), goal=goal, exact="always")
    tables, law = AGENT.cluster_law(design)
    passed = tables.cells[:, 0, :, 1].astype(int)
    chance: dict[Fraction, float] = {}
    for (a, b), p in zip(passed.tolist(), law.tolist(), strict=True):
        gap = Fraction(a - b, 2) - Fraction(str(goal.gain))
        chance[gap] = chance.get(gap, 0.0) + p
    sign = 1 if goal.gain < 0 else -1
    patterns = list(itertools.product((1, -1), repeat=5))
    expected = 0.0
    for gaps in itertools.product(chance, repeat=5):
        seen = sign * sum(gaps)
        count = sum(sign * sum(map(lambda s, g: s * g, s, gaps)) >= seen for s in patterns)
        if Fraction(count, 32) <= Fraction(str(goal.alpha)):
            expected += float(np.prod([chance[g] for g in gaps]))
    assert found.power == pytest.approx(expected, abs=CLOSE)
    assert found.computation == "enumeration"
    drawn = power(design, AGENT, analyses.sign_flip(*ARM), goal=goal, exact="never",
                  max_draws=8000, mcse=1e-3)  # fmt: skip
    assert abs(drawn.power - expected) < 4 * drawn.mcse


def test_a_null_as_option_is_the_test_of_a_difference_of_that_size():
    design = Design(6, 4, {"arm": ("new", "old")})
    shifted = analyses.sign_flip(*ARM, null=-0.25)
    found = power(design, AGENT, shifted, alternative="greater", alpha=0.1)
    margin = power(design, AGENT, analyses.sign_flip(*ARM), goal=Excludes(-0.25, 0.1))
    assert found.power == pytest.approx(margin.power, abs=CLOSE)
    assert found.computation == margin.computation == "enumeration"
    assert found.null == -0.25
    same = power(design, AGENT, shifted, goal=Differs(0.1, "greater", null=-0.25))
    assert same.power == found.power


def test_equivalence_by_sign_flip_cannot_be_shown_by_four_clusters():
    design = Design(4, 5, {"arm": ("new", "old")})
    found = power(design, AGENT, analyses.sign_flip(*ARM), goal=Equivalent(-0.2, 0.2))
    assert (found.power, found.mcse) == (0.0, None)
    assert found.notes[0] == (
        "sign-flip of 4 clusters cannot reject: its least one-sided p is 0.0625, above alpha 0.05; "
        "5 clusters are enough"
    )


def test_a_method_without_a_margin_in_test_says_that_its_interval_decides():
    design = Design(8, 4, {"arm": ("new", "old")})
    how = {"goal": Equivalent(-0.3, 0.3), "max_draws": 100, "mcse": 0.1, "block": 50}
    found = power(design, AGENT, analyses.bootstrap_percentile(*ARM), **how)
    assert "the 90 % interval decides: test has no margin for this method" in found.notes
    assert power(design, AGENT, analyses.paired_cluster_t(*ARM), **how).notes == ()


@pytest.mark.parametrize("name", ["sign-test", "mcnemar", "permutation"])
def test_a_test_of_no_difference_alone_is_refused_a_margin(name):
    with pytest.raises(InputError, match=f"goal must be a difference shown: {name} tests no margi"):
        power(Design(8, 1, {"arm": ("new", "old")}), AGENT, analyses.named(name, *ARM),
              goal=Equivalent(-0.2, 0.2))  # fmt: skip


def test_two_nulls_are_refused():
    with pytest.raises(InputError, match="null must be left out where the goal states a margin"):
        power(Design(8, 1, {"arm": ("new", "old")}), AGENT, analyses.sign_flip(*ARM, null=0.1),
              goal=Excludes(-0.2))  # fmt: skip
