"""Aggregates are no trials: they are read, and not scored as if tasks were trials."""

from __future__ import annotations

import json

import pytest

import simtrack as st
from simtrack.errors import InputError


def test_aggregates_are_not_scored_as_trials(tmp_path):
    path = tmp_path / "results.json"
    row = {"acc,none": 0.5, "acc_stderr,none": 0.05, "alias": "a"}
    told = {"results": {"a": row, "b": row | {"alias": "b"}}, "configs": {}}
    told |= {"versions": {"a": 1, "b": 1}, "n-shot": {"a": 0, "b": 0}}
    path.write_text(json.dumps(told))
    records = st.read_log(path)
    assert records.kind == "aggregate"
    with pytest.raises(InputError, match=r"table must be of trials, got aggregates"):
        st.estimate(records)
