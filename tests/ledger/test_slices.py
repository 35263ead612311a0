"""Slices: the paper's anatomy and counts, nested draws, and pools that may grow."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import DataError, InputError
from simtrack.ledger import (
    FILLERS,
    MARKERS,
    Clause,
    Pool,
    Slices,
    Task,
    compile_ledger,
    example_tasks,
    make_slices,
    read_tasks,
    screen_slices,
)

TASK = Task("t1", "Reverse a text.", "flip", "def flip(text):\n    return text[::-1]\n")
GOLD = [Task(f"HumanEval/{k}", "Reverse a text.", f"flip_{k}", "return s[::-1]") for k in range(67)]


def roles(one):
    return [turn.role for turn in one.turns]


def test_the_anatomy_of_the_three_conditions():
    immediate, delayed, control = make_slices([TASK], seed=7, load=2, delay=3).slices
    block = ["task", "marker", "marker"]
    assert roles(immediate) == [*block, "revocation", *["auxiliary"] * 3]
    assert roles(delayed) == [*block, *["auxiliary"] * 3, "revocation"]
    assert roles(control) == [*block, *["auxiliary"] * 3]
    assert [one.revoked for one in (immediate, delayed)] == [delayed.markers[1]] * 2
    assert control.revoked is None
    assert [one.depth for one in (immediate, delayed, control)] == [3, 0, None]
    # The same turns but for the revocation.
    others = [[t for t in one.turns if t.role != "revocation"] for one in (immediate, delayed)]
    assert others == [list(control.turns)] * 2
    assert delayed.revoked in delayed.turns[-1].text
    for marker, turn in zip(delayed.markers, delayed.turns[1:3], strict=True):
        assert marker in turn.text


@pytest.mark.parametrize("load", [2, 5, 8])
def test_the_counts_of_the_paper(load):
    # 67 tasks: 201 slices, 134 of them with a revocation, 201 base clauses; 0/201 leak.
    found = make_slices(GOLD, seed=7, load=load)
    assert len(found.slices) == 201
    assert sum(one.revoked is not None for one in found.slices) == 134
    assert sum(len(task.requirements) for task in GOLD) == 201
    assert all(len(set(one.markers)) == load for one in found.slices)
    assert (screen_slices(found).units_with_leaks, screen_slices(found).units) == (0, 201)


def test_the_pool_of_the_paper_has_five_and_three():
    assert [len(generation) for generation in MARKERS.generations] == [5, 3]
    assert MARKERS.generations[0] == (
        "audit_log", "sanitize_args", "verify_bounds", "helper_check", "validate_input",
    )  # fmt: skip


def test_draws_are_frozen():
    # Drawn once under the stream scheme simtrack/1; a change here changes scripts that were sent.
    drawn = MARKERS.draw(8, seed=7, purpose="marker", task="HumanEval/48")
    assert drawn == (
        "verify_bounds", "audit_log", "sanitize_args", "helper_check", "validate_input",
        "trace_calls", "restore_defaults", "prepare_report",
    )  # fmt: skip
    assert FILLERS.draw(2, seed=7, purpose="filler", task="HumanEval/48") == (
        "Avoid abbreviations in comments.",
        "Sort the imports alphabetically.",
    )


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.integers(0, 2**63 - 1),
    st.text("abc/0", min_size=1, max_size=5),
)
def test_a_growing_pool_keeps_every_draw(old, new, seed, task):
    names = (f"m{k}" for k in itertools.count())
    pool = Pool(*([next(names) for _ in range(n)] for n in old))
    grown = pool
    for n in new:
        grown = grown.extended([next(names) for _ in range(n)])
    assert grown.extends(pool)
    assert not pool.extends(grown)
    size = sum(old)
    before = [pool.draw(n, seed=seed, purpose="p", task=task) for n in range(size + 1)]
    after = [grown.draw(n, seed=seed, purpose="p", task=task) for n in range(size + 1)]
    assert before == after
    assert all(long[: len(short)] == short for short, long in itertools.pairwise(before))
    assert sorted(before[-1]) == sorted(pool.names)


def test_scripts_stay_byte_for_byte_when_pools_tasks_loads_and_depths_grow():
    def script(one):
        return json.dumps(one.to_dict()).encode()

    small = make_slices(example_tasks()[:1], seed=7, load=5, markers=Pool(MARKERS.generations[0]))
    wide = make_slices(
        [*example_tasks(), TASK],
        seed=7,
        load=5,
        markers=MARKERS.extended(["load_settings"]),
        fillers=FILLERS.extended(["Spell out all numbers."]),
    )
    assert [script(one) for one in small.slices] == [script(one) for one in wide.slices[:3]]
    more = make_slices(example_tasks(), seed=7, load=8)
    for one, other in zip(small.slices, more.slices[:3], strict=True):
        assert other.markers[:5] == one.markers
        assert other.revoked == one.revoked
    deep = make_slices(example_tasks(), seed=7, load=5, depth=8)
    for one, other in zip(small.slices, deep.slices[:3], strict=True):
        assert other.turns[: len(one.turns)] == one.turns
        assert len(other.turns) == len(one.turns) + 8


def test_every_order_is_drawn_about_equally_often():
    # 6 orders of 3 names over 6,000 tasks: mean 1,000, SD 28.9; five SD are one chance in 10^5
    # for six cells, and the seed is fixed.
    pool = Pool(["a", "b", "c"])
    orders = Counter(pool.draw(3, seed=1, purpose="p", task=str(k)) for k in range(6000))
    assert len(orders) == 6
    assert all(abs(n - 1000) < 5 * 28.9 for n in orders.values())


def test_markers_and_fillers_of_a_task_are_drawn_apart():
    pool = Pool([f"m{k}" for k in range(12)])
    draws = [pool.draw(12, seed=7, purpose=p, task="t") for p in ("marker", "filler")]
    assert draws[0] != draws[1]
    assert draws[0] != pool.draw(12, seed=8, purpose="marker", task="t")
    assert draws[0] != pool.draw(12, seed=7, purpose="marker", task="u")


def test_the_ledger_of_a_slice_compiles_without_the_revoked_marker():
    for one in make_slices([TASK], seed=7).slices:
        ledger = one.ledger()
        numbered = [clause.id for clause in compile_ledger(ledger).clauses]
        left = [name for name in one.markers if name != one.revoked]
        assert numbered == ["tests", "entry", "stdlib", *left]
        assert [stone.clause for stone in ledger.tombstones] == [one.revoked] * bool(one.revoked)
        before = len(one.turns) - 1 - (one.depth or 0) - 1
        if one.revoked:
            assert one.revoked in {clause.id for clause in ledger.in_force(before)}


def test_a_statement_in_code_keeps_its_lines():
    task = Task("t", "def f(x):\n    ...\n", "f", requirements=(Clause("a", "Use tabs.", "tabs"),))
    assert make_slices([task], seed=7).slices[0].turns[0].text == (
        "def f(x):\n    ...\n\nUse tabs."
    )


def test_a_marker_s_clause_is_what_its_turn_says():
    data = make_slices([TASK], seed=7, load=2, conditions=["control"]).to_dict()
    data["slices"][0]["turns"][2]["text"] = "And validate_input, please."
    ledger = Slices.from_dict(data).slices[0].ledger()
    assert ledger.clause("validate_input").text == "And validate_input, please."
    assert ledger.clause("helper_check").text == (
        "Define an extra function helper_check; its body may be empty."
    )


def test_slices_are_read_back_as_they_were():
    found = make_slices(example_tasks(), seed=7, depth=2)
    assert Slices.from_json(found.to_json()) == found
    own = Task("t", "S", "f", requirements=(Clause("tabs", "Use tabs.", "tabs"),))
    again = Slices.from_json(make_slices([own], seed=1).to_json())
    assert again.tasks == (own,)


def test_tasks_are_read_in_three_forms():
    whole = json.dumps({"tasks": [TASK.to_dict()]})
    lines = "\n".join(json.dumps(task.to_dict()) for task in example_tasks())
    human = json.dumps(
        {"task_id": "HumanEval/0", "prompt": "def f():", "entry_point": "f",
         "canonical_solution": "    return 1\n", "test": "assert f() == 1"}
    )  # fmt: skip
    assert read_tasks(whole) == (TASK,)
    assert read_tasks(lines) == example_tasks()
    assert read_tasks(human) == (Task("HumanEval/0", "def f():", "f", "    return 1\n"),)
    assert len(read_tasks(f"{human}\n{human.replace('/0', '/1')}\n")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"tasks": []}', "There is no task. Give at least one."),
        ('{"tasks": [{"id": "a"}]}', "tasks[0].statement is missing."),
        ('{"tasks": [{"id": "a", "statement": "S", "entry_point": "no name"}]}',
         "tasks[0].entry_point must be a Python name, got 'no name'."),
        ('{"id": "a", "statement": "S", "entry_point": 3}', "tasks[0].entry_point must be"),
        ('{"tasks": [{"id": "a", "statement": "S", "entrypoint": "f"}]}',
         "tasks[0].entrypoint is not a field here. Did you mean entry_point?"),
        ('{"id": "a", "statement": "S", "entry_point": "f"}\n{"id": "b"}',
         "tasks[1].statement is missing."),
        ('{"id": "a", "statement": "S", "entry_point": "f"}\n'
         '{"id": "a", "statement": "S", "entry_point": "f"}',
         "tasks must have distinct ids, got 'a' twice."),
        ("", "The document is not valid JSON"),
        ("[]", "The document must be a JSON object, got []."),
    ],
    ids=range(9),
)  # fmt: skip
def test_bad_tasks_are_refused_by_name(text, message):
    with pytest.raises((DataError, InputError)) as caught:
        read_tasks(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"load": 1}, "load must be an integer from 2 to 8, got 1."),
        ({"load": 9}, "load must be an integer from 2 to 8, got 9."),
        ({"delay": 0}, "delay must be an integer from 1 to 12, got 0."),
        ({"depth": 12}, "depth must be an integer from 0 to 11, got 12."),
        ({"seed": -1}, "seed must be an integer"),
        ({"conditions": ["late"]}, "conditions must be one of immediate, delayed, control"),
        ({"conditions": []}, "conditions must be at least one, each of them once, got none."),
        ({"conditions": ["control"] * 2}, "conditions must be at least one, each of them once"),
        ({"markers": Pool(["a b", "c"]), "load": 2}, "markers must be Python names"),
        ({"markers": Pool(["class", "c"]), "load": 2}, "markers must be Python names"),
        ({"markers": Pool(["flip", "c"]), "load": 2}, "markers must be other names than entry"),
    ],
    ids=range(11),
)
def test_bad_options_are_refused(change, message):
    with pytest.raises(InputError) as caught:
        make_slices([TASK], **{"seed": 7, **change})
    assert str(caught.value).startswith(message)


def test_bad_pools_are_refused():
    for generations in ([], [[]], [["a"], []]):
        with pytest.raises(InputError, match="pool must be generations of at least one name"):
            Pool(*generations)
    with pytest.raises(InputError, match="pool must be made of distinct names, got 'a'"):
        Pool(["a"], ["b", "a"])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("slices", 0, "condition"), "late", "slices[0].condition must be one of immediate"),
        (("slices", 0, "task"), "gone", "slices[0].task must be one of t1, got 'gone'."),
        (("slices", 0, "revoked"), None, "slices[0].revoked must be given but for the control"),
        (("slices", 0, "revoked"), "other", "slices[0].revoked must be one of"),
        (("slices", 1, "turns", 2, "role"), "aside", "slices[1].turns[2].role must be one of"),
        (("slices", 1, "turns", 2, "text"), "", "slices[1].turns[2].text must be a text"),
        (("slices", 1, "id"), "t1:immediate:m5", "slices must have distinct ids"),
        (("slices", 1, "markers"), ["audit_log"], "slices[1].revoked must be one of audit_log"),
        (("slices", 2, "markers"), [], "slices[2].turns must be made with 0 of role marker"),
        (("slices", 1, "turns", 6, "role"), "revocation", "slices[1].turns must be made with 1"),
        (("slices", 2, "turns", 1, "role"), "task", "slices[2].turns must be made with 5"),
        (("markers", 0), "audit_log", "markers[0] must be a list"),
        (("seed",), "x", "seed must be an integer"),
        (("load",), None, "load must be an integer"),
        (("schema",), "simtrack.slices/0", "schema must be 'simtrack.slices/1'"),
    ],
    ids=range(15),
)
def test_bad_slices_are_refused_by_name(path, value, message):
    data = make_slices([TASK], seed=7).to_dict()
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises((DataError, InputError)) as caught:
        Slices.from_json(json.dumps(data))
    assert str(caught.value).startswith(message)
