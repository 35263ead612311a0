"""Tests of two levels in every group of a family, against enumeration, SciPy and published data."""

from __future__ import annotations

import csv
import itertools
import json
import random
from fractions import Fraction

import pytest

from simtrack.analysis import compare, testing
from simtrack.analysis.catalogue import METHODS, methods_for
from simtrack.counts import Totals
from simtrack.errors import DataError, InputError
from simtrack.inference import max_t
from simtrack.records import Records

#: Two ways to the same double: a few units in the last place.
SAME = 1e-12
#: SciPy's t distribution and ours agree to about this.
T_SAME = 1e-9


def made(rows):
    """Build a table from (unit, model, value, more labels) tuples."""
    names = ("unit", "model", "value", "group", "repetition", "cluster")
    return Records.from_columns(
        {name: [row[k] for row in rows] for k, name in enumerate(names) if len(rows[0]) > k}
    )


def family(records, **asked):
    return testing.test(records, "x", "y", factor="model", **asked)


def paired_rows(differences, group="g", trials=10):
    """Give each cluster `trials` trials of either model whose rates differ by d / trials."""
    rows = []
    for k, d in enumerate(differences):
        for model, passed in (("x", max(d, 0)), ("y", max(-d, 0))):
            rows += [(f"{group}{k}", model, int(t < passed), group, t) for t in range(trials)]
    return rows


TWELVE = [-5, 3, -8, -2, -7, -1, -4, -6, -9, 2, -3, -5]


def test_the_sign_flip_is_that_of_full_enumeration():
    records = made(paired_rows(TWELVE))
    (row,) = family(records).rows
    signs = itertools.product((-1, 1), repeat=len(TWELVE))
    hits = sum(
        abs(sum(s * d for s, d in zip(flips, TWELVE, strict=True))) >= abs(sum(TWELVE))
        for flips in signs
    )
    assert row.answer.exact == Fraction(hits, 2 ** len(TWELVE)) == Fraction(40, 4096)
    assert row.answer.extra["floor"] == Fraction(2, 4096)
    assert (row.clusters, row.trials_a, row.trials_b, row.unpaired) == (12, 120, 120, 0)
    # the 102nd smallest and largest of the 4095 subset means, in tenths
    means = sorted(
        Fraction(sum(subset), 10 * len(subset))
        for size in range(1, 13)
        for subset in itertools.combinations(TWELVE, size)
    )
    assert row.answer.low == pytest.approx(float(means[101]), abs=SAME)
    assert row.answer.high == pytest.approx(float(means[-102]), abs=SAME)


def test_a_test_of_one_group_is_the_comparison():
    records = made(paired_rows(TWELVE))
    (row,) = family(records).rows
    found = compare(records, "x", "y", factor="model")
    assert row.answer == found.answer


def test_one_sided_ps_add_up_to_one_and_the_ties():
    records = made(paired_rows(TWELVE))
    less, greater = (
        family(records, alternative=side).rows[0].answer.exact for side in ("less", "greater")
    )
    equal = sum(
        sum(s * d for s, d in zip(flips, TWELVE, strict=True)) == sum(TWELVE)
        for flips in itertools.product((-1, 1), repeat=12)
    )
    assert less == Fraction(20, 4096)
    assert less + greater == 1 + Fraction(equal, 4096)


def test_trials_are_joined_by_their_labels_never_by_row():
    from scipy.stats import binomtest

    draw = random.Random(3)
    rows = [(f"q{k}", model, draw.randint(0, 1), "g", rep)
            for k in range(30) for rep in range(2) for model in ("x", "y")]  # fmt: skip
    value = {(unit, rep, model): v for unit, model, v, _, rep in rows}
    pairs = [(value[f"q{k}", rep, "x"], value[f"q{k}", rep, "y"])
             for k in range(30) for rep in range(2)]  # fmt: skip
    b, c = pairs.count((1, 0)), pairs.count((0, 1))
    assert b != c
    draw.shuffle(rows)
    (row,) = family(made(rows), method="mcnemar").rows
    assert row.answer.pvalue == pytest.approx(binomtest(b, b + c).pvalue, rel=SAME)
    assert row.answer.estimate == pytest.approx((b - c) / 60, abs=SAME)
    assert any("60 pairs of 30 clusters" in note for note in row.answer.notes)
    # the second named first: the same p, the other sign
    (other,) = testing.test(made(rows), "y", "x", method="mcnemar").rows
    assert other.answer.exact == row.answer.exact
    assert other.answer.estimate == pytest.approx(-row.answer.estimate, abs=SAME)


