"""Power: failures counted, blocks fixed, exact where studies can be enumerated."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from simtrack.agents import ClusteredAgent, PairedAgent
from simtrack.analysis import Analysis, analyses, catalogue
from simtrack.answer import Answer
from simtrack.counts import Counts
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import RATE
from simtrack.method import Method
from simtrack.planning.answers import power
from simtrack.planning.goals import Differs, Equivalent, Excludes, Narrow
from simtrack.planning.question import (
    Question,
    block_count,
    is_enough,
    run_block,
    study_results,
)
from simtrack.planning.result import power_of
from simtrack.planning.tally import Tally
from simtrack.results import FAILED, REASONS, Results

ARM = ("rate", "arm", "new", "old")
PAIRED = Design(6, 4, {"arm": ("new", "old")})
AGENT = PairedAgent(0.7, icc=0.1, effect=2.0, slope_sd=0.4)
NULL = PairedAgent(0.7, icc=0.1, slope_sd=0.4)
#: Sums of some ten thousand products of doubles.
CLOSE = 1e-11


def given_tally(met, missed, failed):
    reasons = tuple(failed if why == "the method broke down" else 0 for why in REASONS)
    return Tally(n=met + missed + failed, ok=met + missed, failed=failed, met=met, reasons=reasons)


def test_studies_without_an_answer_are_misses():
    # 85 significant, 85 not, 30 failed
    question = Question(PAIRED, AGENT, analyses.sign_flip(*ARM))
    found = power_of(question, given_tally(85, 85, 30))
    assert found.power == 0.425
    assert found.power_answered == 0.5
    assert found.failure_rate == 0.15
    assert found.bounds == (0.425, 0.575)
    assert (found.n_draws, found.n_ok, found.n_failed) == (200, 170, 30)
    assert found.reasons == (("the method broke down", 0.15),)
    assert found.mcse == pytest.approx(math.sqrt(0.425 * 0.575 / 200), abs=CLOSE)
    assert found.notes[0] == (
        "15.00% of studies have no answer and count as misses; coverage, width and bias are of the "
        "others"
    )
    assert (found.notes[0].code, found.notes[0].n) == ("no-answer", 30)
    nothing = power_of(question, given_tally(0, 0, 200))
    assert (nothing.power, nothing.power_answered) == (0.0, None)
    assert nothing.notes[0] == "no study has an answer: each counts as a miss"


@pytest.fixture
def breaking():
    """An analysis that breaks down in every fourth study, and finds every other one significant."""

    def broken(numerator, denominator, weights, ask):
        place = np.arange(len(numerator))
        found = Results.of(np.zeros(len(place)), pvalue=np.where(place % 2 == 1, 0.01, 0.5))
        found.status[place % 4 == 0] = FAILED
        found.pvalue[place % 4 == 0] = np.nan
        found.reason[place % 4 == 0] = REASONS.index("the method broke down")
        return found

    catalogue.register(
        Method(
            "breaking", "contrast", "-", "-", "closed-form", "descriptive", "-", many=broken,
            answer=lambda layout, ask: Answer(0.0), terms=0, has_pvalue=True,
        )
    )  # fmt: skip
    yield Analysis("breaking", analyses.sign_flip(*ARM).what)
    del catalogue._registered["breaking"]


def test_failed_fits_are_counted_by_the_loop(breaking):
    found = power(PAIRED, AGENT, breaking, max_draws=400, block=100)
    assert (found.n_draws, found.n_ok, found.n_failed, found.n_refused) == (400, 300, 100, 0)
    assert found.power == 0.5
    assert found.power_answered == pytest.approx(200 / 300)
    assert found.bounds == (0.5, 0.75)


# pitakakariki/simr, tests/testthat/test_powerSim.R, issue 169; Green & MacLeod 2016
@pytest.mark.parametrize(
    ("hits", "n", "low", "high", "digits"),
    [
        (9, 10, 0.554983882971805, 0.997471421455538, 1e-12),
        (416, 1000, 0.3852, 0.4473, 5e-5),
        (334, 1000, 0.3048, 0.3642, 5e-5),
    ],
)
def test_interval_of_a_simulated_power_is_clopper_pearson(hits, n, low, high, digits):
    found = power_of(
        Question(PAIRED, AGENT, analyses.sign_flip(*ARM)), given_tally(hits, n - hits, 0)
    )
    assert found.low == pytest.approx(low, abs=digits)
    assert found.high == pytest.approx(high, abs=digits)


# Morris, White & Crowther 2019: p (1 - p) / MCSE²
@pytest.mark.parametrize(("share", "mcse", "needed"), [(0.95, 0.005, 1900), (0.5, 0.005, 10_000)])
def test_enough_draws_are_those_of_the_formula(share, mcse, needed):
    question = Question(PAIRED, AGENT, analyses.sign_flip(*ARM), mcse=mcse)
    at, before = (given_tally(share * n, (1 - share) * n, 0) for n in (needed, needed - 100))
    assert is_enough(question, at)
    assert not is_enough(question, before)


# The must-show 2. Z: four standard errors, odds 6e-5 of a false alarm each.
@pytest.mark.slow
@pytest.mark.parametrize("side", ["two-sided", "greater"])
def test_exact_sign_flip_power_agrees_with_a_hundred_thousand_studies(side):
    design = Design(6, 10, {"arm": ("new", "old")})
    agent = PairedAgent(0.7, icc=0.1, effect=1.0, slope_sd=0.4)
    how = {"alternative": side, "mcse": 1e-4, "max_draws": 100_000, "block": 10_000}
    test = analyses.sign_flip(*ARM)
    exact, drawn = (power(design, agent, test, exact=e, **how) for e in ("always", "never"))
    assert (exact.computation, drawn.computation) == ("enumeration", "monte-carlo")
    assert drawn.n_draws == 100_000
    assert abs(exact.power - drawn.power) < 4 * drawn.mcse
    assert exact.type_m == pytest.approx(drawn.type_m, rel=0.02)


def brute_force(question, cell_laws):
    """Go through all studies one by one, each cluster with each of its tables."""
    tables, law = cell_laws
    clusters = question.design.clusters
    top, bottom, weights = question.analysis.arrays(tables)
    rows = np.array(list(product(range(len(law)), repeat=clusters)))
    results = question.analysis.run_arrays(
        top[rows, 0], bottom[rows, 0], weights, alternative=question.goal.alternative,
        level=question.goal.level(question.analysis),
    )  # fmt: skip
    return float(law[rows].prod(axis=1)[question.goal.met(results, question.analysis)].sum())


@pytest.mark.parametrize("name", ["sign-flip", "sign-test", "mcnemar"])
@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_enumeration_is_that_of_all_studies_one_by_one(name, side, alpha):
    repetitions = 1 if name == "mcnemar" else 2
    clusters = {"mcnemar": 6, "sign-flip": 5, "sign-test": 5}[name]
    design = Design(clusters, repetitions, {"arm": ("new", "old")})
    question = Question(design, AGENT, analyses.named(name, *ARM), Differs(alpha, side))
    found = power(design, AGENT, question.analysis, alpha=alpha, alternative=side, exact="always")
    if found.reasons:  # 2 / 2^5 is above .05
        assert (name != "mcnemar", side, alpha) == (True, "two-sided", 0.05)
        assert found.reasons == (("too few clusters to reach alpha", 1.0),)
        assert found.notes[0].code == "cannot-reject"
    assert found.power == pytest.approx(brute_force(question, AGENT.cluster_law(design)), abs=CLOSE)
    assert found.n_draws == 0
    assert found.mcse is None


@pytest.mark.parametrize("clusters", [6, 8])
@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_exact_tests_hold_their_size(clusters, alpha):
    # under agents whose arms, or whose rate, are exactly the null
    design = Design(clusters, 3, {"arm": ("new", "old")})
    for name in ("sign-flip", "sign-test"):
        found = power(design, NULL, analyses.named(name, *ARM), alpha=alpha)
        assert found.computation == "enumeration"
        assert found.truth == pytest.approx(0.0, abs=CLOSE)
        assert 0.0 < found.power <= alpha + CLOSE
    pairs = design.with_(repetitions=1, clusters=20)
    found = power(pairs, NULL, analyses.mcnemar(*ARM), alpha=alpha)
    assert found.computation == "enumeration"
    assert 0.0 < found.power <= alpha
    binomial = analyses.binomial_exact("rate", null=0.3)
    found = power(Design(30, 1), ClusteredAgent(0.3), binomial, alpha=alpha)
    assert 0.0 < found.power <= alpha


def test_permutation_test_holds_its_size():
    design = Design(10, 3, {"arm": ("new", "old")}, between=["arm"])
    found = power(
        design, PairedAgent(0.7, icc=0.1), analyses.permutation(*ARM), max_draws=8000, mcse=1e-3
    )
    # a size above .05 by 4 standard errors has odds of 3e-5
    assert found.power <= 0.05 + 4 * found.mcse
    assert found.n_ok == 8000


# PASS via statsmodels (power_binom_tost), limits .4 and .6 at rate .5, α = .05
@pytest.mark.parametrize(
    ("n", "expected"),
    list(zip(range(20, 201, 20),
             [0, 0, 0, 0.0889, 0.2356, 0.3517, 0.4457, 0.6154, 0.6674, 0.7708], strict=True)),
)  # fmt: skip
def test_equivalence_of_a_binomial_rate(n, expected):
    exact = analyses.named("clopper-pearson", "rate")
    found = power(Design(n, 1), ClusteredAgent(0.5), exact, goal=Equivalent(0.4, 0.6))
    assert found.power == pytest.approx(expected, abs=5e-5)
    assert found.computation == "enumeration"


@pytest.mark.parametrize(
    ("rate", "expected"),
    list(zip(range(60, 70), [0.9965, 0.9940, 0.9815, 0.9482, 0.8783, 0.7583, 0.5914, 0.4041,
                             0.2352, 0.1139], strict=True)),
)  # fmt: skip
def test_equivalence_of_500_trials(rate, expected):
    exact = analyses.named("clopper-pearson", "rate")
    agent = ClusteredAgent(rate / 100)
    found = power(Design(500, 1), agent, exact, goal=Equivalent(0.5, 0.7))
    assert found.power == pytest.approx(expected, abs=5e-5)


def test_coverage_and_width_of_clopper_pearson_are_exact():
    n, rate = 12, 0.3
    found = power(
        Design(n, 1), ClusteredAgent(rate), analyses.named("clopper-pearson", "rate"),
        goal=Narrow(0.5),
    )  # fmt: skip
    law = stats.binom(n, rate).pmf(np.arange(n + 1))
    ends = [stats.binomtest(k, n).proportion_ci(0.95) for k in range(n + 1)]
    widths = np.array([e.high - e.low for e in ends])
    assert found.mean_width == pytest.approx((law * widths).sum(), abs=1e-9)
    held = np.array([e.low <= rate <= e.high for e in ends])
    assert found.coverage == pytest.approx(law[held].sum(), abs=1e-12)
    assert found.power == pytest.approx(law[widths <= 0.5].sum(), abs=1e-12)
    assert found.bias == pytest.approx(0.0, abs=1e-12)
    assert found.rmse == pytest.approx(math.sqrt(rate * (1 - rate) / n), abs=1e-12)


def test_clustered_trials_convolve_to_the_pooled_law():
    agent = ClusteredAgent(0.3, icc=0.2)
    test = analyses.binomial_exact("rate", null=0.5)
    exact = power(Design(5, 4), agent, test)
    drawn = power(Design(5, 4), agent, test, exact="never", max_draws=20_000, mcse=1e-3)
    assert exact.computation == "enumeration"
    assert abs(exact.power - drawn.power) < 4 * drawn.mcse
    assert exact.coverage == pytest.approx(drawn.coverage, abs=4 * drawn.coverage_mcse)


def test_ruling_out_a_gain_is_a_statement_about_one_end():
    analysis = analyses.paired_cluster_t(*ARM)
    design = Design(12, 10, {"arm": ("new", "old")})
    how = {"max_draws": 4000, "mcse": 1e-3}
    gain = power(design, NULL, analysis, goal=Excludes(0.15), **how)
    loss = power(design, NULL, analysis, goal=Excludes(-0.15), **how)
    both = power(design, NULL, analysis, goal=Equivalent(-0.15, 0.15), **how)
    batch = NULL.counts(design, 4000, 0)
    # by hand: t(11) at .05 one-sided
    gaps = (batch.cells[..., 0, 1] - batch.cells[..., 1, 1]) / 10
    half = stats.t.ppf(0.95, 11) * gaps.std(axis=1, ddof=1) / math.sqrt(12)
    above, below = gaps.mean(axis=1) + half < 0.15, gaps.mean(axis=1) - half > -0.15
    assert gain.power == above.mean()
    assert loss.power == below.mean()
    assert both.power == (above & below).mean()
    assert gain.level == pytest.approx(0.90)


def test_one_sided_decisions_by_interval_spend_alpha_on_one_end():
    design = Design(12, 10, {"arm": ("new", "old")})
    found = power(
        design, AGENT, analyses.bootstrap_percentile(*ARM), alternative="greater",
        alpha=0.025, max_draws=500, mcse=0.1,
    )  # fmt: skip
    assert found.level == pytest.approx(0.95)
    assert found.coverage > 0.8


def test_errors_of_sign_and_size_by_hand():
    design, agent = Design(8, 3, {"arm": ("new", "old")}), PairedAgent(0.6, effect=0.3)
    test = analyses.paired_cluster_t(*ARM)
    found = power(design, agent, test, alpha=0.2, max_draws=3000, mcse=1e-3)
    batch = agent.counts(design, 3000, 0)
    gaps = (batch.cells[..., 0, 1] - batch.cells[..., 1, 1]) / 3
    flat = gaps.std(axis=1) == 0
    p = stats.ttest_1samp(gaps[~flat], 0.0, axis=1).pvalue
    hits = gaps[~flat].mean(axis=1)[p <= 0.2]
    assert found.type_s == (hits < 0).mean()
    assert found.type_m == pytest.approx(np.abs(hits).mean() / found.truth, abs=CLOSE)
    assert found.n_refused == flat.sum()
    assert found.truth == pytest.approx(agent.rates()[0] - agent.rates()[1], abs=CLOSE)


def test_blocks_are_pure_and_add_up_in_any_place():
    question = Question(PAIRED, AGENT, analyses.paired_cluster_t(*ARM), max_draws=2500, mcse=1e-3)
    assert block_count(question) == 3
    parts = [run_block(question, k) for k in (2, 0, 1)]
    again = [run_block(question, k, threads=2) for k in range(3)]
    assert again == [parts[1], parts[2], parts[0]]
    assert parts[0].n == 500
    read = [Tally.from_dict(json.loads(json.dumps(t.to_dict()))) for t in again]
    whole = power(PAIRED, AGENT, question.analysis, max_draws=2500, mcse=1e-3)
    assert power_of(question, Tally.total(read)) == whole
    assert json.dumps(whole.to_dict())
    assert json.dumps(question.to_dict())
    assert replace(question, seed=1).to_dict() != question.to_dict()


def test_progress_is_told_after_every_block():
    seen = []
    power(PAIRED, AGENT, analyses.paired_cluster_t(*ARM), max_draws=3000, mcse=1e-3,
          progress=lambda done, total, left: seen.append((done, total, left >= 0)))  # fmt: skip
    assert seen == [(1000, 3000, True), (2000, 3000, True), (3000, 3000, True)]


def test_conditional_power_keeps_the_observed_clusters():
    design = Design(10, 8, {"arm": ("new", "old")})
    agent = PairedAgent(0.7, icc=0.1, effect=0.8)
    interim = agent.counts(design.with_(clusters=6), 1, seed=77).counts(0)
    test = analyses.paired_cluster_t(*ARM)
    found = power(design, agent, test, interim=interim, max_draws=2000, mcse=1e-3)
    drawn = agent.counts(design, 2000, 0).cells[..., 1][:, 6:]
    seen = agent.counts(design.with_(clusters=6), 1, seed=77).cells[..., 1]
    passes = np.concatenate([np.broadcast_to(seen, (2000, 6, 2)), drawn], axis=1)
    p = stats.ttest_1samp((passes[..., 0] - passes[..., 1]) / 8, 0.0, axis=1).pvalue
    assert found.power == (p <= 0.05).mean()
    with pytest.raises(InputError, match="interim must be a table of 1 to 5 of the design's"):
        power(design.with_(clusters=6), agent, test, interim=interim)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Differs(alpha=5), "alpha must be strictly between 0 and 1"),
        (lambda: Differs(alpha=1e-9), "alpha must be a share from 1e-07 to 0.99, got 1e-09"),
        (lambda: Equivalent(-0.1, 0.1, alpha=0.5), "alpha must be a share from 1e-07 to 0.49"),
        (lambda: Equivalent(0.2, 0.1), "low must be below high"),
        (lambda: power(PAIRED, AGENT, analyses.wilson_guarded("rate")),
         "goal must be about a value that rate may have, got a difference from 0"),
        (lambda: Excludes(0.0), "gain must be other than 0"),
        (lambda: power(PAIRED, AGENT, analyses.paired_cluster_t(*ARM), exact="always"),
         "exact must be auto or never here: paired-cluster-t has no small lattice"),
        (lambda: power(PAIRED, AGENT, analyses.sign_flip(*ARM), exact="yes"), "exact must be one"),
        (lambda: power(PAIRED, AGENT, analyses.sign_flip(*ARM), mcse=0), "mcse must be a finite"),
    ],
)  # fmt: skip
def test_bad_questions_are_refused_in_one_line(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_precision_of_the_default_interval():
    design, agent = Design(12, 20), ClusteredAgent(0.8, 0.1)
    found = power(
        design, agent, analyses.wilson_guarded("rate"), goal=Narrow(0.2), max_draws=2000, mcse=1e-3
    )
    results = analyses.wilson_guarded("rate").run(agent.counts(design, 2000, 0))
    width = results.high - results.low
    assert found.power == (width <= 0.2).mean()
    assert found.mean_width == pytest.approx(width.mean(), abs=CLOSE)
    assert found.sd_width == pytest.approx(width.std(), abs=1e-9)
    assert found.coverage == ((results.low <= 0.8) & (results.high >= 0.8)).mean()


def test_an_estimand_without_truth_has_no_coverage_and_says_so():
    what = RATE.at(arm="gone")
    analysis = Analysis("clopper-pearson", what)
    found = power(PAIRED, AGENT, analysis, goal=Narrow(0.2), exact="never", max_draws=100)
    assert (found.power, found.power_answered) == (0.0, None)
    assert found.coverage is None
    assert found.bias is None
    assert found.to_dict()["truth"] is None
    assert any("not defined under this agent" in note for note in found.notes)


def test_observed_clusters_take_planned_ones_of_their_own_arm():
    design = Design(6, 2, {"arm": ("a", "b")}, between=("arm",))
    analysis = analyses.cluster_t_difference("rate", "arm", "a", "b")

    def observed(arms):
        cells = [[0, 2]] * len(arms)
        names = [f"c{k}" for k in range(len(arms))]
        return Counts.from_cells(
            cells, outcomes=("FAIL", "PASS"), cluster=names, conditions={"arm": list(arms)}
        )

    def asked(arms):
        return Question(design, PairedAgent(0.5), analysis, interim=observed(arms))

    seen = []

    def spy(top, bottom, weights, **_):
        seen.append(bottom)
        return Results.of(np.zeros(len(top)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Analysis, "run_arrays", lambda self, *a, **k: spy(*a, **k))
        study_results(asked("aa"), range(3))
    # three clusters of each arm are planned: two of a are there, one of a and three of b to come
    assert (seen[0] > 0).sum(axis=1).tolist() == [[3, 3]] * 3
    with pytest.raises(InputError, match="no more clusters of an arm than are planned"):
        study_results(asked("aaaa"), range(3))


def test_a_test_that_cannot_reject_has_power_0_and_names_alpha_as_typed():
    design = Design(4, 3, {"arm": ("a", "b")})
    levels = ("rate", "arm", "a", "b")
    few = power(design, PairedAgent(0.5), analyses.sign_flip(*levels), alpha=0.07)
    assert (few.power, few.mcse, few.alpha) == (0.0, None, 0.07)
    # 2 / 2^4 = 0.125, 2 / 2^5 = 0.0625
    assert few.notes[0] == (
        "sign-flip of 4 clusters cannot reject: its least two-sided p is 0.125, above alpha 0.07; "
        "5 clusters are enough"
    )
    one = power(design, PairedAgent(0.5), analyses.sign_test(*levels), alternative="greater")
    assert "its least one-sided p is 0.0625, above alpha 0.05; 5 clusters" in one.notes[0]
    # the same by simulation
    drawn = power(design, PairedAgent(0.5), analyses.sign_flip(*levels), exact="never",
                  max_draws=500, block=100)  # fmt: skip
    assert (drawn.power, drawn.n_draws, drawn.n_refused) == (0.0, 200, 200)
    assert drawn.notes[0].code == "cannot-reject"
    eight = design.with_(clusters=8)
    more = power(eight, PairedAgent(0.5), analyses.mcnemar(*levels))
    assert "mcnemar takes 1 repetition; sign-flip takes more" in more.notes


@pytest.mark.parametrize("alpha", [0.05, 0.07, 0.025, 0.3])
def test_levels_are_those_that_a_person_would_write(alpha):
    test = analyses.sign_flip(*ARM)
    assert repr(Differs(alpha).level(test)) == f"{1 - alpha:.4g}"
    assert repr(Equivalent(-0.1, 0.1, alpha).level(test)) == f"{1 - 2 * alpha:.4g}"


def test_a_null_of_the_goal_is_never_passed_over():
    design, agent = Design(40, 1), ClusteredAgent(0.8)
    test = analyses.binomial_exact("rate", null=0.7)
    stated = power(design, agent, test, goal=Differs(null=0.7))
    assert stated.power == pytest.approx(power(design, agent, test).power, rel=1e-12)
    with pytest.raises(InputError, match=r"Give it as the option null = 0.6 of the analysis"):
        power(design, agent, test, goal=Differs(null=0.6))
    pair = Design(12, 5, {"arm": ("a", "b")})
    for name in ("sign-flip", "paired-cluster-t"):
        analysis = analyses.named(name, "rate", "arm", "a", "b")
        with pytest.raises(InputError, match=r"p-value of .* is about its own null"):
            power(pair, PairedAgent(0.5), analysis, goal=Differs(null=-0.1))
    # a method in a loop that has both decides by its interval: a gap of 0 lies far above -0.9
    newcombe = analyses.newcombe_clustered("rate", "arm", "a", "b")
    found = power(pair, PairedAgent(0.5), newcombe, goal=Differs(null=-0.9), max_draws=200)
    assert found.power == 1.0
