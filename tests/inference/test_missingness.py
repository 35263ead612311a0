"""Failed repetitions are counted, and are neither misses nor gone."""

from __future__ import annotations

from fractions import Fraction

import pytest

from simtrack.errors import InputError
from simtrack.inference.rates.missingness import share_with_failures
from simtrack.inference.rates.wilson import wilson


def test_h35_failed_fits_are_no_misses():
    found = share_with_failures(85, 170, 30)
    assert (found.share, found.failure_rate) == (Fraction(1, 2), Fraction(3, 20))
    assert found.bounds == (Fraction(17, 40), Fraction(23, 40))
    assert (found.low, found.high) == wilson(85, 170)
    assert found.notes == ("30 of 200 repetitions failed and are in no share",)


def test_h35_all_failed_is_not_estimable_and_not_0():
    found = share_with_failures(0, 0, 200)
    assert (found.share, found.low, found.high) == (None, None, None)
    assert found.bounds == (0, 1)
    assert "all 200 repetitions failed" in found.notes[0]
    assert found.to_dict()["share"] is None


def test_without_failures_the_bounds_meet():
    found = share_with_failures(3, 7, 0)
    assert found.bounds == (Fraction(3, 7), Fraction(3, 7))
    assert found.notes == ()


def test_impossible_numbers_are_refused():
    with pytest.raises(InputError, match="hits must be an integer from 0 to 3"):
        share_with_failures(4, 3, 0)
    with pytest.raises(InputError, match="answered and failed"):
        share_with_failures(0, 0, 0)
