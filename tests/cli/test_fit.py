"""`simtrack fit`: models on a trial table, typed as a user would."""

from __future__ import annotations

import pytest

from simtrack.agents.presets.catalogue import preset_agent
from simtrack.analysis.fit import fit
from simtrack.counts import Factor
from simtrack.design import Design
from simtrack.errors import InputError
from simtrack.inference.models.gee import gee
from simtrack.inference.models.linear_mixed import linear_mixed
from simtrack.inference.models.table import ModelTable
from simtrack.logs import write_trials
from simtrack.records import Records
from simtrack.taxonomy import STAGES

MODELS = ("gpt-5.5", "glm-5.1")


@pytest.fixture(scope="module")
def study() -> Records:
    parts = []
    for name in MODELS:
        agent = preset_agent(f"stageif/{name}")
        drawn = agent.records(Design(12, 10, {"stage": STAGES}), seed=1)
        parts.append(drawn.with_factors(model=Factor.constant(name, len(drawn))))
    return Records.concatenate(parts)


def test_a_named_design_is_fitted_in_each_group_as_the_functions_fit_it(study) -> None:
    found = fit(study, design="stage-gap", models=("gee", "lmm"), by=("model",), cluster="cluster")
    assert [(r.labels, r.model) for r in found.rows] == [
        (("glm-5.1",), "gee"), (("glm-5.1",), "lmm"), (("gpt-5.5",), "gee"), (("gpt-5.5",), "lmm"),
    ]  # fmt: skip
    mine = study.select(model="gpt-5.5")
    counts = mine.counts(cluster="cluster", by=("duty", "stage"))
    from simtrack.estimands import estimand

    clean = estimand("adherence").totals(counts, "stage")
    n, passed = clean.denominator, clean.numerator
    order = [c[0] for c in clean.conditions]
    design = [[1.0, float(stage != "COMPLETED")] for stage in order]
    table = ModelTable.from_arrays(n, passed, design, names=("intercept", "intermediate"))
    for row, function in ((found.rows[2], gee), (found.rows[3], linear_mixed)):
        wanted = function(table).coefficients
        assert row.result.coefficients.names == wanted.names
        # Patterns are pooled in another order, so sums differ in their last digits.
        assert row.result.coefficients.estimate == pytest.approx(wanted.estimate, abs=1e-9)
        assert row.result.coefficients.standard_error == pytest.approx(
            wanted.standard_error, abs=1e-9
        )


def test_text_json_and_reference(simtrack, study) -> None:
    write_trials(study, "s.csv")
    done = simtrack("fit", "s.csv", "--formula", "stage", "--estimand", "adherence", "--model",
                    "glmm", "--by", "model", "--reference", "stage=COMPLETED", "--cluster",
                    "cluster")  # fmt: skip
    assert done.code == 0
    assert "adherence ~ stage; clusters: cluster" in done.out
    assert "stage[POST_OBS]" in done.out
    assert "Averaged over clusters:" in done.out
    assert "random intercept only" in done.out
    again = simtrack("fit", "s.csv", "--formula", "stage", "--estimand", "adherence", "--json",
                     "--cluster", "cluster")  # fmt: skip
    fitted = again.json["fits"][0]
    assert (again.json["schema"], fitted["model"]) == ("simtrack.fit/2", "gee")
    assert fitted["fit"]["coefficients"][0]["name"] == "intercept"


def test_separation_is_said_and_firth_is_the_cure(simtrack) -> None:
    import pathlib

    rows = ["unit,arm,value"]
    rows += [f"u{k % 4},x,{int(k % 3 == 0)}" for k in range(24)]
    rows += [f"u{k % 4},y,1" for k in range(24)]
    pathlib.Path("t.csv").write_text("\n".join(rows) + "\n")
    done = simtrack("fit", "t.csv", "--formula", "arm", "--model", "gee", "--model", "firth",
                    "--json")  # fmt: skip
    assert done.code == 0
    first, second = done.json["fits"]
    assert first["fit"]["status"] == "separated"
    assert first["fit"]["coefficients"][1]["estimate"] is None
    assert first["fit"]["notes"]
    assert second["fit"]["status"] == "converged"
    assert second["fit"]["coefficients"][1]["estimate"] > 0


def test_refusals(simtrack, study) -> None:
    write_trials(study, "s.csv")
    for options, told in (
        ((), "formula must be given, or a design instead"),
        (("--design", "gap"), "design must be one of stage-gap"),
        (("--formula", "stge"), "Did you mean stage?"),
        (("--formula", "stage", "--slope", "stage"), "slope must be given with glmm or lmm"),
        (("--formula", "stage", "--by", "stage"), "by must be of columns that are not in the"),
        (("--formula", "stage", "--estimand", "stage_gap"), "estimand must be a ratio of counts"),
    ):
        done = simtrack("fit", "s.csv", *options, "--cluster", "cluster")
        assert done.code == 2, options
        assert told in done.err, done.err
        assert done.err.count("\n") == 1