def test_a_trial_without_partner_is_counted_not_paired_with_another():
    rows = [("q1", "x", 1, "g", 1), ("q1", "y", 0, "g", 2)]
    rows += [(f"r{k}", m, int(m == "x"), "g", 1) for k in range(8) for m in ("x", "y")]
    (row,) = family(made(rows), method="mcnemar").rows
    assert (row.trials_a, row.unpaired) == (8, 2)
    assert row.answer.exact == Fraction(2, 2**8)
    (by_unit,) = family(made(rows), method="mcnemar", on=["unit"]).rows
    assert (by_unit.trials_a, by_unit.unpaired) == (9, 0)


def test_repeated_trials_without_a_name_cannot_be_paired():
    rows = [("q1", "x", 1), ("q1", "x", 0), ("q1", "y", 0), ("q2", "x", 1), ("q2", "y", 1)]
    with pytest.raises(DataError, match="2 trials of x share"):
        family(made(rows), method="mcnemar")


def groups(*differences):
    return made([row for k, d in enumerate(differences) for row in paired_rows(d, f"g{k}")])


def test_refused_hypotheses_and_nulls_keep_their_place_and_count():
    records = groups([5] * 8, [3] * 4, [0] * 8)
    found = family(records, by="group", adjust="bonferroni")
    live, refused, null = found.rows
    assert [row.labels for row in found.rows] == [("g0",), ("g1",), ("g2",)]
    assert refused.answer.pvalue is None
    assert refused.adjusted is None
    assert "4 clusters can give no p below 0.125" in refused.answer.refused
    assert null.answer.pvalue == 1.0
    assert found.sizes == {"all": 3}
    assert live.adjusted == pytest.approx(3 * 2 / 2**8, rel=SAME)
    assert any("1 hypotheses without a p-value" in note for note in found.notes)


def test_the_declared_family_may_be_larger_never_smaller():
    records = groups([5] * 10, [3] * 10)
    found = family(records, by="group", adjust="holm", family=20)
    assert [row.adjusted for row in found.rows] == [20 * 2 / 2**10] * 2 == [0.0390625] * 2
    with pytest.raises(InputError, match="at least the 2 groups"):
        family(records, by="group", adjust="holm", family=1)
    with pytest.raises(InputError, match="given with adjust"):
        family(records, by="group", family=3)
    large = family(records, by="group", adjust="holm", family=100)
    assert any("no adjusted p below 0.195 was possible" in note for note in large.notes)


def test_families_are_adjusted_one_by_one():
    rows = []
    for part, sizes in (("a", ([5] * 8, [4] * 9)), ("b", ([5] * 10,))):
        for k, d in enumerate(sizes):
            rows += [(*row, part) for row in paired_rows(d, f"{part}{k}")]
    names = ("unit", "model", "value", "group", "repetition", "part")
    records = Records.from_columns({n: [row[k] for row in rows] for k, n in enumerate(names)})
    found = family(records, by=["part", "group"], adjust="bonferroni", family="part")
    assert found.sizes == {"a": 2, "b": 1}
    assert [row.adjusted for row in found.rows] == [2 * 2 / 2**8, 2 * 2 / 2**9, 2 / 2**10]
    with pytest.raises(InputError, match="columns of by"):
        family(records, by="group", adjust="holm", family="part")


