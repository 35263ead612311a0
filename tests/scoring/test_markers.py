"""The marker reader against the rule written out again, line by line, and against long blanks."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtrack.scoring import Marker
from simtrack.scoring.stageif.score import stripped

#: A reply of a hundred thousand blanks takes some milliseconds if its cost is linear, and minutes
#: if it is quadratic: the bound tells these apart on any machine.
MOST_SECONDS = 5.0
LONG = 100_000


def whole_markers(line, encoding):
    """List the whole markers of a line: where each begins and ends, and its value."""
    key, found, at = ("<stage>" if encoding == "xml" else '"stage":'), [], 0
    while (begin := line.find(key, at)) >= 0:
        start = begin + len(key)
        if encoding == "xml":
            closing, banned = "</stage>", "<>"
        else:
            start = len(line) - len(line[start:].lstrip())
            closing, banned = '"', "\\"
            if line[start : start + 1] != '"':
                at = begin + 1
                continue
            start += 1
        end = line.find(closing, start)
        value = line[start:end] if end >= 0 else ""
        if value and value == value.strip() and not set(value) & set(banned):
            found.append((begin, end + len(closing), value))
            at = end + len(closing)
        else:
            at = begin + 1
    return found


def restated(text, encoding, placement, unique):
    """Read a reply by its lines, without any of the reader's patterns."""
    openings = ("<stage", "</stage") if encoding == "xml" else ('"stage":',)
    after = [part for mark in openings for part in (text + " ").split(mark)[1:]]
    # <stagehand is the beginning of another tag.
    trace = any(encoding == "json" or not (p[:1].isalnum() or p[:1] in set("_.-")) for p in after)
    around = ({""}, {""}) if encoding == "xml" else ({"", "{"}, {"", "}"})
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    found = []  # (line, value, anchored)
    for number, line in enumerate(lines):
        for begin, end, value in whole_markers(line, encoding):
            anchored = line[end:].strip() in around[1]
            if placement == "line":
                anchored = anchored and line[:begin].strip() in around[0]
            found.append((number, value, anchored))
    reports = [entry for entry in found if entry[2]]
    counted = found if unique == "anywhere" else reports
    if len(counted) == 1 == len(reports) and reports[0][0] == len(lines) - 1:
        return (True, True, reports[0][1])
    values = {value for _, value, _ in found}
    return (trace, False, values.pop() if trace and len(values) == 1 else None)


PIECES = ["Done.", " ", "\n", "\r\n", "completed", "x y", ".", "<stage>", "</stage>", "<stage",
          "<stage>completed</stage>", "<stage>a b</stage>", "<stage> a</stage>", "<stage></stage>",
          '"stage": "completed"', '"stage": "a b"', '"stage": " a"', '"stage": ""', '"stage":',
          "{", "}", "```", "\t"]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
    st.sampled_from(("xml", "json")),
    st.sampled_from(("end", "line")),
    st.sampled_from(("anchored", "anywhere")),
)
def test_the_reader_follows_the_rule(text, encoding, placement, unique):
    found = Marker("stage", encoding, placement, unique).read(text)
    assert tuple(found) == restated(text, encoding, placement, unique)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_a_report_is_emitted_if_it_is_well_formed_and_has_a_value_then(text):
    for encoding in ("xml", "json"):
        for placement in ("end", "line"):
            found = Marker(encoding=encoding, placement=placement).read(text)
            assert found.emitted or not found.well_formed
            assert found.value or not found.well_formed
            assert found.emitted or found.value is None


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), st.sampled_from(("xml", "json")))
def test_a_line_of_its_own_is_the_stricter_placement_and_blank_ends_change_nothing(text, encoding):
    end, line = (Marker(encoding=encoding, placement=p) for p in ("end", "line"))
    if line.read(text).well_formed and text.count("stage") <= 2:
        assert end.read(text).well_formed
    assert end.read(text) == end.read(text + "\n  \n\r\n")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text_in_an_envelope_is_read_as_the_text(text):
    assert stripped(json.dumps({"message": text})) == text
    assert stripped(json.dumps(text)) == text
    assert stripped(json.dumps({"message": text}), fences=False, field="other") == ""


def test_inverting_a_value_reaches_the_escaped_quotes_of_an_envelope():
    marker = Marker(encoding="json")
    text = json.dumps({"message": 'Done.\n"stage": "completed"'})
    inverted = marker.replaced(text, "ready_for_action")
    assert json.loads(inverted)["message"] == 'Done.\n"stage": "ready_for_action"'
    assert Marker().replaced("<stage>a</stage> <stage>b</stage>", "c").count(">c<") == 2


@pytest.mark.parametrize("encoding", ["xml", "json"])
@pytest.mark.parametrize("placement", ["end", "line"])
def test_long_replies_cost_no_more_than_their_length(encoding, placement):
    blanks = " " * LONG
    read = Marker(encoding=encoding, placement=placement).read
    texts = [
        f"<{blanks}stage x", f'"stage"{blanks}x', f'"stage": "a"{blanks}x',
        f'{blanks}x"stage": "a"',
        "<stage>a" + "b " * (LONG // 2), "<stage>" * (LONG // 7), '"stage": "' * (LONG // 10),
        '"stage' + "\\" * LONG, f"<stage>a</stage>{blanks}x", "<stage>a</stage>\n" * (LONG // 17),
    ]  # fmt: skip
    start = time.process_time()
    for text in texts:
        read(text)
    assert time.process_time() - start < MOST_SECONDS


def test_long_fences_cost_no_more_than_their_length():
    start = time.process_time()
    for text in (f"```\n{' ' * LONG}x", f"```\n{'a  ' * LONG}```", "```\n" * LONG, '{"a":' * LONG):
        stripped(text, fences=True)
    assert time.process_time() - start < MOST_SECONDS
