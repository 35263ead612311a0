"""The mean over groups and its standard error carry the same weights."""

from __future__ import annotations

import pytest

from simtrack.errors import InputError
from simtrack.inference.rates.group_mean import group_mean

TEN = 5e-11  # worked to ten decimals


def test_h20_the_mean_and_its_error_are_of_one_kind():
    equal = group_mean([0.8, 0.5], [0.04, 0.025])
    assert equal.mean == pytest.approx(0.65, abs=TEN)
    assert equal.se == pytest.approx(0.0235849528, abs=TEN)  # sqrt(.04² + .025²) / 2
    size = group_mean([0.8, 0.5], [0.04, 0.025], sizes=[100, 400], weighting="size")
    assert size.mean == pytest.approx(0.56, abs=TEN)
    assert size.se == pytest.approx(0.0215406592, abs=TEN)  # sqrt((.2·.04)² + (.8·.025)²)
    assert (equal.weighting, size.weighting) == ("equal", "size")
    assert (equal.weights, size.weights) == ((0.5, 0.5), pytest.approx((0.2, 0.8)))
    assert equal.high - equal.mean == pytest.approx(1.959963984540054 * equal.se)


def test_equal_sizes_make_the_two_means_one():
    a = group_mean([0.2, 0.4, 0.9], [0.1, 0.2, 0.05])
    b = group_mean([0.2, 0.4, 0.9], [0.1, 0.2, 0.05], sizes=[7, 7, 7], weighting="size")
    assert (a.mean, a.se) == pytest.approx((b.mean, b.se))


def test_sizes_and_weights_must_go_together():
    with pytest.raises(InputError, match="sizes must be left out with equal weights"):
        group_mean([0.8, 0.5], [0.04, 0.025], sizes=[100, 400])
    with pytest.raises(InputError, match="sizes must be given for weights by size"):
        group_mean([0.8, 0.5], [0.04, 0.025], weighting="size")
    with pytest.raises(InputError, match="sizes must be 2 numbers above 0"):
        group_mean([0.8, 0.5], [0.04, 0.025], sizes=[1, 0], weighting="size")
    with pytest.raises(InputError, match="standard_errors must be as many as estimates"):
        group_mean([0.8, 0.5], [0.04])
    with pytest.raises(InputError, match="standard_errors must be at least 0"):
        group_mean([0.8], [-0.04])
    with pytest.raises(InputError, match="estimates must be finite numbers"):
        group_mean([float("nan")], [0.04])
    with pytest.raises(InputError, match="weighting must be one of equal, size"):
        group_mean([0.8], [0.04], weighting="none")


def test_the_result_is_plain_data():
    plain = group_mean([0.8, 0.5], [0.04, 0.025]).to_dict()
    assert plain["schema"] == "simtrack.group-mean/1"
    assert plain["weights"] == [0.5, 0.5]