def test_max_t_keeps_the_dependence_between_groups():
    # two groups over the same clusters with the same differences are one hypothesis told twice
    same = [("c" + row[0][2:], *row[1:]) for k in (0, 1) for row in paired_rows(TWELVE, f"g{k}")]
    twice = family(made(same), by="group", adjust="max-t")
    assert [row.adjusted for row in twice.rows] == [40 / 4096] * 2
    other = [4, -1, 2, 3, 5, -2, 1, 6, 2, 3, -4, 7]
    both = [("c" + row[0][2:], *row[1:]) for k, d in enumerate((TWELVE, other))
            for row in paired_rows(d, f"g{k}")]  # fmt: skip
    found = family(made(both), by="group", adjust="max-t")
    direct = max_t(list(zip(TWELVE, other, strict=True)))
    assert [row.adjusted for row in found.rows] == direct.adjusted.tolist()
    with pytest.raises(InputError, match="max-t with sign-flip alone"):
        family(made(both), by="group", adjust="max-t", method="sign-test")


def test_one_sided_t_is_that_of_scipy():
    from scipy.stats import ttest_1samp

    records = made(paired_rows(TWELVE))
    for side in ("two-sided", "less", "greater"):
        wanted = ttest_1samp([d / 10 for d in TWELVE], 0.0, alternative=side).pvalue
        (row,) = family(records, method="paired-cluster-t", alternative=side).rows
        assert row.answer.pvalue == pytest.approx(wanted, rel=T_SAME)


def test_permutation_is_that_of_all_assignments():
    first, second = [9, 7, 8, 10, 6], [5, 4, 7, 3, 6]
    rows = [(f"{m}{k}", m, int(t < d), "g", t)
            for m, group in (("x", first), ("y", second))
            for k, d in enumerate(group) for t in range(10)]  # fmt: skip
    pooled = first + second
    hits = sum(
        abs(2 * sum(chosen) - sum(pooled)) >= abs(sum(first) - sum(second))
        for chosen in itertools.combinations(pooled, 5)
    )
    (row,) = family(made(rows), method="permutation").rows
    assert row.answer.exact == Fraction(hits, 252)
    assert row.answer.estimate == pytest.approx(0.3, abs=SAME)
    with pytest.raises(DataError, match="no unit has both x and y"):
        family(made(rows))


def test_strata_count_alike():
    # b - c over pairs: 3/6 and -1/4; signed discordant pairs 1/6 thrice and 1/4 once
    rows = [(f"s{k}", "x", int(k < 3), "s", 1) for k in range(6)]
    rows += [(f"s{k}", "y", 0, "s", 1) for k in range(6)]
    rows += [(f"t{k}", "x", 0, "t", 1) for k in range(4)]
    rows += [(f"t{k}", "y", int(k < 1), "t", 1) for k in range(4)]
    (row,) = family(made(rows), method="mcnemar-stratified", strata="group").rows
    sizes = [Fraction(1, 6)] * 3 + [Fraction(1, 4)]
    observed = abs(Fraction(3, 6) - Fraction(1, 4))
    hits = sum(
        abs(sum(s * d for s, d in zip(flips, sizes, strict=True))) >= observed
        for flips in itertools.product((-1, 1), repeat=4)
    )
    assert row.answer.exact == Fraction(hits, 16)
    assert row.answer.estimate == pytest.approx(float(observed) / 2, abs=SAME)
    assert "2 strata" in row.answer.notes[0]
    with pytest.raises(InputError, match="strata must be named"):
        family(made(rows), method="mcnemar-stratified")
    with pytest.raises(InputError, match="strata must be used with"):
        family(made(rows), method="mcnemar", strata="group")


OF_TWO_LEVELS = [n for n in methods_for("test --method")
                 if METHODS[n].topic in {"test", "difference"}]  # fmt: skip


