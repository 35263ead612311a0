"""A trial table written as a file is the same table when it is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrack.agents import PairedAgent
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.logs import read_log, trials_text
from simtrack.records import Records, account

LABEL = st.one_of(st.none(), st.sampled_from(["a", "b", "NA", "None", "=1+1", "x,y", 'q"r', "é"]))
ROWS = st.lists(
    st.tuples(
        LABEL,
        LABEL,
        st.sampled_from([0, 1, 0.5]),
        st.sampled_from(["scored", "errored", "limited"]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
@given(rows=ROWS)
def test_there_and_back(tmp_path_factory, suffix, rows):
    unit, model, value, status = zip(*rows, strict=True)
    values = [v if s == "scored" else None for v, s in zip(value, status, strict=True)]
    records = Records.from_columns(
        {"unit": unit, "model": model, "value": values, "status": status}
    )
    path = tmp_path_factory.mktemp("t") / f"t{suffix}"
    path.write_text(trials_text(records, suffix), encoding="utf-8", newline="")
    back = read_log(path)
    for name in ("unit", "model", "status"):
        assert back.factors[name].values() == records.factors[name].values()
    assert str(back.numbers["value"].tolist()) == str(records.numbers["value"].tolist())
    assert account(back).rows == account(records).rows


def test_a_simulated_study_is_scored_as_it_was_drawn(tmp_path):
    design = Design(5, 4, {"arm": ("new", "old")})
    agent = PairedAgent(0.7, icc=0.2, effect=1.0)
    path = tmp_path / "rehearsal.csv"
    path.write_text(trials_text(agent.records(design, 3)), encoding="utf-8")
    counts = read_log(path).counts(cluster="scenario", by=["arm"])
    assert counts.cells.tolist() == agent.counts(design, 1, 3).counts(0).cells.tolist()


def test_another_ending_is_refused():
    with pytest.raises(InputError, match=r"ending in \.csv or \.jsonl"):
        trials_text(Records.from_columns({"unit": ["a"], "value": [1]}), ".xlsx")
