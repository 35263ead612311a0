"""Checks at the door: exact where exact is asked for, and refused at once where it is absurd."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from simtrack.errors import InputError
from simtrack.validate import confidence_level, decimal_fraction, integer, real


@pytest.mark.parametrize(
    "value",
    ["1e-100000000", "1e5000", "1e401", "0." + "1" * 500, "1/" + "3" * 5000, 10**5000, 10**900,
     Fraction(1, 10**900), Decimal("1e-100000000"), "1e" + "9" * 300],
    ids=range(10),
)  # fmt: skip
def test_numbers_of_endless_digits_are_refused_at_once_and_in_one_line(value):
    with pytest.raises(InputError) as caught:
        decimal_fraction("threshold", value)
    assert str(caught.value).startswith("threshold must be a ")
    assert len(str(caught.value)) < 200


def test_decimals_of_a_sane_length_stay_exact():
    assert decimal_fraction("x", "1e-400") == Fraction(1, 10**400)
    assert decimal_fraction("x", " 2/3 ") == Fraction(2, 3)
    # One digit more than a float holds: Decimal is not read through a float.
    assert decimal_fraction("x", Decimal("0.10000000000000000001")) == Fraction(
        10000000000000000001, 10**20
    )


@pytest.mark.parametrize("check", [integer, real])
def test_an_integer_beyond_text_and_float_is_refused_in_one_line(check):
    with pytest.raises(InputError, match=r"got a number of thousands of digits\.$"):
        check("clauses", 10**5000, 1, 10)


@pytest.mark.parametrize("level", [1e-320, 0.009, 1 - 1e-9])
def test_a_level_without_a_tail_or_without_a_body_is_refused(level):
    with pytest.raises(InputError, match=r"level must be a share from 0\.01 to 0\.9999999, got"):
        confidence_level("level", level)