@pytest.mark.parametrize("method", OF_TWO_LEVELS)
def test_every_method_of_two_levels_is_offered(method):
    apart = "permutation" in method or method.startswith("miettinen-nurminen")
    draw = random.Random(5)
    rows = []
    for k in range(14):
        for model in ("x",) if apart and k % 2 else ("y",) if apart else ("x", "y"):
            chance = 0.8 if model == "x" else 0.3
            rows += [(f"q{k}", model, int(draw.random() < chance), f"s{k % 3}", t)
                     for t in range(4)]  # fmt: skip
    records = made(rows)
    strata = "group" if method.endswith("-stratified") else None
    (row,) = family(records, method=method, strata=strata).rows
    v = row.answer
    assert v.refused == ""
    assert v.estimate > 0
    assert v.pvalue is not None or v.low is not None
    if v.low is not None:
        assert v.low <= v.estimate <= v.high
    assert v.extra.get("interval") or strata
    json.dumps(testing.test(records, "x", "y", method=method, strata=strata).to_dict())


def test_methods_of_other_topics_are_refused_with_those_that_fit():
    records = made(paired_rows(TWELVE))
    with pytest.raises(InputError, match=r"one of sign-flip, .*mcnemar.*'wilson' \(topic rate\)"):
        family(records, method="wilson")
    with pytest.raises(InputError, match="left out for a method without p-values"):
        family(records, method="newcombe-clustered", adjust="holm")
    with pytest.raises(InputError, match="two-sided for newcombe, which has no p-value"):
        family(records, method="newcombe", alternative="less")
    with pytest.raises(InputError, match="do not pair single trials"):
        family(records, on=["unit"])


def test_a_group_without_one_level_keeps_its_place():
    rows = paired_rows([5] * 8, "g0") + [r for r in paired_rows([5] * 8, "g1") if r[1] == "x"]
    found = family(made(rows), by="group", adjust="holm")
    assert found.rows[1].answer.refused == "no scored trial of y; there are some of x"
    assert found.rows[0].adjusted == 2 * 2 / 2**8
    with pytest.raises(DataError, match="no scored trial of y"):
        family(made([r for r in rows if r[3] == "g1"]))


def test_what_nobody_randomised_and_what_is_few_is_said():
    rows = [(f"c{k}-{stage}", stage, int(v), "g", 1, f"c{k}")
            for k in range(8) for stage, v in (("early", 1), ("late", k == 0))]  # fmt: skip
    names = ("unit", "stage", "value", "group", "repetition", "cluster")
    records = Records.from_columns({n: [r[k] for r in rows] for k, n in enumerate(names)})
    # stages of a scenario are units of their own: matched by cluster alone
    (row,) = testing.test(records, "early", "late").rows
    assert row.answer.exact == Fraction(2, 2**7)
    assert any("stage is not assigned at random" in note for note in row.answer.notes)
    (t,) = testing.test(records, "early", "late", method="paired-cluster-t").rows
    assert any("8 clusters are few" in note for note in t.answer.notes)
    (few,) = family(made(paired_rows([5, 0, 0, 0, 0, 0, 0, -3]))).rows
    assert any("2 of 8 clusters differ at all: no p below 0.5" in n for n in few.answer.notes)


def test_unequal_arms_are_refused_or_called_approximate():
    rows = paired_rows(TWELVE)
    fewer = [r for r in rows if not (r[1] == "y" and r[4] > 2)]
    with_gap = family(made(fewer)).rows[0].answer
    assert with_gap.pvalue is None
    assert "very different numbers of trials" in with_gap.refused
    slightly = family(made(rows[1:])).rows[0].answer
    assert slightly.guarantee == "asymptotic"


def test_totals_make_one_hypothesis():
    hits = [[d, 0] if d > 0 else [0, -d] for d in TWELVE]
    totals = Totals.from_arrays(hits, [[10, 10]] * 12, conditions=[("x",), ("y",)], by=("model",))
    (row,) = family(totals).rows
    assert row.answer.exact == Fraction(40, 4096)
    with pytest.raises(InputError, match="tables without rows"):
        family(totals, by="group")
    with pytest.raises(InputError, match="factor must be named"):
        testing.test(totals, "x", "y")


