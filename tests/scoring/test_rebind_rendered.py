"""From an agent's episodes to text and back, and what is left of them when they are destroyed."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.agents import RelapseAgent
from simtrack.design import Design
from simtrack.errors import DataError
from simtrack.estimands import estimand
from simtrack.records import Records
from simtrack.scoring.rebind.rendered import REHEARSAL, corrupt_rebind, render_rebind_replies
from simtrack.scoring.rebind.score import rebind_tables, score_rebind
from simtrack.taxonomy import RELAPSE

#: Every code is frequent.
AGENT = RelapseAgent(0.2, icc=0.2, unparseable=0.1, empty=0.1, miss=0.2, classes=(0.2, 0.2, 0.2))
SUCCESS = {"NEAR_COMPLIANT", "HIGH_OVERLAP_REPLACEMENT", "LEGIT_REFERENCE", "NO_TRACE"}


def drawn(clusters: int, repetitions: int) -> Records:
    design = Design(clusters, repetitions, {"condition": ("delayed", "immediate")})
    return AGENT.records(design, 7)


def recover(records: Records) -> None:
    found = score_rebind(render_rebind_replies(records), REHEARSAL)
    truth = records.factors["outcome"]
    assert found.factors["outcome"].values() == truth.values()
    assert set(truth.values()) == set(RELAPSE.codes) - {"TRANSPORT"}
    by = ["condition"]
    for name in ("relapse", "worst_case_relapse", "final_pass_rate", "parse_failure"):
        before, after = (
            estimand(name).totals(rows.counts(cluster="scenario", by=by), by)  # type: ignore[union-attr]
            for rows in (records, found)
        )
        np.testing.assert_array_equal(before.numerator, after.numerator)
        np.testing.assert_array_equal(before.denominator, after.denominator)


def test_every_code_is_recovered() -> None:
    recover(drawn(67, 20))  # 2,680 episodes


@pytest.mark.slow
def test_every_code_of_a_hundred_thousand_is_recovered() -> None:
    recover(drawn(500, 100))


def test_a_table_without_outcomes_is_refused() -> None:
    with pytest.raises(DataError, match="no outcome to render"):
        render_rebind_replies(Records.from_columns({"unit": ["a"]}))


def test_no_success_survives_corruption() -> None:
    replies = render_rebind_replies(drawn(20, 5))
    before = score_rebind(replies, REHEARSAL).factors["outcome"].values()
    assert set(before) >= SUCCESS
    expected = {"blank replies": {"EMPTY"}, "broken code": {"UNPARSEABLE", "EMPTY"}}
    for name, corrupted, exempt in corrupt_rebind(replies, REHEARSAL):
        tables = rebind_tables(corrupted, REHEARSAL)
        after = set(tables.episodes.factors["outcome"].values())
        assert not after & SUCCESS, name
        assert after == expected.get(name, after)
        assert exempt == {}
    # The last one defines what was revoked and nothing else.
    assert after <= {"TRUE_RELAPSE", "CLAUSE_MISS"}
    assert "TRUE_RELAPSE" in after
