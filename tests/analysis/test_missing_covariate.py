"""A trial without a label in a column of the model is left out and counted, never a level."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.analysis.fit import fit
from simtrack.records import Records

X = [0, 1, 2] * 10
Y = [0, 1, 0, 1, 1, 0, 0, 0, 1, 1] * 3


def table(x):
    labels = [None if v is None else str(v) for v in x]
    return Records.from_columns({
        "unit": [f"r{k}" for k in range(30)], "cluster": [str(k // 3) for k in range(30)],
        "x": labels, "value": Y,
    })  # fmt: skip


@pytest.mark.parametrize("numeric", [(), ("x",)])
def test_an_empty_cell_is_no_level_and_is_counted(numeric):
    gone = [None if k == 17 else v for k, v in enumerate(X)]
    found = fit(table(gone), "x", models=("gee",), numeric=numeric)
    kept = np.arange(30) != 17
    whole = fit(table(X).take(kept), "x", models=("gee",), numeric=numeric)
    ours, theirs = (f.rows[0].result.coefficients for f in (found, whole))
    assert ours.names == theirs.names
    assert not any("(none)" in name for name in ours.names)
    assert ours.estimate.tolist() == theirs.estimate.tolist()
    assert found.losses.by_kind() == {"unlabelled": 1}
    (note,) = [n for n in found.notes if n.code == "missing-covariate"]
    assert (note.n, "r17" in note) == (1, True)
