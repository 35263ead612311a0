"""The unit, its clusters, its conditions, and what is told of a table: on tables that are odd."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.stats import chi2

from simtrack.analysis import cautions, score, test
from simtrack.analysis.cautions import cautions_of_arms, cautions_of_table
from simtrack.analysis.scope import Scope, selected
from simtrack.errors import InputError
from simtrack.records import Records

#: Wilson and Hilferty's quantile is within three percent of chi-square's from four degrees on.
NEAR = 0.03


def made(names, rows):
    """Build a table from tuples."""
    columns = zip(*rows, strict=True)
    return Records.from_columns(
        {name: list(column) for name, column in zip(names.split(), columns, strict=True)}
    )


def told(notes, code):
    return [note for note in notes if note.code == code]


def coarser(records, **asked):
    (*_, note) = (None, *told(cautions_of_table(Scope.of(records, **asked)), "coarser"))
    return note


class TestUnit:
    def test_ids_nest_in_every_column_that_they_repeat_across(self):
        rows = [(d, s, f"q{k}", k % 2) for d in "de" for s in "st" for k in range(4)]
        scope = Scope.of(made("dataset scenario unit value", rows))
        assert scope.unit == scope.cluster == "dataset/scenario/unit"
        assert len(scope.records.factors[scope.unit].levels) == 16

    def test_ids_stay_as_they_are_where_one_column_is_compared_or_grouped_by(self):
        rows = [(d, s, f"q{k}", k % 2) for d in "de" for s in "st" for k in range(4)]
        records = made("dataset scenario unit value", rows)
        assert Scope.of(records, levels=("s", "t")).unit == "dataset/unit"
        assert Scope.of(records, by="dataset").unit == "scenario/unit"
        assert Scope.of(records, by="dataset", levels=("s", "t")).unit == "unit"

    def test_columns_that_ids_do_not_repeat_across_add_nothing(self):
        rows = [(f"s{k // 2}", "only", f"q{k}", k % 2) for k in range(8)]
        assert Scope.of(made("scenario dataset unit value", rows)).unit == "unit"

    def test_equal_texts_of_different_units_stay_apart(self):
        """Task a/b with id c, and task a with id b/c, are both a/b/c."""
        rows = [
            (t, u, m, v) for t, u in (("a/b", "c"), ("a", "b/c")) for m, v in (("A", 1), ("B", 0))
        ]
        scope = Scope.of(made("task unit model value", rows))
        assert len(scope.records.factors["task/unit"].levels) == 2

    def test_a_row_without_an_id_has_no_unit(self):
        rows = [("t", "a", 1), ("u", "a", 0), ("u", None, 1)]
        scope = Scope.of(made("task unit value", rows))
        assert scope.records.factors["task/unit"].values() == ["t/a", "u/a", None]

    @pytest.mark.parametrize("name", ["scenario", "cluster"])
    def test_ids_that_start_again_in_every_cluster_are_different_units(self, name):
        rows = [(f"s{s}", f"q{q}", e, 1 - q) for s in range(6) for q in range(2) for e in "12"]
        records = made(f"{name} unit repetition value", rows)
        scope = Scope.of(records, cluster=name)
        assert (scope.cluster, scope.unit) == (name, f"{name}/unit")
        (passed,) = score(records, cluster=name, pass_k=[2]).metrics[0].pass_k
        assert (passed.at[0].tasks, passed.at[0].value) == (12, 0.5)

    @pytest.mark.parametrize("name", ["repetition", "seed", "source", "model", "wording"])
    def test_columns_that_repeat_a_unit_do_not_make_it_many(self, name):
        """Also where every trial has a label of its own, so that clusters are finer than units."""
        rows = [(f"q{q}-{e}" if name == "wording" else e, f"q{q}", 1 - q)
                for q in range(6) for e in "12"]  # fmt: skip
        records = made(f"{name} unit value", [(*row[:2], abs(row[2]) % 2) for row in rows])
        scope = Scope.of(records, cluster=name)
        assert (scope.unit, scope.cut_units) == ("unit", 6)
        (note,) = told(cautions_of_table(scope, name), "cut-units")
        assert note.n == 6
        with pytest.raises(InputError, match="keeps the trials of a unit together"):
            score(records, cluster=name, by=[""], pass_k=[2])

    def test_a_cluster_that_holds_whole_units_is_not_told_of(self):
        rows = [(f"s{q // 2}", f"q{q}", m, q % 2) for q in range(6) for m in "AB"]
        records = made("scenario unit model value", rows)
        assert Scope.of(records, cluster="scenario", by="model").cut_units == 0


class TestConditions:
    def test_a_column_that_varies_in_every_unit_is_a_condition(self):
        rows = [(f"q{k}", p, t, k % 2) for k in range(10) for p in ("cot", "direct") for t in "01"]
        scope = Scope.of(made("unit prompt temperature value", rows))
        assert scope.conditions == ("prompt", "temperature")
        assert Scope.of(made("unit prompt temperature value", rows), by="prompt").conditions == (
            "temperature",
        )

    def test_numbers_of_few_values_are_conditions_also_where_they_are_near(self):
        close = (0.70000001, 0.70000002)
        rows = [(f"q{k}", t, float(k % 2)) for k in range(10) for t in close]
        records = made("unit temperature value", rows)
        assert "temperature" in records.numbers
        assert Scope.of(records).conditions == ("temperature",)

    @pytest.mark.parametrize("name", ["answer", "target", "latency", "hash"])
    def test_what_trials_gave_is_no_condition(self, name):
        draw = random.Random(5)
        label = {
            "answer": lambda k: draw.choice("ABCD"),
            "target": lambda k: "ABCDE"[k % 5],
            "latency": lambda k: f"{draw.random():.3f}",
            "hash": str,
        }[name]
        rows = [(f"q{k}", e, label(k), k % 2) for k in range(60) for e in "123"]
        assert Scope.of(made(f"unit repetition {name} value", rows)).conditions == ()

    @pytest.mark.parametrize("numbered", [True, False])
    def test_a_prompt_that_some_units_have_twice_is_a_condition(self, numbered):
        rows = [(f"q{k}", "1", p, k % 2) for k in range(30)
                for p in (("cot", "direct") if k < 12 else ("cot",))]  # fmt: skip
        names = "unit repetition prompt value" if numbered else "unit note prompt value"
        assert Scope.of(made(names, rows)).conditions == ("prompt",)

    def test_an_answer_of_two_letters_is_none_where_trials_are_numbered_or_agree(self):
        draw = random.Random(3)
        rows = [(f"q{k}", e, draw.choice("YN"), k % 2) for k in range(30) for e in "12"]
        assert Scope.of(made("unit repetition answer value", rows)).conditions == ()
        rows = [(unit, *rest) for unit, _, *rest in rows]
        assert Scope.of(made("unit answer value", rows)).conditions == ()

    def test_a_condition_without_a_label_is_one_more(self):
        rows = [(f"q{k}", None if k % 7 == 0 and p == "cot" else p, k % 2)
                for k in range(30) for p in ("cot", "direct")]  # fmt: skip
        assert Scope.of(made("unit prompt value", rows)).conditions == ("prompt",)

    def test_pass_k_is_refused_over_conditions_and_given_under_one(self):
        rows = [(f"q{k}", p, e, k % 2) for k in range(9) for p in ("cot", "direct") for e in "12"]
        records = made("unit prompt repetition value", rows)
        with pytest.raises(InputError, match=r"different prompt within a unit.*--by prompt"):
            score(records, pass_k=[2])
        (first, second) = score(records, by=["prompt"], pass_k=[2]).metrics[0].pass_k
        assert first.at[0].value == second.at[0].value == 4 / 9


def grouped(levels, size, name="colour", spread=1.0, seed=2, models="A"):
    """Give `levels` groups of ids, whose chances of passing lie apart by `spread`."""
    draw = random.Random(seed)
    rows = []
    for group in range(levels):
        chance = 0.5 + spread * (draw.random() - 0.5)
        rows += [(f"{group}-{k}", f"g{group}", m, int(draw.random() < chance))
                 for k in range(size) for m in models]  # fmt: skip
    return made(f"unit {name} model value", rows)


class TestCoarser:
    def test_the_bound_of_chance_is_the_quantile_of_chi_square(self):
        for levels in (5, 10, 57, 500):
            for columns in (1, 20):
                exact = chi2.ppf(1 - 0.05 / columns, levels - 1) / (levels - 1)
                assert cautions._by_chance(levels, columns) == pytest.approx(exact, rel=NEAR)

    def test_labels_of_chance_are_told_in_one_table_of_twenty_at_most(self):
        """Ten letters, and scores that know nothing of them: 400 tables, of which 20 are meant."""
        draw = np.random.default_rng(11)
        wrong = 0
        for _ in range(400):
            letters = draw.integers(0, 10, 200)
            rows = [(f"q{k}", f"L{letters[k]}", int(draw.random() < 0.6)) for k in range(200)]
            wrong += coarser(made("unit target value", rows)) is not None
        assert wrong <= 20 + 3 * 20**0.5

    def test_groups_of_like_ids_are_told_with_their_effect(self):
        note = coarser(grouped(12, 10))
        assert note.n == 12
        assert "--cluster colour takes the 12 of them" in note
        assert "design effect" in note

    @pytest.mark.parametrize(("levels", "name", "named"), [
        (4, "colour", False), (2, "scenario", False), (3, "scenario", True), (12, "scenario", True),
    ])  # fmt: skip
    def test_few_levels_are_strata_unless_the_name_says_more(self, levels, name, named):
        assert (coarser(grouped(levels, 20, name)) is not None) == named

    def test_a_usual_name_does_not_hide_a_larger_effect(self):
        records = grouped(12, 10)
        ids = records.factors["unit"].values()
        pairs = Records.from_columns({"question": [f"{x[:-1]}{int(x[-1]) // 2}" for x in ids]})
        note = coarser(records.with_factors(question=pairs.factors["question"]))
        assert "--cluster colour" in note

    def test_columns_finer_than_units_or_equal_to_them_are_never_named(self):
        rows = [(f"q{k}", e, f"w{k}-{e}", f"h{k}", k % 2) for k in range(20) for e in "123"]
        assert coarser(made("unit repetition question problem value", rows)) is None

    @pytest.mark.parametrize("outer", ["task", "dataset"])
    def test_columns_that_merge_tasks_are_never_named(self, outer):
        rows = [
            (t, f"s{s}", f"q{s}{q}", s % 2) for t in ("t1", "t2") for s in range(8) for q in "12"
        ]
        assert coarser(made(f"{outer} scenario unit value", rows)) is None
        apart = [(t, f"{t}-{s}", *rest) for t, s, *rest in rows]
        assert "--cluster scenario takes the 16" in coarser(
            made(f"{outer} scenario unit value", apart)
        )

    def test_what_is_compared_grouped_by_or_a_condition_is_not_named(self):
        records = grouped(12, 10, "scenario")
        assert coarser(records, by="scenario") is None
        rows = [(f"s{s}", f"q{q}", s % 2) for s in range(4) for q in range(10)]
        assert coarser(made("scenario unit value", rows), levels=("s1", "s2")) is None
        found = score(made("scenario unit value", rows), levels=("s1", "s2"))
        assert not told(found.notes, "coarser")

    def test_a_third_arm_does_not_count_in_the_effect_on_a_difference(self):
        """Two arms whose gap is that of their group; a third would hide it, were it mixed in."""
        rows = [(f"{g}-{k}", f"g{g}", m, v) for g in range(8) for k in range(6)
                for m, v in (("A", g % 2), ("B", 0), ("C", k % 2))]  # fmt: skip
        records = made("unit colour model value", rows)
        with_third = test(records, "A", "B")
        alone = test(records.select(model=["A", "B"]), "A", "B")
        (note,), (other,) = (told(found.notes, "coarser") for found in (with_third, alone))
        assert note == other
        assert told(score(records, levels=("A", "B")).notes, "coarser") == [note]

    def test_a_named_cluster_is_not_argued_with(self):
        assert not told(score(grouped(12, 10), cluster="unit").notes, "coarser")


class TestFates:
    @pytest.mark.parametrize(("column", "bad", "good", "shown"), [
        ("column.status", "timeout", "completed", "column.status=completed"),
        ("result", "failed to run", "ok", "result=ok"),
        ("error", "TimeoutError: read", None, "error=(none)"),
        ("exit_reason", "oom killed", "submitted", "exit_reason=submitted"),
    ])  # fmt: skip
    def test_a_column_that_says_that_trials_failed_to_run_is_told_with_its_cure(
        self, column, bad, good, shown
    ):
        rows = [(f"q{k}", bad if k % 9 == 0 else good, int(k % 9 > 0)) for k in range(45)]
        records = made(f"unit {column} value", rows)
        (note,) = told(cautions_of_table(Scope.of(records)), "fate-column")
        assert note.n == 5
        assert f"--where '{shown}'" in note
        name, _, label = shown.partition("=")
        assert len(selected(records, {name: label})) == 40

    @pytest.mark.parametrize("label", ["right", "wrong", "error rate of 5 %" * 9])
    def test_results_and_replies_are_no_fates(self, label):
        rows = [(f"q{k}", f"{label} {k if len(label) > 9 else ''}", k % 2) for k in range(60)]
        assert not told(cautions_of_table(Scope.of(made("unit result value", rows))), "fate-column")

    def test_a_status_in_our_words_is_used_beside_what_the_reader_found(self):
        """Three errored by the column, of which one has no score; one more that has none."""
        read = ["scored", "scored", "unscored", "scored", "scored", "missing"]
        rows = [(f"q{k}", "errored" if k < 3 else "scored", now, 1 if now == "scored" else None)
                for k, now in enumerate(read)]  # fmt: skip
        found = score(made("unit column.status status value", rows))
        account = found.metrics[0].accounting
        counts = {
            name: account.total(name) for name in ("scored", "errored", "unscored", "missing")
        }
        assert counts == {"scored": 2, "errored": 2, "unscored": 1, "missing": 1}
        (note,) = told(found.notes, "status-column")
        assert note.n == 2


class TestArms:
    def chosen(self, kept, of=60, lost=24):
        rows = [(f"q{k}", "A", int(k >= lost)) for k in range(of)]
        rows += [(f"q{k}", "B", k % 2) for k in kept]
        return told(cautions_of_arms(Scope.of(made("unit model value", rows), levels=("A", "B")),
                                     "A", "B"), "chosen-subset")  # fmt: skip

    def test_an_arm_that_ran_on_what_the_other_failed_is_told(self):
        assert self.chosen(range(24))[0].n == 24
        assert self.chosen(range(24, 60))[0].n == 36
        # Ten of the 24: by chance C(24, 10) / C(60, 10) = 2.6e-5.
        assert self.chosen(range(10))[0].n == 10

    def test_a_subset_that_chance_gives_is_not(self):
        assert not self.chosen(range(20, 40))
        assert not self.chosen(range(60))
        # Five of 24 lost among 30: C(24, 5) / C(30, 5) = 0.30.
        assert not self.chosen(range(5), of=30)

    def test_scales_that_differ_are_told(self):
        rows = [(f"q{k}", m, float(v)) for k in range(9) for m, v in (("A", k % 2), ("B", 10 * k))]
        scope = Scope.of(made("unit model value", rows), levels=("A", "B"))
        assert told(cautions_of_arms(scope, "A", "B"), "scales")
        same = Scope.of(made("unit model value", [(u, m, v / 80) for u, m, v in rows]))
        assert not told(cautions_of_arms(same, "A", "B"), "scales")

    def test_trials_that_stop_at_the_first_success_are_told(self):
        draw = random.Random(4)
        rows, full = [], []
        for k in range(40):
            scores = [int(draw.random() < 0.4) for _ in range(5)]
            full += [(f"q{k}", str(e), v) for e, v in enumerate(scores)]
            end = scores.index(1) + 1 if 1 in scores else 5
            rows += full[-5:][:end]
        (note,) = told(
            cautions_of_table(Scope.of(made("unit repetition value", rows))), "first-success"
        )
        assert note.n == sum(v for *_, v in rows)
        assert not told(
            cautions_of_table(Scope.of(made("unit repetition value", full))), "first-success"
        )

    def test_weights_are_told(self):
        rows = [(f"q{k}", 1.0 + k, k % 2) for k in range(9)]
        assert told(cautions_of_table(Scope.of(made("unit weight value", rows))), "weight-column")


class TestGroups:
    def test_an_empty_name_keeps_all_together(self):
        rows = [(f"r{r}", f"q{k}", (k + r) % 2) for r in range(3) for k in range(6)]
        records = made("source unit value", rows)
        apart, pooled = score(records), score(records, by=[""], pass_k=[2])
        assert (apart.by, pooled.by) == (("source",), ())
        assert told(apart.notes, "files-apart")[0].n == 3
        (passed,) = pooled.metrics[0].pass_k
        # Two of three, or one of three, passed: any of two is 1 or 2/3, all of two 1/3 or 0.
        assert (passed.at[0].value, passed.hat[0].value) == (5 / 6, 1 / 6)

    def test_columns_of_one_level_are_nothing(self):
        rows = [("t", "d", "s", "m", "p", f"q{k}", k % 2) for k in range(9)]
        records = made("task dataset scenario model prompt unit value", rows)
        scope = Scope.of(records, apart=True)
        assert (scope.by, scope.cluster, scope.conditions) == ((), "unit", ())
        assert not cautions_of_table(scope)

    def test_levels_that_no_column_holds_show_those_that_come_near(self):
        rows = [(f"q{k}", t, k % 2) for k in range(4) for t in ("0.0", "0.7")]
        with pytest.raises(InputError, match=r"temperature \(0\.0, 0\.7\)"):
            Scope.of(made("unit temperature value", rows), levels=("0.7", "0"))
