"""The index of reference checks says what is there: methods, data sets, sources and tests."""

from __future__ import annotations

import ast
import csv
from collections import Counter
from functools import cache
from pathlib import Path

from simtrack.analysis import METHODS

ROOT = Path(__file__).resolve().parents[2]
INDEX = Path(__file__).with_name("index.csv")
LEAST, MOST_OF_ONE_METHOD = 100, 6
#: What is checked, is no method by itself in the catalogue, and why it stands apart.
EXTRAS = {
    "bootstrap-standard-error": "the spread of the law, which every bootstrap interval states",
    "design-effect": "what clusters of unequal size do to an effective number of trials",
    "gauss-hermite": "the nodes that every mixed logistic model is integrated on",
    "group-mean": "the mean over groups with the error of its own weights",
    "koopman": "miettinen-nurminen-ratio without its factor N/(N-1), as published by itself",
    "linear-mixed-likelihood": "what linear-mixed maximises, against dense matrices",
    "linear-mixed-satterthwaite": "the degrees of freedom of linear-mixed",
    "logistic-normal-mean": "what averages a conditional effect over clusters",
    "mee": "miettinen-nurminen without its factor N/(N-1), as published by itself",
    "sign-flip-many": "the compiled sign-flip test of many rows, which shares no code with the one",
}


def rows() -> list[dict[str, str]]:
    with INDEX.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def functions(test: str) -> dict[str, str]:
    """The test functions of the file of `file::name`, with their text and decorators."""
    return _functions(test.partition("::")[0])


@cache
def _functions(file: str) -> dict[str, str]:
    text = (ROOT / file).read_text(encoding="utf-8")
    return {
        node.name: "\n".join(ast.unparse(part) for part in [*node.decorator_list, node])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_there_are_a_hundred_checks_none_twice_and_no_method_more_than_six_times():
    pairs = Counter((row["method"], row["data_set"]) for row in rows())
    assert [pair for pair, times in pairs.items() if times > 1] == []
    assert len(pairs) >= LEAST
    methods = Counter(method for method, _ in pairs)
    assert {m: n for m, n in methods.items() if n > MOST_OF_ONE_METHOD} == {}


def test_rows_are_whole_and_sorted():
    found = [tuple(row.values()) for row in rows()]
    assert {len(row) for row in found} == {4}
    assert [row for row in found if not all(cell and cell == cell.strip() for cell in row)] == []
    assert found == sorted(found, key=lambda row: row[:3])
    assert not list(INDEX.parent.glob("index_*.csv"))


def test_the_test_of_every_check_exists_and_runs_everywhere():
    """A test that is skipped where a library or the study material is absent proves nothing."""
    named = {row["test"] for row in rows()}
    texts = {test: functions(test).get(test.partition("::")[2], "") for test in named}
    assert [test for test, text in texts.items() if not text] == []
    skips = ("importorskip", "mark.shared", "mark.slow", "skipif")
    assert [test for test, text in texts.items() if any(s in text for s in skips)] == []


def test_methods_are_those_of_the_catalogue_and_each_has_a_check():
    checked = {row["method"] for row in rows()}
    assert checked - set(METHODS) == set(EXTRAS)
    assert set(METHODS) - checked == set()
