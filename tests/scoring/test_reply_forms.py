"""The reply forms of StageIF appendices E and K: XML and JSON end alike, whatever the form."""

from __future__ import annotations

import json

import pytest

from simtrack.records import Records, Replies
from simtrack.scoring import Marker, StageProtocol, score_stageif
from simtrack.scoring.stageif.score import UNREADABLE, stripped

ENCODINGS = ("xml", "json")
RIGHT, WRONG, STRANGE = "post_observation_continue", "completed", "nearly_there"


def mark(encoding: str, value: str) -> str:
    return f"<stage>{value}</stage>" if encoding == "xml" else f'"stage": "{value}"'


# Form, what a reply looks like with marker m (right), w (wrong), s (no stage), and the codes that
# it ends in where POST_OBS is due: as it is, and out of its envelope.
FORMS = {
    "standalone line": ("Done so far.\n{m}", "CLEAN", "CLEAN"),
    "nothing but the marker": ("{m}", "CLEAN", "CLEAN"),
    "line end": ("The room is booked. {m}", "CLEAN", "CLEAN"),
    "trailing blank lines": ("Done so far.\n{m}\n\n  \n\t\n", "CLEAN", "CLEAN"),
    "blanks after the marker": ("Done so far.\n{m}   ", "CLEAN", "CLEAN"),
    "CRLF": ("Done so far.\r\n\r\n{m}\r\n", "CLEAN", "CLEAN"),
    "CRLF, line end": ("Done so far. {m}\r\n\r\n", "CLEAN", "CLEAN"),
    "mention, then the marker": (
        "I thought of {w} at first,\nbut one step is left.\n{m}\n\n", "CLEAN", "CLEAN"),
    "wrong value": ("Done so far.\n{w}", "STATE_WRONG", "STATE_WRONG"),
    "out of vocabulary": ("Done so far.\n{s}", "STATE_WRONG", "STATE_WRONG"),
    "duplicated": ("{m}\nDone so far.\n{m}", "MALFORMED", "MALFORMED"),
    "two values": ("{w}\n{m}", "MALFORMED", "MALFORMED"),
    "marker in the middle": ("Done so far.\n{m}\nAnything else?", "MALFORMED", "MALFORMED"),
    "mention inside a sentence": ("I will say {m} once I am done.", "MALFORMED", "MALFORMED"),
    "full stop behind it": ("Done so far. {m}.", "MALFORMED", "MALFORMED"),
    "code-fenced marker": ("Done so far.\n```\n{m}\n```", "MALFORMED", "MALFORMED"),
    "code-fenced reply": ("```text\nDone so far.\n{m}\n```", "MALFORMED", "MALFORMED"),
    "in backticks": ("Done so far. `{m}`", "MALFORMED", "MALFORMED"),
    "no marker": ("Done so far.", "APP_MISS", "APP_MISS"),
    "the bare value": ("post_observation_continue", "APP_MISS", "APP_MISS"),
    "blank reply": ("  \n ", "APP_MISS", "APP_MISS"),
    "empty reply": ("", "APP_MISS", "APP_MISS"),
}  # fmt: skip
# The same with the whole reply in JSON: how it is put there, and the two codes.
ENVELOPES = {
    "JSON string literal": (json.dumps, "MALFORMED", "CLEAN"),
    "JSON envelope": (lambda t: json.dumps({"message": t}), "MALFORMED", "CLEAN"),
    "JSON envelope, spread": (
        lambda t: json.dumps({"kind": "say", "message": t, "n": 1}, indent=2),
        "MALFORMED", "CLEAN"),
    "nested envelope": (
        lambda t: json.dumps({"message": json.dumps({"message": t})}), "MALFORMED", "MALFORMED"),
    "envelope of another shape": (lambda t: json.dumps({"text": t}), "MALFORMED", "APP_MISS"),
    "list": (lambda t: json.dumps([t]), "MALFORMED", "APP_MISS"),
    "envelope cut off": (lambda t: json.dumps({"message": t})[:-1], "MALFORMED", "MALFORMED"),
}  # fmt: skip


def coded(texts, calls=None, protocol=None, **labels):
    n = len(texts)
    columns = {"unit": [str(k) for k in range(n)], "duty": ["1"] * n, "stage": ["POST_OBS"] * n}
    columns |= {name: value if isinstance(value, list) else [value] * n
                for name, value in labels.items()}  # fmt: skip
    given = [()] * n if calls is None else calls
    return score_stageif(Replies(Records.from_columns(columns), texts, given), protocol)


def outcome(records, view, row=0):
    return records.select(view=view).factors["outcome"].values()[row]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", FORMS)
def test_form(form, encoding):
    pattern, strict, bare = FORMS[form]
    text = pattern.format(
        m=mark(encoding, RIGHT), w=mark(encoding, WRONG), s=mark(encoding, STRANGE)
    )
    records = coded([text], protocol=StageProtocol(encoding=encoding))
    assert outcome(records, "strict") == strict
    assert outcome(records, "stripped") == bare


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", ENVELOPES)
def test_envelope(form, encoding):
    wrap, strict, bare = ENVELOPES[form]
    text = wrap(f"Done so far.\n{mark(encoding, RIGHT)}")
    records = coded([text], protocol=StageProtocol(encoding=encoding))
    assert outcome(records, "strict") == strict
    assert outcome(records, "stripped") == bare


