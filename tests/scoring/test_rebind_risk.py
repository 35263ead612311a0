"""The probe's signal against later relapse: AUROC by depth, and strata of risk."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.records import Records
from simtrack.scoring.rebind.risk import auroc_by_depth, risk_strata

CODE = {"R": "TRUE_RELAPSE", "n": "NO_TRACE", "u": "UNPARSEABLE", "t": "TRANSPORT"}


def table(rows: list[tuple[str, str, str, float, str]]) -> Records:
    """(cluster, unit, depth, signal, letters): a row an episode."""
    flat = [(c, u, d, s, CODE[x]) for c, u, d, s, letters in rows for x in letters]
    names = ("cluster", "unit", "depth", "signal", "outcome")
    return Records.from_columns(dict(zip(names, zip(*flat, strict=True), strict=True)))


NAN = float("nan")
SLICES = table([
    ("a", "a1", "2", 0.9, "Rn"), ("a", "a2", "2", 0.2, "nn"), ("b", "b1", "2", 0.4, "RR"),
    ("b", "b2", "2", 0.4, "nu"), ("c", "c1", "2", 0.6, "nn"), ("c", "c2", "2", NAN, "RR"),
    ("d", "d1", "2", 0.7, "ut"),
    ("a", "a1", "8", 0.9, "R"), ("b", "b1", "8", 0.4, "n"), ("c", "c1", "8", 0.6, "R"),
])  # fmt: skip


def test_area_is_that_of_mann_whitney() -> None:
    two, eight = auroc_by_depth(SLICES)
    # At depth 2 a1 (.9) and b1 (.4) relapsed, a2 (.2), b2 (.4) and c1 (.6) did not: pairs won
    # 3 + 1 + 1/2 of 6. c2 has no signal, d1 nothing that parses.
    assert (two.depth, two.slices, two.without_signal, two.undefined) == (2.0, 5, 1, 1)
    assert two.auroc.value == pytest.approx(4.5 / 6)
    u = stats.mannwhitneyu([0.9, 0.4], [0.2, 0.4, 0.6]).statistic
    assert two.auroc.u_statistic == pytest.approx(u)
    assert two.auroc.clusters == 3
    # At depth 8 .9 and .6 against .4.
    assert (eight.depth, eight.slices, eight.auroc.value) == (8.0, 3, 1.0)


@pytest.mark.parametrize(
    ("label", "positives", "area"),
    [
        ("any", 2, 4.5 / 6),
        # More than half: a1 has one of two, so b1 alone: it beats a2, ties b2.
        ("majority", 1, (1 + 0.5) / 4),
        ("all", 1, (1 + 0.5) / 4),
    ],
)
def test_when_a_slice_counts_as_relapsed(label: str, positives: int, area: float) -> None:
    found = auroc_by_depth(SLICES, label=label)[0].auroc  # type: ignore[arg-type]
    assert (found.positives, found.value) == (positives, pytest.approx(area))


def test_three_of_four_episodes_are_most_but_not_all() -> None:
    rows = table([("a", "a", "2", 0.9, "RRRn"), ("b", "b", "2", 0.1, "nnnR")])
    assert [auroc_by_depth(rows, label=k)[0].auroc.positives for k in ("any", "majority", "all")] \
        == [2, 1, 0]  # fmt: skip
    assert auroc_by_depth(rows, label="all")[0].auroc.value is None


def test_a_slice_has_one_signal() -> None:
    rows = table([("a", "a1", "2", 0.9, "R"), ("a", "a1", "8", 0.8, "R")])
    with pytest.raises(DataError, match="unit a1 has several values of signal"):
        auroc_by_depth(rows)
    with pytest.raises(InputError, match="signal must be a column of numbers, one of cluster"):
        auroc_by_depth(rows, signal="risk")
    with pytest.raises(DataError, match="outcome must hold numbers, got 'TRUE_RELAPSE'"):
        auroc_by_depth(rows, signal="outcome")


def test_strata_by_hand() -> None:
    rows = SLICES.select(depth="2")
    found = risk_strata(rows, [0.4, 0.65])
    # Below .4: a2, 2 episodes. From .4 to below .65: b1 2 of 2, b2 one of two parses, c1 2: 2 of 5.
    # From .65: a1 1 of 2; d1 does not parse. c2 has no signal: 2 episodes.
    assert found.names == ("signal below 0.4", "signal from 0.4 to below 0.65", "signal from 0.65")
    assert (found.relapsed, found.episodes) == ((0, 2, 1), (2, 5, 2))
    assert found.prevalence == pytest.approx((0.0, 0.4, 0.5))
    assert found.without_signal == 2
    # Both ends of the signal lie in cluster a alone.
    assert found.separation is None
    assert any(note.startswith("no separation: one cluster") for note in found.notes)


def test_separation_is_bootstrapped_over_clusters() -> None:
    rows = table([
        ("a", "a1", "2", 0.9, "RRn"), ("a", "a2", "2", 0.1, "nn"),
        ("b", "b1", "2", 0.9, "RR"), ("b", "b2", "2", 0.1, "Rnn"),
        ("c", "c1", "2", 0.9, "nR"), ("c", "c2", "2", 0.1, "nnn"),
    ])  # fmt: skip
    found = risk_strata(rows, [0.5], level=0.8).separation
    assert found is not None
    # All 27 resamples in fractions: (relapsed high, n high, relapsed low, n low) by cluster.
    sums = ((2, 3, 0, 2), (2, 2, 1, 3), (1, 2, 0, 3))
    law = sorted(
        Fraction(sum(c[0] for c in d), sum(c[1] for c in d))
        - Fraction(sum(c[2] for c in d), sum(c[3] for c in d))
        for d in itertools.product(sums, repeat=3)
    )
    # inf{x : P(X <= x) >= p}: places ceil(2.7) and ceil(24.3).
    assert (found.low, found.high) == pytest.approx((float(law[2]), float(law[24])))


def test_an_empty_stratum_has_no_separation() -> None:
    rows = table([("a", "a1", "2", 0.9, "R"), ("b", "b1", "2", 0.8, "u")])
    found = risk_strata(rows, [0.5])
    assert (found.prevalence, found.separation) == ((None, 1.0), None)
    assert any(note.startswith("no separation") for note in found.notes)


@pytest.mark.parametrize("cuts", [[], [0.5, 0.5], [0.6, 0.5], [np.nan]])
def test_cuts_ascend(cuts: list[float]) -> None:
    with pytest.raises(InputError, match="cuts must be"):
        risk_strata(SLICES, cuts)


def test_a_signal_that_a_reader_kept_as_labels() -> None:
    # Readers of plain tables give further columns as labels, and rename what means something.
    labels = [None if np.isnan(v) else str(v) for v in SLICES.numbers["signal"].tolist()]
    plain = Records({**SLICES.factors, "column.signal": Factor.from_values(labels)}, kind="episode")
    for read, found in zip(auroc_by_depth(plain), auroc_by_depth(SLICES), strict=True):
        assert read.to_dict() == found.to_dict()
