"""Judges: agreement against statsmodels and Table 20, self-preference by hand and by SciPy."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as reference_fleiss

from simtrack.errors import DataError, InputError
from simtrack.scoring.judges import judge_agreement, self_preference

PRIMARY, CLAUDE, GEMINI = "GPT-5.4", "Claude-Sonnet-4-6", "Gemini-3.1-Pro"
EQUAL = 1e-12  # the same arithmetic in another order


def cross_check() -> list[tuple[str, str, str]]:
    """200 outputs on which the others differ from the primary 12 and 17 times, as printed.

    The primary passes 124. The second judge turns 6 passes and 6 failures round; the third the
    same twelve, and two passes and three failures more, so that all three agree as far as they can.
    """
    rows = []
    for k in range(200):
        first = k < 124
        second = first ^ (k < 6 or k >= 194)
        third = first ^ (k < 8 or k >= 191)
        votes = ((PRIMARY, first), (CLAUDE, second), (GEMINI, third))
        rows += [(f"o{k}", who, "pass" if vote else "fail") for who, vote in votes]
    return rows


def test_table_20() -> None:
    found = judge_agreement(*zip(*cross_check(), strict=True), primary=PRIMARY)
    assert found.judges[0] == PRIMARY
    for judge, same, kappa in ((CLAUDE, 188, 0.87), (GEMINI, 183, 0.82)):
        pair = found.pair(PRIMARY, judge)
        assert pair.percent.value == same / 200
        assert round(pair.kappa.value or 0.0, 2) == kappa
    # With these agreements no three judges reach the printed 0.89.
    assert 0.87 < (found.fleiss.value or 0.0) < 0.885
    assert found.outputs == 200
    assert found.pair(CLAUDE, PRIMARY) is found.pair(PRIMARY, CLAUDE)


def test_against_statsmodels() -> None:
    rows = cross_check()
    found = judge_agreement(*zip(*rows, strict=True))
    votes = {who: np.array([v == "pass" for _, w, v in rows if w == who], dtype=int)
             for who in found.judges}  # fmt: skip
    table = np.stack([votes[who] for who in found.judges], axis=1)
    reference = reference_fleiss(aggregate_raters(table)[0], method="fleiss")
    assert found.fleiss.value == pytest.approx(reference, abs=EQUAL)
    for pair in found.pairs:
        cells = np.zeros((2, 2), dtype=int)
        np.add.at(cells, (votes[pair.first], votes[pair.second]), 1)
        assert pair.kappa.value == pytest.approx(cohens_kappa(cells).kappa, abs=EQUAL)


def test_missing_labels_and_one_label_only() -> None:
    rows = [("a", "p", "1"), ("a", "q", "1"), ("b", "p", "1"), ("b", "q", None), ("c", "p", "1"),
            ("c", "q", "1")]  # fmt: skip
    found = judge_agreement(*zip(*rows, strict=True))
    pair = found.pairs[0]
    assert pair.percent.value == 1.0
    assert pair.percent.units == 2
    assert pair.kappa.value is None  # one label: agreement by chance is 1
    assert found.fleiss.notes
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["schema"] == "simtrack.judge-agreement/1"
    assert plain["pairs"][0]["kappa"]["value"] is None


def test_that_judges_are_joined_by_output() -> None:
    rows = cross_check()
    turned = judge_agreement(*zip(*reversed(rows), strict=True), primary=PRIMARY)
    found = judge_agreement(*zip(*rows, strict=True), primary=PRIMARY)
    assert turned.to_dict() == found.to_dict()


def test_refusals_of_agreement() -> None:
    with pytest.raises(InputError, match="two judges or more"):
        judge_agreement(["a"], ["p"], ["1"])
    with pytest.raises(InputError, match="one of p, q"):
        judge_agreement(["a", "a"], ["p", "q"], ["1", "1"], primary="r")
    with pytest.raises(InputError, match="columns must be of one length"):
        judge_agreement(["a", "a"], ["p", "q"], ["1"])
    with pytest.raises(DataError, match="more than once"):
        judge_agreement(["a", "a", "a"], ["p", "q", "q"], ["1", "1", "0"])


def preference_rows() -> list[tuple[str, str, str, int | None]]:
    """Ten own outputs: 8 pass the judge, 5 the reference. Twenty others: 10 and 9.

    Own: the judge alone passes 4, the reference alone 1. One more output has one label only.
    """
    own = [(1, 1)] * 4 + [(1, 0)] * 4 + [(0, 1)] + [(0, 0)]
    other = [(1, 1)] * 8 + [(1, 0)] * 2 + [(0, 1)] + [(0, 0)] * 9
    rows: list[tuple[str, str, str, int | None]] = []
    for k, (mine, theirs) in enumerate(own + other):
        family = "own" if k < len(own) else f"family {k % 2}"
        rows += [(f"o{k}", family, "j", mine), (f"o{k}", family, "ref", theirs)]
    return [*rows, ("lone", "own", "j", 1), ("lone", "own", "ref", None)]


def test_self_preference_by_hand() -> None:
    found = self_preference(
        *zip(*preference_rows(), strict=True), of="j", own="own", reference="ref"
    )
    assert (found.own_outputs, found.other_outputs) == (10, 20)
    assert (found.own_rate, found.own_reference_rate) == (0.8, 0.5)
    assert (found.other_rate, found.other_reference_rate) == (0.5, 0.45)
    assert found.own_leniency == pytest.approx(0.3)
    assert found.other_leniency == pytest.approx(0.05)
    assert found.delta == pytest.approx(0.25)
    assert found.raw_delta == pytest.approx(0.3)
    test = found.own_test
    assert test is not None
    assert (test.only_first, test.only_second) == (4, 1)
    assert test.pvalue == pytest.approx(binomtest(4, 5).pvalue)  # 12/32
    assert found.notes == ("1 outputs without a label of both judges left out",)
    assert json.loads(json.dumps(found.to_dict()))["own_test"]["only_first"] == 4


def test_better_outputs_are_no_preference() -> None:
    # The judge agrees with the reference on everything; its own family is simply better.
    rows = []
    for k in range(20):
        vote = int(k < 12)
        family = "own" if k < 10 else "other"
        rows += [(f"o{k}", family, "j", vote), (f"o{k}", family, "ref", vote)]
    found = self_preference(*zip(*rows, strict=True), of="j", own="own", reference="ref")
    assert found.delta == 0.0
    assert found.notes == ()
    assert found.raw_delta == pytest.approx(0.8)
    assert found.own_test is not None
    assert found.own_test.pvalue == 1.0


def test_without_outputs_of_one_side() -> None:
    rows = [("a", "own", "j", 1), ("a", "own", "ref", 1), ("b", "other", "j", 1)]
    found = self_preference(*zip(*rows, strict=True), of="j", own="own", reference="ref")
    assert found.delta is None
    assert found.other_rate is None
    assert "no other outputs" in found.notes
    assert repr(found) == "SelfPreference(j: not defined, 1 own and 0 other outputs)"


def test_refusals_of_preference() -> None:
    rows = preference_rows()
    columns = list(zip(*rows, strict=True))
    with pytest.raises(InputError, match="of must be one of j, ref"):
        self_preference(*columns, of="k", own="own", reference="ref")
    with pytest.raises(InputError, match="own must be one of"):
        self_preference(*columns, of="j", own="mine", reference="ref")
    with pytest.raises(InputError, match="columns must be of one length"):
        self_preference(columns[0][1:], *columns[1:], of="j", own="own", reference="ref")
    with pytest.raises(InputError, match="another judge"):
        self_preference(*columns, of="j", own="own", reference="j")
    twice = list(zip(*rows, ("o1", "own", "j", 0), strict=True))
    with pytest.raises(DataError, match="judge j labelled output o1 more than once"):
        self_preference(*twice, of="j", own="own", reference="ref")
    moved = list(zip(*rows, ("o1", "other", "ref", 0), strict=True))
    with pytest.raises(DataError, match="is of the families own and other"):
        self_preference(*moved, of="j", own="own", reference="ref")
