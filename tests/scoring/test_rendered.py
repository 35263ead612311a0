"""Drawn codes, written as replies and parsed back: none may change."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from simtrack.agents import StageAgent
from simtrack.design import Design
from simtrack.errors import DataError
from simtrack.records import Records
from simtrack.scoring import StageProtocol, score_stageif
from simtrack.scoring.stageif.rendered import render_stage_replies
from simtrack.taxonomy import NO_REPORT, OUT_OF_VOCABULARY, STAGEIF, STAGES

#: Every code occurs often, wrong values of every kind too; tool calls carry reports half the time.
AGENT = StageAgent(
    speaks=0.8,
    emits={"*": 0.7, "COMPLETED": 0.9},
    well_formed=0.8,
    right=0.6,
    false_alarm=0.4,
    emits_on_divergence=0.5,
    transport=0.05,
    confusion={
        stage: {OUT_OF_VOCABULARY: 0.1} | {o: 0.3 for o in STAGES if o != stage} for stage in STAGES
    },
)
DESIGN = Design(
    12, 20, {"checkpoint": (*STAGES, "pre_tool", "post_confirmation", "mid_chain", "post_done")}
)


def _drawn(repetitions: int, seed: int = 3) -> Records:
    return AGENT.records(Design(12, repetitions, DESIGN.conditions), seed=seed)


@pytest.mark.parametrize("encoding", ["xml", "json"])
@pytest.mark.parametrize(
    "repetitions", [25, pytest.param(1042, marks=pytest.mark.slow, id="100,032 replies")]
)
def test_every_drawn_code_and_flag_is_parsed_back(encoding: str, repetitions: int) -> None:
    drawn = _drawn(repetitions)
    protocol = StageProtocol.from_dict({"encoding": encoding})
    scored = score_stageif(render_stage_replies(drawn, protocol), protocol, ("strict",))
    assert len(scored) == len(drawn) == 12 * repetitions * 8
    assert scored.factors["outcome"].values() == drawn.factors["outcome"].values()
    assert set(drawn.factors["outcome"].values()) == set(STAGEIF.codes)
    valid = np.array([code != "TRANSPORT" for code in drawn.factors["outcome"].values()])
    for flag in ("emitted", "duty"):
        ours = np.array(scored.factors[flag].values(), dtype=object)[valid]
        assert ours.tolist() == np.array(drawn.factors[flag].values(), dtype=object)[valid].tolist()
    formed = [a for a, b in zip(scored.factors["reported"].values(),
                                scored.factors["well_formed"].values(), strict=True)
              if b == "1"]  # fmt: skip
    theirs = [a for a in drawn.factors["reported"].values() if a != NO_REPORT]
    assert Counter(formed) == Counter(theirs)


def test_the_texts_are_a_function_of_the_table() -> None:
    drawn = _drawn(2)
    assert render_stage_replies(drawn).texts == render_stage_replies(drawn).texts


def test_the_oracle_is_not_given_the_drawn_outcome() -> None:
    replies = render_stage_replies(_drawn(1))
    assert not {"outcome", "reported", "correct", "well_formed"} & set(replies.records.factors)


def test_a_table_without_outcomes_is_refused() -> None:
    with pytest.raises(DataError, match="no outcome to render"):
        render_stage_replies(Records.from_columns({"unit": ["a"], "stage": ["READY"]}))
