"""Every method of the catalogue is asked for by its command, and answers with a number."""

from __future__ import annotations

import json
import random
import shlex

import pytest

from simtrack.analysis.catalogue import METHODS

#: Rows whose design differs from paired units with repetitions.
APART = ("permutation", "miettinen-nurminen")
ONE_OUTCOME = ("rule-of-three", "zero-bound")
#: Quadratures of seconds get four clusters.
SLOW = ("hierarchical-logit", "hierarchical-slope")
OPTIONS = {"hierarchical-slope": "--option slope_scale=0.5"}
NEEDS = {"slope": "--slope model", "crossed": "--crossed kind", "": ""}
MODELS = {"linear-mixed-slope": "slope", "logistic-mixed-slope": "slope",
          "logistic-mixed-crossed": "crossed", "two-way": "crossed"}  # fmt: skip
COMMANDS = {
    "sensitivity": "score paired.csv --by model --sensitivity",
    "pass-at-k": "score paired.csv --by model --pass-k 1,2",
    "pass-hat-k": "score paired.csv --by model --pass-k 1,2",
    "leave-one-out": "fit paired.csv --formula model --model lmm --leave-one-out",
    "separation": "fit flat.csv --formula model --model gee",
    "e-process": "monitor singles.csv --null 0.5",
    "group-sequential": "monitor singles.csv --null 0.5 --planned 60 --looks 2",
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    where = tmp_path_factory.mktemp("every")
    draw = random.Random(7)
    heads = "id,model,repetition,group,kind,score\n"

    def write(name, rows):
        text = heads + "".join(",".join(map(str, row)) + "\n" for row in rows)
        (where / name).write_text(text, encoding="utf-8")

    def trials(units, models, apart=False):
        for k in range(units):
            level = draw.betavariate(3, 2)
            for m in (models[k % 2],) if apart else models:
                for t in range(4):
                    chance = min(0.95, level + (0.25 if m == "x" else 0.0))
                    yield (f"q{k:02}", m, t, f"g{k % 3}", f"k{k % 4}", int(draw.random() < chance))

    write("paired.csv", trials(16, ("x", "y")))
    write("apart.csv", trials(16, ("x", "y"), apart=True))
    write("few.csv", trials(4, ("x", "y")))
    write("none.csv", [(f"q{k}", "x", 0, "g", "k", 0) for k in range(12)])
    write("flat.csv", [(f"q{k}", m, t, "g", "k", int(m == "x" or k % 2))
                       for k in range(8) for m in "xy" for t in range(3)])  # fmt: skip
    write("singles.csv", [(f"q{k}", "x", 0, "g", "k", int(draw.random() < 0.8))
                          for k in range(60)])  # fmt: skip
    return where


def command_for(name):
    command = METHODS[name].command
    table = "few.csv" if name in SLOW else "paired.csv"
    if name in COMMANDS:
        return COMMANDS[name]
    if command == "score --method":
        table = "none.csv" if name.startswith(ONE_OUTCOME) else table
        return f"score {table} --method {name} --by model"
    if command == "test --method":
        table = "apart.csv" if name.startswith(APART) else table
        strata = "--strata group" if METHODS[name].strata == "must" else ""
        return f"test {table} --compare x y --method {name} {strata} {OPTIONS.get(name, '')}"
    if command == "test --adjust":
        return f"test paired.csv --compare x y --by kind --level 0.5 --adjust {name}"
    if command == "monitor --method":
        return f"monitor singles.csv --method {name}"
    assert command == "fit --model"
    return f"fit paired.csv --formula model --model {name} {NEEDS[MODELS.get(name, '')]}"


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if m.command])
def test_it_is_asked_for_by_its_command_and_answers(name, tables, simtrack, monkeypatch):
    monkeypatch.chdir(tables)
    command = command_for(name)
    assert command.startswith(METHODS[name].command.split(" ")[0])
    assert METHODS[name].command.split(" ")[-1] in command
    done = simtrack(*shlex.split(command), "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    verb = command.split(" ")[0]
    if verb == "score":
        (part,) = found["metrics"]
        rows = part["estimates"]["rows"]
        if name.startswith("pass"):
            rows = part["pass_k"][0]["pass_at_k" if name == "pass-at-k" else "pass_hat_k"]
            assert rows[0]["value"] is not None
        if name == "sensitivity":
            assert part["sensitivity"] is not None
        assert all(row["low"] is not None or "bf10" in row for row in rows)
    elif verb == "test":
        for row in found["rows"]:
            assert not row["refused"], row["refused"]
            assert row["difference"] is not None
            told = (row["low"], row["pvalue"], row.get("bf10"), row.get("log_bf10"))
            assert any(value is not None for value in told)
        if name in ("holm", "max-t"):
            assert all(row["adjusted"] >= row["pvalue"] for row in found["rows"])
        if METHODS[name].topic not in ("multiplicity",):
            assert found["method"] == name
    elif verb == "fit":
        (fitted,) = found["fits"]
        if name == "separation":
            assert fitted["fit"]["status"] == "separated"
        elif name == "leave-one-out":
            assert fitted["leave_one_out"]
        else:
            assert fitted["model"] == name
            assert fitted["fit"]["status"] in ("converged", "singular")
    else:
        assert found["sequence"]["low"][-1] > 0.4
        assert name != "e-process" or found["evidence"]["rejected_at"] is not None
        assert name != "group-sequential" or found["looks"]
    text = simtrack(*shlex.split(command))
    assert text.code == 0
    assert text.out


def test_rows_without_a_command_are_told_with_the_reason(simtrack):
    for name, method in METHODS.items():
        if not method.command:
            told = "".join(simtrack("methods", name).out.split())
            assert method.unasked.replace(" ", "") in told
