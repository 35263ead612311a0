"""Prices by the call and by the token, and their tables on disk."""

from __future__ import annotations

import pytest

from simtrack.errors import DataError, InputError
from simtrack.price import Price, price_of, read_prices


def test_price_by_the_token():
    # 1,500 tokens read at 3 dollars a million and 200 written at 15: .0045 + .003
    price = Price(input_usd_per_mtok=3, output_usd_per_mtok=15).with_tokens(1500, 200)
    assert price.usd() == pytest.approx(0.0075, rel=1e-15)
    assert price.usd(1000) == pytest.approx(7.5, rel=1e-15)


def test_free_calls_cost_nothing():
    assert Price(usd_per_call=0).usd(10**6) == 0.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "got neither"),
        ({"usd_per_call": 1, "input_usd_per_mtok": 1, "output_usd_per_mtok": 1}, "got both ways"),
        ({"input_usd_per_mtok": 1}, "got only input_usd_per_mtok"),
        ({"usd_per_call": -1}, "usd_per_call must be a finite number from 0 to 1e.12, got -1.0"),
        ({"usd_per_call": "dear"}, "usd_per_call must be a finite number"),
    ],
)
def test_bad_prices_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        Price(**fields)


def test_a_price_by_the_token_asks_for_tokens():
    price = Price(input_usd_per_mtok=1, output_usd_per_mtok=1, input_tokens=5)
    with pytest.raises(InputError, match="output_tokens must be given"):
        price.usd()


TOML = """
schema = "simtrack.price-table/1"
[models."maker/large-1.5"]
input_usd_per_mtok = 2.5
output_usd_per_mtok = 10
[models.local]
usd_per_call = 0
"""
JSON = '{"models": {"local": {"usd_per_call": 0}}}'


def test_tables_are_read_from_toml_and_json(tmp_path):
    (tmp_path / "prices.toml").write_text(TOML)
    (tmp_path / "prices.any").write_text(JSON)
    prices = read_prices(tmp_path / "prices.toml")
    assert prices["maker/large-1.5"] == Price(input_usd_per_mtok=2.5, output_usd_per_mtok=10)
    assert read_prices(str(tmp_path / "prices.any")) == {"local": Price(usd_per_call=0)}
    assert price_of(prices, "local").usd() == 0.0
    with pytest.raises(InputError, match="local, maker/large"):
        price_of(prices, "large")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = 3", "must hold a table named models"),
        ("[models", "is neither JSON nor TOML"),
        ("{", "is neither JSON nor TOML"),
        ('schema = "x/2"', "must have schema 'simtrack.price-table/1', got 'x/2'"),
        ("[models]\na = 3", "The price of 'a' in .* must be a table"),
        ("[models.a]\nusd = 3", "a price field must be one of usd_per_call"),
        ("[models.a]\nusd_per_call = -3", "The price of 'a' in .* is wrong: usd_per_call must be"),
    ],
)
def test_broken_tables_are_refused(tmp_path, text, message):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises((DataError, InputError), match=message):
        read_prices(path)


def test_a_missing_table_is_one_line(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_prices(tmp_path / "none.toml")


def test_plain_data_holds_what_was_given():
    assert Price(usd_per_call=2).to_dict() == {"schema": "simtrack.price/1", "usd_per_call": 2.0}


def test_prices_whose_products_no_float_holds_are_refused():
    with pytest.raises(InputError, match=r"usd_per_call must be a finite number from 0 to 1e\+12"):
        Price(usd_per_call=1e308)


@pytest.mark.parametrize(
    "text", ['{"a":' + "[" * 100_000, "x = " + "[" * 5_000, "x = " + "7" * 5_000]
)
def test_a_price_table_of_endless_depth_or_digits_is_refused(tmp_path, text):
    path = tmp_path / "prices"
    path.write_text(text)
    with pytest.raises(DataError, match=r"The price table .*prices is"):
        read_prices(path)
