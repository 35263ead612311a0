"""The gate catches a metric that measures the harness, and passes one that measures replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simtrack.counts import Factor
from simtrack.records import Records, Replies
from simtrack.scoring.corruption import corruption_gate
from simtrack.scoring.schemes import SCHEMES
from simtrack.taxonomy import STAGEIF

STAGE = SCHEMES["stageif"]
PROTOCOL = STAGE.load({}, "protocol")
ROWS = Records.from_columns({
    "unit": ["a", "b", "c", "d"],
    "duty": ["1", "1", "0", "1"],
    "stage": ["COMPLETED", "READY", "READY", "NEEDS_INFO|READY"],
})  # fmt: skip
REPLIES = Replies(
    ROWS,
    ["Done.\n<stage>completed</stage>", "<stage>ready_for_action</stage>", "I call the tool.",
     "<stage>needs_information</stage>"],
    [(), (), ("book",), ()],
)  # fmt: skip


def test_a_sound_pipeline_collapses() -> None:
    found = corruption_gate(REPLIES, STAGE, PROTOCOL)
    assert found.passed
    assert not found.vacuous
    by = {(row.name, row.view): row for row in found.rows}
    # Three due replies are right; the silent one without a duty is tested by the marker alone.
    assert by["blank replies", "strict"].successes_before == 3
    assert by["blank replies", "strict"].tested == 3
    assert by["inverted values", "strict"].tested == 3
    assert by["injected marker", "strict"].successes_before == 4
    assert by["injected marker", "strict"].tested == 4
    assert [row.survivors for row in found.rows] == [0] * 6


def _deaf(replies: Replies, protocol: Any) -> Mapping[str, Records]:
    """A harness that calls everything right, whatever was said."""
    found = STAGE.score(replies, protocol)["checkpoint"]
    clean = Factor.constant("CLEAN", len(found))
    return {"checkpoint": found.with_factors(outcome=clean)}


def test_a_harness_that_does_not_listen_is_caught() -> None:
    found = corruption_gate(REPLIES, replace(STAGE, score=_deaf), PROTOCOL)
    assert not found.passed
    assert all(row.survivors == row.tested for row in found.rows)
    assert found.rows[0].examples == ("unit a", "unit b", "unit d")


def _first_value_counts(replies: Replies, protocol: Any) -> Mapping[str, Records]:
    """A parser that finds a value anywhere: an injected marker does not disturb it."""
    first = [None if t is None else t.split("\n<stage>simtrack")[0] for t in replies.texts]
    return STAGE.score(replies.with_texts(first), protocol)


def test_a_parser_that_overlooks_the_injected_marker_is_caught() -> None:
    found = corruption_gate(REPLIES, replace(STAGE, score=_first_value_counts), PROTOCOL)
    survived = {row.name for row in found.rows if row.survivors}
    assert survived == {"injected marker"}


def test_nothing_to_corrupt_is_no_pass() -> None:
    silent = Replies(ROWS.take(ROWS.factors["duty"].codes == 1), ["", "", ""], [(), (), ()])
    found = corruption_gate(silent, STAGE, PROTOCOL)
    assert found.vacuous
    assert not found.passed


def test_constants_of_an_arm_are_inverted_too() -> None:
    rows = Records.from_columns(
        {"unit": ["a"], "duty": ["1"], "stage": ["READY"], "arm": ["static"]}
    )
    protocol = STAGE.load({"expected": {"static": "active"}}, "protocol")
    found = corruption_gate(Replies(rows, ["<stage>active</stage>"], [()]), STAGE, protocol)
    assert found.passed
    assert STAGEIF.codes[-1] in STAGE.success