def test_numeric_scores_are_fitted_by_a_linear_model() -> None:
    rows = {"unit": ["a", "a", "b", "b", "c", "c"] * 2, "arm": ["x", "y"] * 6,
            "value": [0.2, 0.5, 0.1, 0.6, 0.4, 0.4, 0.3, 0.5, 0.2, 0.7, 0.3, 0.6]}  # fmt: skip
    found = fit(Records.from_columns(rows), "arm", models=("lmm",))
    assert found.what == "mean score"
    assert found.rows[0].result.coefficients.estimate[1] == pytest.approx(0.3)
    with pytest.raises(InputError, match=r"0 and 1|0/1|binary"):
        fit(Records.from_columns(rows), "arm", models=("gee",))


def test_two_kinds_of_clusters_and_refits_without_each(simtrack, study) -> None:
    write_trials(study, "s.csv")
    done = simtrack("fit", "s.csv", "--design", "pooled-stage-gap", "--model", "two-way", "--model",
                    "gee", "--crossed", "model", "--cluster", "cluster", "--leave-one-out",
                    "--json")  # fmt: skip
    assert done.code == 0
    both, equations = done.json["fits"]
    assert both["fit"]["groups"] == [12, 2, 24]
    refits = equations["leave_one_out"]["without"]
    assert [r["cluster"] for r in refits] == [str(k + 1) for k in range(12)]
    part = study.take(study.factors["cluster"].codes != 4)
    alone = fit(part, design="pooled-stage-gap", cluster="cluster").rows[0].result.coefficients
    assert refits[4]["estimate"] == pytest.approx(alone.estimate.tolist(), abs=1e-9)
    text = simtrack("fit", "s.csv", "--design", "pooled-stage-gap", "--cluster", "cluster",
                    "--leave-one-out")  # fmt: skip
    assert "Without each cluster in turn:" in text.out
    lacking = simtrack("fit", "s.csv", "--formula", "stage", "--model", "two-way", "--cluster",
                       "cluster")  # fmt: skip
    assert lacking.code == 2
    assert "crossed must be given for two-way" in lacking.err


def test_firth_shows_profile_intervals_and_errors_by_cluster(simtrack) -> None:
    import pathlib

    rows = [f"u{k % 6},{arm},{int((k * 7 + k % 6) % (3 if arm == 'x' else 4) > 0)}"
            for k in range(36) for arm in "xy"]  # fmt: skip
    pathlib.Path("t.csv").write_text("unit,arm,value\n" + "\n".join(rows) + "\n")
    done = simtrack("fit", "t.csv", "--formula", "arm", "--model", "firth", "--json")
    fitted = done.json["fits"][0]["fit"]
    text = simtrack("fit", "t.csv", "--formula", "arm", "--model", "firth").out
    assert f"{fitted['coefficients'][1]['profile_low']:.4f}" in text
    assert f"{fitted['clustered'][1]['high']:.4f}" in text
    assert text.count("firth, clustered") == 2


def test_separated_patterns_have_no_clustered_error() -> None:
    rows = {"unit": [f"u{k % 4}" for k in range(24)] * 2, "arm": ["x"] * 24 + ["y"] * 24,
            "value": [int(k % 3 == 0) for k in range(24)] + [1] * 24}  # fmt: skip
    found = fit(Records.from_columns(rows), "arm", models=("firth",)).rows[0].result
    assert found.clustered.rows()[1]["standard_error"] is None
    assert found.clustered.rows()[1]["estimate"] == found.coefficients.rows()[1]["estimate"]
    assert any("no clustered error" in note for note in found.notes)


def test_equal_ids_of_different_tasks_are_different_clusters() -> None:
    rows = {"unit": ["1", "1", "2", "2", "3", "3"] * 2, "task": ["t"] * 6 + ["u"] * 6,
            "arm": ["x", "y"] * 6, "model": ["m", "m", "n", "n", "n", "m"] * 2,
            "value": [0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1]}  # fmt: skip
    found = fit(Records.from_columns(rows), "arm", models=("lmm",))
    assert found.cluster == "task/unit"
    assert len(found.rows[0].table.clusters) == 6
    assert any(note.startswith("taken together, over model: m, n") for note in found.notes)


@pytest.fixture
def passes() -> str:
    """Write two models, twelve tasks, three repetitions."""
    import pathlib

    rows = [f"t{t},{model},{int((7 * t + 3 * r + k) % 5 > 1 + k)}" for k, model in enumerate("ab")
            for t in range(12) for r in range(3)]  # fmt: skip
    pathlib.Path("a.csv").write_text("task,model,passed\n" + "\n".join(rows) + "\n")
    return "a.csv"


@pytest.fixture
def scored(simtrack, logs) -> str:
    log = str(logs / "stage_replies.eval")
    assert simtrack("score", log, "--scheme", "stageif", "-o", "scored.csv").code == 0
    return "scored.csv"