@pytest.mark.parametrize("form", ENVELOPES)
def test_both_encodings_name_the_same_value_in_every_envelope(form):
    # A value is recovered from what is ill-formed too, and equally: μ and ν count it.
    wrap, _, _ = ENVELOPES[form]
    named = []
    for encoding in ENCODINGS:
        text = wrap(f"Done so far.\n{mark(encoding, WRONG)}")
        records = coded([text], protocol=StageProtocol(encoding=encoding))
        named.append(
            [records.select(view=v).factors["reported"].values() for v in ("strict", "stripped")]
        )
    assert named[0] == named[1]
    assert named[0][0] == ["COMPLETED"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_fences_are_taken_off_where_the_protocol_says_so(encoding):
    protocol = StageProtocol(encoding=encoding, fences=True)
    marker = mark(encoding, RIGHT)
    inner = f"Done so far.\n{marker}"
    texts = [f"```\n{inner}\n```", json.dumps({"message": f"```text\n{inner}\n```\n"}),
             f"Done so far.\n```\n{marker}\n```", f"```\na\n```\n```\n{marker}\n```"]  # fmt: skip
    found = coded(texts, protocol=protocol)
    assert found.select(view="strict").factors["outcome"].values() == ["MALFORMED"] * 4
    assert found.select(view="stripped").factors["outcome"].values() == [
        "CLEAN", "CLEAN", "MALFORMED", "MALFORMED"]  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_tool_call_is_no_speech_with_or_without_a_report(encoding):
    texts = ["", f"Booking.\n{mark(encoding, RIGHT)}", None]
    calls = [("create_event",)] * 3
    found = coded(texts, calls, StageProtocol(encoding=encoding)).select(view="strict")
    assert found.factors["outcome"].values() == ["APP_DIVERGENCE"] * 3
    assert found.factors["emitted"].values() == ["0", "1", "0"]
    assert found.factors["spoke"].values() == ["0"] * 3


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_without_a_duty_any_trace_of_a_report_is_a_false_alarm(encoding):
    whole = mark(encoding, RIGHT)
    broken = "<stage>" if encoding == "xml" else "'stage':"
    texts = ["Thank you!", f"Bye.\n{whole}", f"Say {whole}, please.", f"Bye. {broken}"]
    found = coded(texts, protocol=StageProtocol(encoding=encoding), duty="0").select(view="strict")
    assert found.factors["outcome"].values() == ["CLEAN"] + ["APP_FALSE_ALARM"] * 3


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_line_of_its_own_may_be_asked_for_and_mentions_may_count(encoding):
    m = mark(encoding, RIGHT)
    alone = Marker(encoding=encoding, placement="line").read
    assert alone(f"Done.\n  {m}  \n").well_formed
    assert not alone(f"Done. {m}").well_formed
    assert alone(f"Say {m}\n{m}").well_formed  # the first is a mention here
    strict = Marker(encoding=encoding, unique="anywhere").read
    assert strict(f"Done.\n{m}").well_formed
    assert not strict(f"Say {m} at the end.\n{m}").well_formed


def test_braces_around_a_json_marker_are_part_of_it():
    for placement in ("end", "line"):
        read = Marker(encoding="json", placement=placement).read
        assert read('Done.\n{"stage": "completed"}').well_formed
        assert read('{"stage":"completed"}').value == "completed"
        assert not read('{\n"stage": "completed"\n}').well_formed  # the last line is a brace


def test_the_case_of_the_last_answer():
    # H24: a first answer in running text, then the corrected one on the last line but blank ones.
    text = "I first thought <stage>ready_for_action</stage>\nbut no.\n<stage>completed</stage>\n\n"
    assert Marker(placement="line").read(text).value == "completed"
    sentence = text.replace("</stage>\nbut", "</stage>, but")
    assert Marker().read(sentence) == (True, True, "completed")
    # At a line's end an earlier marker is a second report, not a mention.
    assert Marker().read(text) == (True, False, None)


def test_a_tag_of_which_another_is_the_beginning_is_no_trace():
    assert not Marker("stage").read("<stage-left> and <staged> and <stage_2>").emitted
    assert Marker("stage").read("</ STAGE >").emitted


def test_json_reports_survive_an_envelope_that_they_are_themselves():
    assert stripped('{"stage": "completed"}', tag="stage") == '{"stage": "completed"}'
    both = '{"message": "Done.", "stage": "completed"}'
    assert stripped(both, tag="stage") == both
    assert stripped(both) == "Done."  # in XML the key means nothing
    inner = json.dumps({"message": 'Done.\n"stage": "completed"', "stage": "x"})
    assert stripped(inner, tag="stage") == 'Done.\n"stage": "completed"'


def test_words_with_many_braces_are_taken_out_of_their_envelope():
    words = "{" * 200 + "[" * 200
    assert stripped(json.dumps({"message": words})) == words
    assert stripped(json.dumps({"message": "a", "n": int("9" * 4000)})) == "a"
    assert stripped('{"message": 3}') == UNREADABLE
    assert stripped('{"a":' * 5000) == '{"a":' * 5000


def test_fences_within_a_json_string_stay():
    # H25: the whole is JSON, whatever its strings hold.
    text = '{"message": "Looks wrong:\\n```py\\nx = {1: 2}\\n```\\nso no."}'
    assert stripped(text, fences=True) == "Looks wrong:\n```py\nx = {1: 2}\n```\nso no."
