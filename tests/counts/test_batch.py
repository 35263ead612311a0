"""Many studies side by side say the same as each by itself."""

from __future__ import annotations

import numpy as np
import pytest

from simtrack.counts import CountsBatch
from simtrack.errors import InputError
from simtrack.estimands import CATALOGUE, Contrast, Estimand
from simtrack.taxonomy import STAGEIF, STAGES

LABELS = tuple(
    {"duty": "1", "stage": z, "gold": z, "reported": r, "emitted": e}
    for z in STAGES
    for r, e in (("READY", "1"), ("COMPLETED", "1"), ("none", "0"))
)


def made(draws=3, clusters=4):
    rng = np.random.default_rng(5)
    shape = (draws, clusters, len(LABELS), len(STAGEIF.codes))
    return CountsBatch(rng.integers(0, 4, shape), STAGEIF.codes, LABELS)


@pytest.mark.parametrize("name", ["adherence", "stage_gap", "false_completion", "emission"])
def test_a_batch_is_its_studies(name):
    batch, what = made(), CATALOGUE[name]
    for draw in range(len(batch)):
        counts = batch.counts(draw)
        if isinstance(what, Contrast):
            top, bottom, weights = what.batch(batch)
            value = (weights * top[draw].sum(axis=0) / bottom[draw].sum(axis=0)).sum()
            assert value == pytest.approx(what.value(counts), rel=1e-13)
        else:
            assert isinstance(what, Estimand)
            top, bottom = what.batch(batch)
            totals = what.totals(counts)
            np.testing.assert_array_equal(top[draw], totals.numerator[:, 0])
            np.testing.assert_array_equal(bottom[draw], totals.denominator[:, 0])


def test_batches_stack_and_have_fingerprints():
    batch = made(4)
    halves = [
        CountsBatch(batch.cells[a:b], batch.outcomes, batch.labels) for a, b in ((0, 1), (1, 4))
    ]
    assert CountsBatch.concatenate(halves).fingerprint == batch.fingerprint
    with pytest.raises(InputError, match="of shape"):
        CountsBatch(batch.cells[:, :, :2], batch.outcomes, batch.labels)
