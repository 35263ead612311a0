"""The stage agent: hand-made tables, exact expectations, draws against their law and records."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction as F

import numpy as np
import pytest

from simtrack.agents.heterogeneity import logit_mean
from simtrack.agents.kinds import agent_from_dict
from simtrack.agents.stage.agent import StageAgent
from simtrack.agents.stage.effects import ClusterEffect
from simtrack.agents.stage.tables import OUT_OF_VOCABULARY, POSITIONS
from simtrack.counts import CountsBatch
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.estimands import CATALOGUE, Contrast, Estimand, estimand
from simtrack.taxonomy import STAGEIF, STAGES

EXACT = 1e-12  # sums of a few dozen products of doubles
CHECKPOINTS = (*STAGES, *POSITIONS)
DESIGN = Design(12, 20, {"arm": ("control", "bundle"), "checkpoint": CHECKPOINTS})
BY = ("arm", "checkpoint", "duty", "stage", "position", "gold", "reported", "emitted")

AGENT = StageAgent(
    speaks={"*": 0.8, "COMPLETED": 1.0},
    emits={"*": 0.5, "COMPLETED": 0.9, "stage=POST_OBS arm=bundle": 0.75},
    well_formed=0.9,
    right={"*": 0.7, "NEEDS_INFO": 0.95},
    false_alarm={"*": 0.0, "pre_tool": 0.4, "post_done": 0.9},
    emits_on_divergence=0.25,
    transport=0.02,
    confusion={
        "NEEDS_INFO": {"READY": 1.0},
        "READY": {"NEEDS_INFO": 0.5, "COMPLETED": 0.5},
        "POST_OBS": {"READY": 0.6, "COMPLETED": 0.3, OUT_OF_VOCABULARY: 0.1},
        "COMPLETED": {"POST_OBS": 1.0},
    },
)
CLUSTERED = AGENT.with_(
    effects=[ClusterEffect("emits", sd=0.8, slope_sd=1.2, slope_on=("stage", "COMPLETED")),
             ClusterEffect("right", law="beta", icc=0.3),
             ClusterEffect("false_alarm", sd=0.5)]
)  # fmt: skip
ON_ADHERENCE = AGENT.with_(effects=[ClusterEffect("adherence", sd=1.0)])


def named(agent):
    found = []
    for name, entry in CATALOGUE.items():
        is_stage = isinstance(entry, Estimand) and entry.taxonomy is STAGEIF
        if is_stage and not {c for w in entry.where + entry.among for c in w.factors} - set(BY):
            found.append(name)
        if isinstance(entry, Contrast) and name.startswith(("stage_gap", "bundle")):
            found.append(name)
    return found


def test_expectations_are_those_of_fractions():
    # POST_OBS, control arm: speaks .8, emits .5, well formed .9, right .7; a tool call carries a
    # report in a quarter of the cases, which is well formed and right as often.
    at = estimand("adherence").at(stage="POST_OBS", arm="control")
    clean = F(8, 10) * F(5, 10) * F(9, 10) * F(7, 10)
    assert AGENT.expectation(at, DESIGN) == pytest.approx(float(clean), abs=EXACT)
    phi = estimand("report_validity").at(stage="POST_OBS", arm="control")
    assert AGENT.expectation(phi, DESIGN) == pytest.approx(float(clean / F(8, 10)), abs=EXACT)
    emission = estimand("emission").at(stage="POST_OBS", arm="control")
    expected = F(8, 10) * F(5, 10) + F(2, 10) * F(25, 100)
    assert AGENT.expectation(emission, DESIGN) == pytest.approx(float(expected), abs=EXACT)
    bundle = F(8, 10) * (F(75, 100) - F(5, 10))
    effect = AGENT.expectation(estimand("bundle_effect_on_emission"), DESIGN)
    assert effect == pytest.approx(float(bundle), abs=EXACT)
    # false completion at POST_OBS: a well-formed wrong value, 3 in 10 of them COMPLETED
    mu = estimand("false_completion").at(stage="POST_OBS", arm="control")
    named_wrong = expected * F(9, 10) * F(3, 10) * F(3, 10)
    assert AGENT.expectation(mu, DESIGN) == pytest.approx(float(named_wrong), abs=EXACT)


def test_gap_and_withholding_by_hand():
    clean = {
        "NEEDS_INFO": F(8, 10) * F(5, 10) * F(9, 10) * F(95, 100),
        "READY": F(8, 10) * F(5, 10) * F(9, 10) * F(7, 10),
        "COMPLETED": F(9, 10) * F(9, 10) * F(7, 10),
    }
    design = DESIGN.with_(conditions={"arm": ("control",), "checkpoint": CHECKPOINTS})
    gap = (clean["NEEDS_INFO"] + 2 * clean["READY"]) / 3 - clean["COMPLETED"]
    found = AGENT.expectation(estimand("stage_gap"), design)
    assert found == pytest.approx(float(gap), abs=EXACT)
    omega = 1 - (F(4, 10) + F(9, 10)) / 4
    found = AGENT.expectation(estimand("withholding"), design)
    assert found == pytest.approx(float(omega), abs=EXACT)
    stale = AGENT.expectation(estimand("stale_share").at(stage="POST_OBS"), design)
    assert stale == pytest.approx(0.6, abs=EXACT)
    premature = AGENT.expectation(estimand("premature_share").at(stage="POST_OBS"), design)
    assert premature == pytest.approx(0.3, abs=EXACT)


@pytest.mark.parametrize("agent", [AGENT, CLUSTERED, ON_ADHERENCE], ids=["plain", "nodes", "whole"])
def test_simulation_agrees_with_every_expectation(agent):
    # 100 studies of 12 clusters; |z| < 5 on the cluster-robust error of each of 20 estimands:
    # a false alarm once in 80,000 seeds, and the seed is fixed
    batch = agent.counts(DESIGN, 100, seed=11)
    names = named(agent)
    assert len(names) >= 18
    for name in names:
        what = estimand(name)
        truth = agent.expectation(what, DESIGN)
        terms = [(1, what)] if isinstance(what, Estimand) else what.terms
        influence = 0.0
        value = 0.0
        for weight, term in terms:
            top, bottom = (x.ravel().astype(float) for x in term.batch(batch))
            ratio = top.sum() / bottom.sum()
            value += float(weight) * ratio
            influence = influence + float(weight) * (top - ratio * bottom) / bottom.mean()
        error = influence.std() / math.sqrt(influence.size)
        assert abs(value - truth) < 5 * error + 1e-12, name


@pytest.mark.parametrize("agent", [AGENT, CLUSTERED, ON_ADHERENCE], ids=["plain", "nodes", "whole"])
def test_records_are_the_trials_of_the_first_study(agent):
    batch = agent.counts(DESIGN, 2, seed=5)
    records = agent.records(DESIGN, seed=5)
    assert len(records) == DESIGN.trials
    keys = ["cluster", *BY]
    read = records.counts(by=BY).to_pandas().set_index(keys).sort_index()
    drawn = batch.counts(0).to_pandas().rename(columns={"scenario": "cluster"})
    assert read.equals(drawn.set_index(keys).sort_index())
    for name in named(agent):
        what = estimand(name)
        counts = (records.counts(by=BY), batch.counts(0))
        if isinstance(what, Contrast):
            first, second = (what.value(c) for c in counts)
            assert first == second
        else:
            first, second = (what.totals(c) for c in counts)
            np.testing.assert_array_equal(first.numerator, second.numerator)
            np.testing.assert_array_equal(first.denominator, second.denominator)


def test_flags_of_records_follow_the_chain():
    frame = AGENT.records(DESIGN, seed=5).to_pandas()
    frame = frame.astype(dict.fromkeys(["reported", "gold"], object))
    due = frame[(frame.duty == "1") & frame.error.isna()]
    assert ((due.outcome == "APP_DIVERGENCE") == (due.spoke == "0")).all()
    assert ((due.outcome == "APP_MISS") <= (due.emitted == "0")).all()
    assert (due[due.outcome == "MALFORMED"].well_formed == "0").all()
    assert ((due.outcome == "CLEAN") <= (due.correct == "1")).all()
    assert (due[due.outcome == "CLEAN"].reported == due[due.outcome == "CLEAN"].gold).all()
    assert (frame[frame.outcome == "TRANSPORT"].error == "transport").all()
    assert frame[frame.outcome == "TRANSPORT"].value.isna().all()
    tagged = due[(due.outcome == "APP_DIVERGENCE") & (due.emitted == "1")]
    assert len(tagged) > 50
    quiet = frame[(frame.duty == "0") & frame.error.isna()]
    assert set(quiet.outcome) == {"CLEAN", "APP_FALSE_ALARM"}
    assert ((quiet.outcome == "CLEAN") == (quiet.emitted == "0")).all()


def test_logit_normal_shares_have_their_variance():
    # Variance of a cluster's count: n π(1-π)(1 + (n-1) ICC); 24,000 clusters, so its relative
    # error is about sqrt(2/24,000) = .009 (a little more for a heavy tail): 7 % is over 5 sigma
    agent = StageAgent(emits=0.7, effects=[ClusterEffect("emits", sd=1.3)])
    design = Design(12, 10, {"stage": ("READY",)})
    batch = agent.counts(design, 2000, seed=3, split=())
    clean = batch.cells[..., STAGEIF.codes.index("CLEAN")].ravel()
    from scipy.integrate import quad
    from scipy.special import expit
    from scipy.stats import norm

    mean = logit_mean(0.7, 1.3)
    moment = [
        quad(lambda z, k=k: expit(mean + 1.3 * z) ** k * norm.pdf(z), -10, 10)[0] for k in (1, 2)
    ]
    assert moment[0] == pytest.approx(0.7, abs=1e-10)
    icc = (moment[1] - 0.49) / 0.21
    assert clean.mean() == pytest.approx(7.0, abs=5 * math.sqrt(2.1 * (1 + 9 * icc) / clean.size))
    assert clean.var() == pytest.approx(2.1 * (1 + 9 * icc), rel=0.07)


def test_beta_node_gives_beta_binomial_counts():
    # the urn's law against SciPy's: chi-square of 24,000 counts on 9 cells at 1e-4
    from scipy.stats import betabinom, chi2

    agent = StageAgent(right=0.7, effects=[ClusterEffect("right", law="beta", icc=0.25)])
    batch = agent.counts(Design(12, 8, {"stage": ("READY",)}), 2000, seed=4, split=())
    clean = batch.cells[..., STAGEIF.codes.index("CLEAN")].ravel()
    expected = betabinom.pmf(np.arange(9), 8, 0.7 * 3, 0.3 * 3) * clean.size
    observed = np.bincount(clean, minlength=9)
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(1e-4, 8)


def test_level_and_slope_are_shared_as_stated():
    # With an intercept alone two stages of a cluster move together; with a slope on one they part.
    design = Design(40, 200, {"stage": ("READY", "COMPLETED")})

    def correlation(effect):
        agent = StageAgent(emits=0.5, effects=[effect])
        cells = agent.counts(design, 20, seed=9, split=()).cells
        clean = cells[..., STAGEIF.codes.index("CLEAN")].reshape(-1, 2)
        return np.corrcoef(clean.T)[0, 1]

    assert correlation(ClusterEffect("emits", sd=1.0)) > 0.9
    on = ("stage", "COMPLETED")
    assert 0.35 < correlation(ClusterEffect("emits", sd=1.0, slope_sd=1.5, slope_on=on)) < 0.7
    assert abs(correlation(ClusterEffect("emits", sd=1.0, own=("stage",)))) < 0.2
    assert abs(correlation(ClusterEffect("emits", law="beta", icc=0.3))) < 0.2


def test_common_random_numbers_only_turn_failures_into_clean():
    arms = StageAgent(emits={"*": 0.5, "arm=b": 0.6}, common=["arm"])
    records = arms.records(Design(6, 50, {"arm": ("a", "b"), "stage": STAGES}), seed=2)
    frame = records.to_pandas().pivot(index=["unit", "repetition"], columns="arm", values="value")
    assert ((frame.b >= frame.a).all(), (frame.b > frame.a).mean()) == (
        True, pytest.approx(0.1, abs=0.05),
    )  # fmt: skip
    apart = arms.with_(common=()).records(
        Design(6, 50, {"arm": ("a", "b"), "stage": STAGES}), seed=2
    )
    frame = apart.to_pandas().pivot(index=["unit", "repetition"], columns="arm", values="value")
    assert (frame.b < frame.a).any()


@pytest.mark.parametrize("agent", [AGENT, CLUSTERED], ids=["plain", "nodes"])
def test_draws_do_not_depend_on_threads_chunks_or_what_else_is_drawn(agent):
    whole = agent.counts(DESIGN, 40, seed=7)
    for threads, chunk in itertools.product((1, 2), (1, 7, 1000)):
        again = agent.counts(DESIGN, 40, seed=7, threads=threads, chunk=chunk)
        assert again.fingerprint == whole.fingerprint
    part = agent.counts(DESIGN, range(11, 25), seed=7)
    np.testing.assert_array_equal(part.cells, whole.cells[11:25])
    joined = CountsBatch.concatenate(
        [agent.counts(DESIGN, range(20), seed=7), agent.counts(DESIGN, range(20, 40), seed=7)]
    )
    assert joined.fingerprint == whole.fingerprint


def test_larger_designs_keep_old_trials():
    small = Design(4, 5, {"arm": ("control",), "checkpoint": STAGES})
    large = Design(9, 11, {"arm": ("bundle", "control"), "checkpoint": CHECKPOINTS})
    few, many = (CLUSTERED.records(d, seed=3).to_pandas() for d in (small, large))
    keys = ["cluster", "arm", "checkpoint", "repetition"]
    few, many = (f.astype(dict.fromkeys(keys, str)).set_index(keys) for f in (few, many))
    assert (many.loc[few.index].outcome.astype(str) == few.outcome.astype(str)).all()


def test_frozen_draws():
    # Whoever changes any of these numbers changes the stream scheme, and says so in the changelog.
    assert AGENT.counts(DESIGN, 5, seed=1).fingerprint == PLAIN_SHA
    assert CLUSTERED.counts(DESIGN, 5, seed=1).fingerprint == CLUSTERED_SHA


PLAIN_SHA = "b5014068810e81de749becf830537f30715b69c0a5f2a84e75bba5fada633989"
CLUSTERED_SHA = "8847b88de1b1c2503b1b68da130309725e2c9555a4fc98d38ff6d27b3c0ce640"


def test_kernels_are_what_plain_python_computes(tmp_path):
    import subprocess
    import sys

    code = (
        "from simtrack.agents import kinds\nimport json, sys\n"
        "from simtrack.design import Design\n"
        "agent = kinds.agent_from_dict(json.loads(sys.argv[1]))\n"
        "design = Design(3, 6, {'checkpoint': ('READY', 'COMPLETED', 'pre_tool')})\n"
        "print(agent.counts(design, 4, seed=8).fingerprint)\n"
    )
    import json
    import os

    text = json.dumps(CLUSTERED.to_dict())
    plain = subprocess.run(
        [sys.executable, "-c", code, text],
        env={**os.environ, "SIMTRACK_JIT": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    design = Design(3, 6, {"checkpoint": ("READY", "COMPLETED", "pre_tool")})
    assert plain.stdout.strip() == CLUSTERED.counts(design, 4, seed=8).fingerprint


def test_one_node_is_a_bernoulli_trial_ties_included():
    # The share's upper half is made equal to the first word, so that trial 0 ties and its second
    # word decides; everything must be what the stream's own Bernoulli trials are.
    from simtrack.kernels.philox import philox4x32
    from simtrack.rng import Stream

    stream = Stream(6, "stage-agent-trial", ("stage", "READY"))
    k0, k1 = stream.words
    zero = np.uint64(0)
    word = philox4x32.py_func(zero, zero, zero, zero, k0, k1)[0]
    design = Design(3, 9, {"stage": ("READY",)})
    for low in (0.2, 0.8):
        share = (float(word) + low) / 2**32
        agent = StageAgent(emits=share)
        passed = agent.counts(design, 70, seed=6, split=()).cells[:, :, 0, -1]
        wanted = stream.trial_counts(9, share, replicates=70, clusters=3)
        np.testing.assert_array_equal(passed, wanted)
        trials = stream.bernoulli(share, 9, replicates=1, clusters=3)[0]
        records = agent.records(design, seed=6)
        assert (records.numbers["value"].reshape(3, 9) == trials).all()
    assert len(AGENT.counts(DESIGN, 0, seed=1)) == 0


def test_plain_data_hash_and_pickle():
    for agent in (AGENT, CLUSTERED, ON_ADHERENCE):
        assert agent_from_dict(agent.to_dict()) == agent
        assert pickle.loads(pickle.dumps(agent)) == agent
        assert hash(agent_from_dict(agent.to_dict())) == hash(agent)
    assert AGENT.to_dict()["schema"] == "simtrack.agent/1"


def test_between_factors_leave_cells_empty():
    design = Design(5, 4, {"arm": ("a", "b"), "stage": ("READY",)}, between=["arm"])
    batch = AGENT.counts(design, 2, seed=1, split=())
    assert batch.cells.sum(axis=3)[0].tolist() == [[4, 0], [0, 4], [4, 0], [0, 4], [4, 0]]
    assert len(AGENT.records(design, seed=1)) == 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: StageAgent(emits=80), "emits must be from 0 to 1, got 80. Did you mean 0.8"),
        (lambda: StageAgent(emits={"SOON": 0.5}), "place must be a stage, a position"),
        (lambda: StageAgent(confusion={"READY": {"POST_OBS": 0.5}}), "add up to 1, got 0.5"),
        (lambda: StageAgent(confusion={"READY": {"LATER": 1.0}}), "confusion must be over"),
        (lambda: StageAgent(effects=[ClusterEffect("emits"), ClusterEffect("emits")]),
         "effects must be of different nodes"),
        (lambda: StageAgent(effects=[ClusterEffect("emits"), ClusterEffect("adherence")]),
         "on adherence as a whole or on single nodes"),
        (lambda: ClusterEffect("emits", slope_sd=1.0), "slope_on must be given"),
        (lambda: ClusterEffect("emits", law="beta", sd=1.0), "sd must be 0 with law beta"),
        (lambda: AGENT.counts(Design(3, 2), 1, 1), "exactly one condition named stage, position"),
        (lambda: AGENT.counts(Design(3, 2, {"stage": ("SOON",)}), 1, 1), "stage must be one of"),
        (lambda: StageAgent(emits={"READY": 0.1}).counts(Design(3, 2, {"stage": STAGES}), 1, 1),
         "emits must be given for every cell, got none for stage=NEEDS_INFO"),
        (lambda: StageAgent(common=["arm"]).counts(Design(3, 2, {"stage": STAGES}), 1, 1),
         "common must be among the conditions"),
        (lambda: StageAgent(right=0.5, confusion={"READY": {"READY": 1.0}}).counts(
            Design(3, 2, {"stage": ("READY",)}), 1, 1), "over values other than the right one"),
        (lambda: AGENT.counts(DESIGN, 1, 1, split=("value",)), "split must be of reported, emit"),
        (lambda: StageAgent.from_dict({"kind": "stage", "speed": 1}), "key must be one of"),
    ],
)  # fmt: skip
def test_impossible_stage_agents_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
