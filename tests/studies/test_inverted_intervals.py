"""Coverage of inverted intervals: rows of the study by listing all samples in plain fractions."""

from __future__ import annotations

import csv
import itertools
import math
from fractions import Fraction
from pathlib import Path

import pytest

PLACE = Path(__file__).resolve().parents[2] / "studies" / "inverted_intervals"


@pytest.fixture(scope="module")
def table():
    with (PLACE / "table.csv").open(encoding="utf-8") as file:
        return {(r["interval"], r["law"], r["clusters"]): r for r in csv.DictReader(file)}


def subset_ends(sample) -> tuple[Fraction, Fraction]:
    """The first and the last mean of a subset: at six clusters the rank is ⌊.025 · 64⌋ = 1."""
    means = [
        Fraction(sum(part), size)
        for size in range(1, len(sample) + 1)
        for part in itertools.combinations(sample, size)
    ]
    return min(means), max(means)


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("1 w.p. .1, else 0", {0: "0.9", 1: "0.1"}),
        ("1 w.p. .15, -1 w.p. .05, else 0", {-1: "0.05", 0: "0.8", 1: "0.15"}),
        ("skewed: 0, 1, 3, 10 w.p. .5, .3, .15, .05", {0: ".5", 1: ".3", 3: ".15", 10: ".05"}),
    ],
)
def test_six_clusters_are_covered_as_a_listing_of_all_samples_says(table, name, law):
    shares = {value: Fraction(share) for value, share in law.items()}
    truth = sum(v * p for v, p in shares.items())
    covers = withheld = Fraction(0)
    for sample in itertools.product(shares, repeat=6):
        low, high = subset_ends(sample)
        chance = math.prod(shares[v] for v in sample)
        if low == high:
            withheld += chance
        elif low <= truth <= high:
            covers += chance
    row = table["sign-flip inverted", name, "6"]
    assert float(row["truth"]) == pytest.approx(float(truth))
    assert float(row["covers"]) == pytest.approx(float(covers), rel=1e-9)
    assert float(row["withheld"]) == pytest.approx(float(withheld), rel=1e-9)


def test_twelve_clusters_of_which_none_differs_have_no_interval(table):
    row = table["sign-flip inverted", "1 w.p. .1, else 0", "12"]
    assert float(row["withheld"]) == pytest.approx(0.9**12, rel=1e-9)
    # Of the rest, all but samples with six ones or more hold a mean of one tenth, or nearly all.
    few = sum(math.comb(12, k) * 0.1**k * 0.9 ** (12 - k) for k in range(1, 6))
    assert float(row["covers"]) == pytest.approx(few, abs=5e-4)
    assert round(float(row["covers"]), 3) == 0.717


def test_differences_symmetric_about_their_mean_are_covered(table):
    for clusters in ("6", "12", "20"):
        row = table["sign-flip inverted", "1 and -1 w.p. .1, else 0 (symmetric)", clusters]
        # What is withheld is a difference of 0, which is the truth.
        assert float(row["covers"]) + float(row["withheld"]) >= 0.95


def test_the_text_states_the_numbers_of_the_table(table):
    text = (PLACE / "about.md").read_text("utf-8")
    hard = table["sign-flip inverted", "heavy ties: 0, 1, 10 w.p. .85, .1, .05", "12"]
    given = float(hard["covers"]) / (1 - float(hard["withheld"]))
    for number in (".717", ".282", f"{given:.3f}".lstrip("0")):
        assert number in text
    assert (PLACE / "table.md").read_text("utf-8").startswith(text)
