"""Cohen's d and h against printed values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from simtrack.errors import InputError
from simtrack.inference.differences.effect_size import cohen_d, cohen_d_paired, cohen_h

ROUNDING = 1e-12
# Student's sleep data (R: sleep): extra hours under two drugs, ten patients.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def sample(mean, sd, n):
    """Half of n at each of two points that have this mean and standard deviation."""
    return [mean + s * sd * math.sqrt((n - 1) / n) for s in (-1, 1) for _ in range(n // 2)]


def test_borenstein_2009_chapter_4():
    # Means 103 and 100, SDs 5.5 and 4.5, 50 each: d .5970, V .0418; g .5924, V .0411.
    x, y = sample(103, 5.5, 50), sample(100, 4.5, 50)
    d, g = cohen_d(x, y), cohen_d(x, y, unbiased=True)
    assert (round(d.spread, 4), round(d.value, 4), round(d.se**2, 4)) == (5.0249, 0.5970, 0.0418)
    assert (round(g.value, 4), round(g.se**2, 4)) == (0.5924, 0.0411)
    assert (d.low, d.high) == pytest.approx(
        (d.value - 1.96 * d.se, d.value + 1.96 * d.se), abs=1e-4
    )


def test_sleep_data_by_the_t_statistics():
    # R prints t = -1.8608 (two-sample) and -4.0621 (paired), n = 10.
    d, paired = cohen_d(FIRST, SECOND), cohen_d_paired(FIRST, SECOND)
    assert d.value * math.sqrt(5) == pytest.approx(-1.8608, abs=5e-5)
    assert paired.value * math.sqrt(10) == pytest.approx(-4.0621, abs=5e-5)
    assert d.value == pytest.approx(stats.ttest_ind(FIRST, SECOND).statistic / math.sqrt(5))


def test_which_deviation_is_stated():
    x, y = [2.0, 4.0, 6.0], [1.0, 2.0, 3.0]
    glass, average = cohen_d(x, y, by="second"), cohen_d(x, y, by="average")
    assert (glass.value, glass.spread) == (2.0, 1.0)
    assert "second sample" in glass.standardizer
    assert average.value == pytest.approx(2 / math.sqrt(2.5), rel=ROUNDING)
    assert glass.low is None
    assert "not offered" in glass.notes[0]
    both = cohen_d_paired(x, y, by="average")
    assert both.value == pytest.approx(2 / math.sqrt(2.5), rel=ROUNDING)
    assert "both conditions" in both.standardizer


@pytest.mark.parametrize(
    ("p", "q", "h"),
    [(0.5, 0.4, 0.2013579), (0.5, 0.5, 0.0), (1.0, 0.0, math.pi), (0.75, 0.5, math.pi / 6)],
)
def test_cohen_h_as_pwr_prints_it(p, q, h):
    assert cohen_h(p, q).value == pytest.approx(h, abs=5e-8)
    assert cohen_h(q, p).value == pytest.approx(-h, abs=5e-8)


def test_cohen_h_has_an_interval_once_sizes_are_known():
    found = cohen_h(0.6, 0.4, n_first=50, n_second=200)
    assert found.se == pytest.approx(math.sqrt(1 / 50 + 1 / 200), rel=ROUNDING)
    assert found.high - found.low == pytest.approx(2 * 1.959963984540054 * found.se, rel=1e-9)
    assert "give n_first" in cohen_h(0.6, 0.4).notes[0]


def test_no_spread_is_a_reason_not_an_infinity():
    for found in (cohen_d([0.1, 0.1], [0.3, 0.3]), cohen_d_paired([1.3, 2.3], [1.0, 2.0])):
        assert found.value is None
        assert "is 0" in found.notes[0]


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="two finite numbers or more"):
        cohen_d([1.0], [1.0, 2.0])
    with pytest.raises(InputError, match="second must be of 2 scores"):
        cohen_d_paired([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="from 0 to 1"):
        cohen_h(1.2, 0.5)
    with pytest.raises(InputError, match="above 0"):
        cohen_h(0.2, 0.5, n_first=0, n_second=5)


def test_d_is_that_of_numpy_in_any_unit():
    rng = np.random.default_rng(8)
    x, y = rng.normal(1, 2, 20), rng.normal(0, 1, 30)
    pooled = math.sqrt((19 * x.var(ddof=1) + 29 * y.var(ddof=1)) / 48)
    assert cohen_d(x, y).value == pytest.approx((x.mean() - y.mean()) / pooled, rel=ROUNDING)
    assert cohen_d(100 * x + 7, 100 * y + 7).value == pytest.approx(cohen_d(x, y).value, rel=1e-9)