def test_the_family_is_a_frame_and_plain_data():
    found = family(groups(TWELVE, [5] * 8), by="group", adjust="holm")
    frame = found.to_frame()
    assert frame["group"].tolist() == ["g0", "g1"]
    assert frame["pvalue_exact"].tolist() == ["5/512", "1/128"]
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["schema"] == "simtrack.test/2"
    assert plain["rows"][1]["adjusted"] == found.rows[1].adjusted
    assert "2 hypotheses, adjusted by holm" in repr(found)
    assert repr(found.rows[1]) == "TestRow(g1: +0.5000, p=0.007812)"


@pytest.mark.shared
def test_gpqa_epochs_are_mcnemar_tests_of_scipy(shared):
    from scipy.stats import binomtest

    from simtrack.logs import read_log

    path = shared / "logs/public/stephlinds__evalconfidence/gpqa_diamond_scores.csv"
    records = read_log(path)
    a, b = "openai/gpt-5-nano-2025-08-07", "openai/gpt-5.4-mini-2026-03-17"
    (whole,) = testing.test(records, a, b).rows
    assert whole.clusters == 198
    assert whole.answer.pvalue == pytest.approx(0.0395408, abs=5e-8)
    with path.open(newline="") as lines:
        score = {(r["item_id"], r["epoch"], r["model_id"]): float(r["score"])
                 for r in csv.DictReader(lines)}  # fmt: skip
    found = testing.test(records, a, b, by="epoch", method="mcnemar", adjust="holm")
    wanted = []
    for epoch in "12345":
        pairs = [(score[i, e, a], score[i, e, b]) for i, e, m in score if e == epoch and m == a]
        one, other = pairs.count((1.0, 0.0)), pairs.count((0.0, 1.0))
        wanted.append(binomtest(one, one + other).pvalue)
    assert [row.answer.pvalue for row in found.rows] == pytest.approx(wanted, rel=SAME)
    assert found.rows[4].adjusted == pytest.approx(5 * min(wanted), rel=SAME)


def test_a_margin_tests_every_group_and_the_adjusted_p_decides():
    near = [0, 1, -1, 0, 1, 0, -1, 0, 1, -1]
    records = made([*paired_rows(near, "a"), *paired_rows(TWELVE, "b")])
    found = family(records, by="group", margin=0.2, adjust="bonferroni")
    close, far = found.rows
    # each of the ten differences less -0.2, and 0.2 less each: tenths, by all 2^10 patterns
    expected = []
    for gaps in ([d + 2 for d in near], [2 - d for d in near]):
        count = sum(
            sum(s * g for s, g in zip(signs, gaps, strict=True)) >= sum(gaps)
            for signs in itertools.product((-1, 1), repeat=10)
        )
        expected.append(Fraction(count, 1024))
    assert close.answer.exact == max(expected)
    assert close.adjusted == float(2 * close.answer.exact)
    assert close.answer.extra["verdict"] == "equivalent"
    assert far.answer.extra["verdict"] == "not shown"
    assert far.answer.pvalue > 0.5
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["margin"] == {"low": -0.2, "high": 0.2, "claim": "equivalent"}
    assert plain["rows"][0]["verdict"] == "equivalent"
    strict = family(records, by="group", margin=0.1, adjust="bonferroni", level=0.985)
    # one p below .015 that twice over lies above it
    p = strict.rows[0].answer.pvalue
    assert p <= 0.015 < strict.rows[0].adjusted
    assert strict.rows[0].answer.extra["verdict"] == "not shown"


def test_a_margin_that_a_method_cannot_test_is_refused_before_any_group():
    records = made(paired_rows(TWELVE))
    with pytest.raises(InputError, match="method must be one that tests a margin: sign-flip, "):
        family(records, method="permutation", margin=0.1)
    with pytest.raises(InputError, match="adjust must be another than max-t with a margin"):
        family(records, margin=0.1, adjust="max-t")
    assert "margin" not in family(records).to_dict()