def test_left_of_the_tilde_stands_the_score_or_nothing(simtrack, passes) -> None:
    given = ("--cluster", "task", "--json")
    plain = simtrack("fit", passes, "--formula", "model", *given)
    for left in ("", "rate", "value", "passed"):
        done = simtrack("fit", passes, "--formula", f"{left} ~ model", *given)
        assert done.code == 0, done.err
        assert done.json["fits"] == plain.json["fits"]
    mapped = simtrack("fit", passes, "--formula", "passed~model", "--map", "value=passed", *given)
    assert mapped.code == 0
    for left in ("nonsense", "model", "passed ~ passed"):
        done = simtrack("fit", passes, "--formula", f"{left} ~ model", *given)
        assert done.code == 2
        assert "empty left of ~, or name the score there (rate, value, passed)" in done.err
        assert done.err.count("\n") == 1


def test_an_estimand_may_stand_left_of_the_tilde(study) -> None:
    for left in ("", "adherence ~ "):
        found = fit(study, f"{left}stage", estimand="adherence", cluster="cluster")
        assert found.what == "adherence"


def test_the_example_of_the_help_runs_on_a_scored_table(simtrack, scored) -> None:
    import shlex

    text = simtrack("fit", "--help").out
    at = text.index("simtrack fit scored.csv")
    first, second = text[at:].splitlines()[:2]
    assert first.endswith("\\")
    words = shlex.split(f"{first[:-1]} {second}")
    done = simtrack(*words[1:])
    assert done.code == 0, done.err
    assert "clusters: scenario" in done.out
    done = simtrack("fit", scored, "--design", "stage-gap", "--by", "model")
    assert done.code == 2
    assert "--where view=strict" in done.err
    whole = [w for w in words[1:] if w not in ("--where", "view=strict")]
    both = simtrack(*whole, "--by", "view")
    assert both.code == 0, both.err


def test_a_slope_is_a_coefficient_or_a_column_that_has_one(simtrack, passes, scored) -> None:
    two = ("--model", "lmm", "--model", "glmm", "--json")
    given = (passes, "--formula", "model", "--cluster", "task", *two)
    by_name, by_column = (simtrack("fit", *given, "--slope", s) for s in ("model[b]", "model"))
    assert by_column.code == 0, by_column.err
    assert by_column.json == by_name.json
    given = (scored, "--design", "stage-gap", "--where", "view=strict", "--cluster", "scenario")
    named, natural = (
        simtrack("fit", *given, *two, "--slope", s) for s in ("intermediate", "stage")
    )
    assert natural.code == 0, natural.err
    assert natural.json == named.json
    done = simtrack("fit", *given, "--model", "lmm", "--slope", "model")
    assert done.code == 2
    assert "slope must be one of intermediate, got 'model'" in done.err
    done = simtrack("fit", passes, "--formula", "model", "--model", "lmm", "--slope",
                    "--leave-one-out")  # fmt: skip
    assert done.code == 2
    assert "--slope must be followed by its value, got the option --leave-one-out" in done.err


def test_a_slope_of_a_column_with_three_levels_names_its_coefficients(study) -> None:
    given = {"estimand": "adherence", "models": ("lmm",), "cluster": "cluster"}
    with pytest.raises(InputError, match=r"one of stage\[.*stage has 3 coefficients"):
        fit(study, "stage + model", slope="stage", **given)
    with pytest.raises(InputError, match=r"one of stage\[.*model\[gpt-5.5\], got 'arm'"):
        fit(study, "stage + model", slope="arm", **given)


def test_coarser_clusters_are_told_where_none_are_named(simtrack, scored) -> None:
    given = ("fit", scored, "--design", "stage-gap", "--where", "view=strict", "--json")

    def told(done):
        return [n["text"] for n in done.json["notes"] if n["text"].startswith("clusters are units")]

    notes = told(simtrack(*given))
    assert len(notes) == 1
    assert "scenario" in notes[0]
    assert not told(simtrack(*given, "--cluster", "scenario"))
    assert not told(simtrack(*given, "--cluster", "unit"))


def test_columns_that_hold_several_units_are_coarser() -> None:
    rows = {"unit": [f"u{k // 2}" for k in range(12)], "arm": ["x", "y"] * 6,
            "author": [f"w{k // 4}" for k in range(12)], "sort": ["s", "t"] * 6,
            "value": [0, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1]}  # fmt: skip
    notes = fit(Records.from_columns(rows), "arm").notes
    assert notes == ("clusters are units; name coarser ones with --cluster (there are: author)",)
    assert not fit(Records.from_columns(rows), "arm", cluster="author").notes


def test_refusals_speak_of_what_was_typed(simtrack, passes) -> None:
    for options, told in (
        (("--design", "stage-gap"), "design stage-gap needs the column stage"),
        (("--design", "stagegap"), "Did you mean stage-gap?"),
        (("--formula", "task"), "formula must be of columns other than the clusters, which are "),
        (("--formula", "model", "--crossed", "task", "--model", "two-way"),
         "crossed must be other than the clusters"),
        (("--formula", "model +"), "got 'model +' (it ends in +)"),
    ):  # fmt: skip
        done = simtrack("fit", passes, *options, "--cluster", "task")
        assert done.code == 2, options
        assert told in done.err, done.err
        assert done.err.count("\n") == 1
