"""Every row of the catalogue stands where its page says, and no command loads what it needs not."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from simtrack.analysis.catalogue import METHODS, WHERE, find_method, method_for, register
from simtrack.answer import Answer
from simtrack.counts import Totals
from simtrack.errors import InputError
from simtrack.method import Ask, Layout, Method

#: Rows that no verb asks for by name.
UNASKED = {"share-with-failures", "repeated-looks", "beta-binomial-bound"}


def test_every_row_is_found_where_the_page_says_and_no_module_has_others():
    there = {name: import_module(f"simtrack.{module}").METHODS for name, module in WHERE.items()}
    assert [n for n, rows in there.items() if n not in {row.name for row in rows}] == []
    every = {row.name: WHERE.get(row.name) for rows in there.values() for row in rows}
    assert [name for name, module in every.items() if module is None] == []
    assert list(METHODS) == list(WHERE)
    assert [n for n, m in METHODS.items() if m.name != n] == []


def test_one_method_is_had_without_the_others():
    others = [f"simtrack.inference.{room}" for room in
              ("agreement", "bayes", "models", "resampling", "sequential")]  # fmt: skip
    code = (
        "import sys; from simtrack.analysis.catalogue import METHODS; METHODS['wilson-guarded']; "
        f"print([m for m in sys.modules if m.startswith(('scipy', 'numba', *{others}))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_stands_for_one_method():
    with pytest.raises(InputError, match="there is one of that name"):
        register(
            Method("wilson", "rate", "-", "-", "closed-form", "asymptotic", "-", verb="nowhere")
        )
    register(METHODS["wilson"])  # the same again changes nothing


def test_what_is_unknown_or_of_another_command_is_refused_with_the_way():
    with pytest.raises(InputError, match=r"got 'wilsn'. Did you mean wilson\?"):
        find_method("wilsn")
    with pytest.raises(
        InputError, match=r"'wilson' \(topic rate\). It is asked for by simtrack score"
    ):
        method_for("test --method", "wilson")


def test_rows_that_no_verb_asks_for_say_why():
    without = {name for name, m in METHODS.items() if not m.command}
    assert without == UNASKED
    assert [n for n in without if not METHODS[n].unasked] == []


@pytest.mark.parametrize("ends", [(0.3, 0.3), (0.2, 0.4)])
@pytest.mark.parametrize("se", [0.0, 0.1, None])
def test_no_method_shows_an_interval_without_width_or_hides_an_error_of_0(ends, se):
    row = Method("made", "rate", "-", "-", "closed-form", "asymptotic", "-",
                 answer=lambda layout, ask: Answer(0.3, *ends, extra={"se": se}))  # fmt: skip
    found = row.one(Layout.of_totals(Totals.from_arrays([1, 2], [4, 4])), Ask())
    flat = ends[0] == ends[1]
    assert ((found.low, found.high) == (None, None)) == flat
    assert any(note.code == "flat" for note in found.notes) == (flat or se == 0.0)


def test_options_sides_and_terms_are_checked_before_any_method_runs():
    one = Layout.of_totals(Totals.from_arrays([1, 2], [4, 4]))
    with pytest.raises(InputError, match=r"option must be one that wilson takes \(side\)"):
        METHODS["wilson"].one(one, Ask(options={"icc": 0.1}))
    with pytest.raises(InputError, match="two-sided for wilson, which has no p-value"):
        METHODS["wilson"].one(one, Ask(alternative="less"))
    with pytest.raises(InputError, match="contrast of two terms, first minus second, for katz"):
        METHODS["katz"].one(one, Ask())
    with pytest.raises(InputError, match="Use simtrack test --adjust"):
        METHODS["holm"].one(one, Ask())
