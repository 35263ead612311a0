"""Documents with any part replaced by anything: read, or refused in one line; never a crash."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.errors import SimtrackError
from simtrack.ledger import (
    Ledger,
    Slices,
    Violation,
    ablate,
    compile_ledger,
    diagnose,
    example_ledger,
    example_tasks,
    keep,
    make_slices,
    promote,
    read_tasks,
    report_back,
    screen_ledger,
    screen_slices,
)
from simtrack.ledger.tasks import tasks_document

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6) | st.sampled_from(["tests", "audit_log", "control", " ", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=5,
)  # fmt: skip


def ledger_document():
    ledger = keep(promote(diagnose(example_ledger(), "tests", "dead", "0.1"), "tests"))
    ledger = ledger.replace(6, "stdlib", "own", "Use the standard library.", "stdlib")
    return report_back(ledger, "own", [Violation("relapsed", "sanitize_args")]).to_dict()


DOCUMENTS = {
    "ledger": ledger_document(),
    "slices": make_slices(example_tasks()[:1], seed=7, load=2).to_dict(),
    "tasks": tasks_document(example_tasks()),
}


def places(data, path=()):
    """Every path in plain data."""
    yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for key, value in enumerate(data):
            yield from places(value, (*path, key))


def changed(data, path, value):
    if not path:
        return value
    out = copy.deepcopy(data)
    inner = out
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return out


def use(kind, text):
    """Read a document and, where it is read, do everything with it."""
    if kind == "tasks":
        make_slices(read_tasks(text), seed=1, load=2)
    elif kind == "slices":
        found = Slices.from_json(text)
        assert Slices.from_json(found.to_json()) == found
        screen_slices(found)
    else:
        ledger = Ledger.from_json(text)
        assert Ledger.from_json(ledger.to_json()) == ledger
        compile_ledger(ledger, 3)
        screen_ledger(ledger)
        for clause in ledger.in_force():
            ablate(ledger, clause.id)


@pytest.mark.parametrize("kind", list(DOCUMENTS))
@settings(max_examples=150)
@given(st.data())
def test_any_part_may_be_anything(kind, data):
    document = DOCUMENTS[kind]
    path = data.draw(st.sampled_from(list(places(document))))
    message = refusal(kind, json.dumps(changed(document, path, data.draw(ANYTHING))))
    assert "\n" not in message
    assert len(message) < 400


def refusal(kind, text) -> str:
    try:
        use(kind, text)
    except SimtrackError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", list(DOCUMENTS))
def test_the_documents_themselves_are_sound(kind):
    use(kind, json.dumps(DOCUMENTS[kind]))
