"""Sigil, sentence and tag: where each is due, and both views, worked by hand."""

from __future__ import annotations

import itertools

import pytest

from simtrack.errors import DataError, InputError
from simtrack.estimands import estimand
from simtrack.records import Records, Replies
from simtrack.scoring import StageProtocol
from simtrack.scoring.stageif.obligations import ObligationProtocol, score_obligations

GOING, DONE, SIGIL = (
    "(The task is still in progress.)",
    "(The task is complete.)",
    "<sig>done</sig>",
)
TAG = "<stage>post_observation_continue</stage>"
END = "<stage>completed</stage>"


def scored(lines, protocol=None):
    """Each line: obligation, gold stage (None where no report is due), words."""
    columns = {
        "unit": [str(k) for k in range(len(lines))],
        "obligation": [line[0] for line in lines],
        "stage": [line[1] for line in lines],
        "duty": ["1" if line[1] else "0" for line in lines],
    }
    replies = Replies(Records.from_columns(columns), [line[2] for line in lines], [()] * len(lines))
    return score_obligations(replies, protocol)


def codes(lines, protocol=None):
    found = scored(lines, protocol)
    return [
        tuple(pair)
        for pair in zip(
            *(found.select(view=v).factors["outcome"].values() for v in ("exact", "lenient")),
            strict=True,
        )
    ]


# Obligation, gold, reply, exact code, lenient code.
CASES = [
    ("O1", "COMPLETED", f"Bye.\n{SIGIL}", "CLEAN", "CLEAN"),
    ("O1", "COMPLETED", "Bye.", "APP_MISS", "APP_MISS"),
    ("O1", "COMPLETED", f"{SIGIL}\nBye.", "MALFORMED", "CLEAN"),
    ("O1", "COMPLETED", f"{SIGIL}\n{SIGIL}", "MALFORMED", "CLEAN"),
    ("O1", "COMPLETED", "Bye. <SIG>done</SIG>", "MALFORMED", "CLEAN"),
    ("O1", "POST_OBS", "One step is left.", "CLEAN", "CLEAN"),
    ("O1", "POST_OBS", f"One step is left. {SIGIL}", "APP_FALSE_ALARM", "APP_FALSE_ALARM"),
    ("O1", None, SIGIL, "APP_FALSE_ALARM", "APP_FALSE_ALARM"),
    ("O2", "COMPLETED", f"Bye. {DONE}", "CLEAN", "CLEAN"),
    ("O2", "COMPLETED", f"Bye.\n{DONE}\n\n", "CLEAN", "CLEAN"),
    ("O2", "POST_OBS", f"One step is left. {GOING}", "CLEAN", "CLEAN"),
    ("O2", "READY", f"Shall I? {GOING}", "CLEAN", "CLEAN"),
    ("O2", "POST_OBS", f"One step is left. {DONE}", "STATE_WRONG", "STATE_WRONG"),
    ("O2", "POST_OBS", "The task is still in progress.", "MALFORMED", "CLEAN"),
    ("O2", "POST_OBS", f"{GOING} One step is left.", "MALFORMED", "CLEAN"),
    ("O2", "POST_OBS", "Well: the TASK is\nstill in  progress. Wait.", "MALFORMED", "CLEAN"),
    ("O2", "POST_OBS", f"{DONE} {GOING}", "MALFORMED", "CLEAN"),
    ("O2", "POST_OBS", "I am still at it.", "APP_MISS", "APP_MISS"),  # a paraphrase
    ("O2", "COMPLETED", "The task is completed.", "APP_MISS", "APP_MISS"),
    ("O2", None, GOING, "APP_FALSE_ALARM", "APP_FALSE_ALARM"),
    ("O2", None, "Thank you.", "CLEAN", "CLEAN"),
    ("O3", "POST_OBS", f"One step is left.\n{TAG}", "CLEAN", "CLEAN"),
    ("O3", "POST_OBS", f"{TAG}\nOne step is left.", "MALFORMED", "CLEAN"),
    ("O3", "POST_OBS", f"{END}\nOne step is left.", "MALFORMED", "STATE_WRONG"),
    ("O3", "POST_OBS", f"I say {END}, no, {TAG}, of course", "MALFORMED", "CLEAN"),
    ("O3", "POST_OBS", "One step is left. <stage>", "MALFORMED", "MALFORMED"),
    ("O3", "POST_OBS", END, "STATE_WRONG", "STATE_WRONG"),
    ("O3", "READY|NEEDS_INFO", "<stage>needs_information</stage>", "CLEAN", "CLEAN"),
    ("O3", "POST_OBS", SIGIL, "APP_MISS", "APP_MISS"),  # another obligation's text
]


def test_every_case_under_both_views():
    assert codes([case[:3] for case in CASES]) == [case[3:] for case in CASES]


def test_lenient_is_never_stricter():
    for exact, lenient in codes([case[:3] for case in CASES]):
        assert lenient == "CLEAN" or exact != "CLEAN"


def test_duty_depends_on_the_obligation_alone():
    stages = ("NEEDS_INFO", "READY", "POST_OBS", "COMPLETED", None)
    lines = [(o, s, "x") for o, s in itertools.product(("O1", "O2", "O3"), stages)]
    found = scored(lines).select(view="exact")
    assert found.factors["duty"].values() == [*"00010", *"11110", *"11110"]
    assert found.factors["expected"].values()[:5] == [None, None, None, SIGIL, None]
    assert found.factors["expected"].values()[5:10] == [GOING, GOING, GOING, DONE, None]
    assert found.factors["obligation"].values() == ["sigil"] * 5 + ["sentence"] * 5 + ["tag"] * 5


def test_the_catalogue_counts_adherence_and_early_claims():
    sentences = [("O2", "POST_OBS", f"a {GOING}"), ("O2", "POST_OBS", f"a {DONE}")]
    sigils = [("O1", "POST_OBS", SIGIL), ("O1", "COMPLETED", SIGIL)]
    lines = [*sentences, ("O2", "POST_OBS", "a"), *sigils]
    names = ["duty", "gold", "obligation", "emitted", "reported"]
    counts = scored(lines).select(view="exact").counts(by=names)
    adherence = estimand("adherence").totals(counts, "obligation")
    rates = dict(zip([c[0] for c in adherence.conditions], adherence.rates(), strict=True))
    assert rates == {"sigil": 1.0, "sentence": 1 / 3}  # a sigil is due at the end alone
    early = estimand("false_completion").totals(counts, "obligation")
    rates = dict(zip([c[0] for c in early.conditions], early.rates(), strict=True))
    assert rates == {"sigil": 1 / 2, "sentence": 1 / 3}


def test_a_column_of_arms_may_say_the_obligation():
    content = {"column": "arm", "kinds": {"O1-on": "sigil", "O1-off": "sigil", "x": "tag"}}
    protocol = ObligationProtocol.from_dict(content)
    rows = Records.from_columns({"unit": ["a", "b"], "arm": ["O1-on", "x"], "duty": ["1"] * 2,
                                 "stage": ["COMPLETED"] * 2})  # fmt: skip
    found = score_obligations(Replies(rows, [SIGIL, END], [(), ()]), protocol, ["exact"])
    assert found.factors["outcome"].values() == ["CLEAN", "CLEAN"]
    assert found.factors["arm"].values() == ["O1-on", "x"]
    with pytest.raises(DataError, match="arm must be one of O1-on, O1-off in every row, got 'x'"):
        score_obligations(
            Replies(rows, [SIGIL, END], [(), ()]),
            ObligationProtocol(column="arm", kinds={"O1-on": "sigil", "O1-off": "sigil"}),
        )


def test_one_obligation_for_all_rows_needs_no_column():
    rows = Records.from_columns({"unit": ["a"], "stage": ["COMPLETED"]})
    found = score_obligations(
        Replies(rows, [DONE], [()]), ObligationProtocol(kind="sentence"), ["exact"]
    )
    assert found.factors["outcome"].values() == ["CLEAN"]
    with pytest.raises(InputError, match="column must be one of"):
        score_obligations(Replies(rows, [DONE], [()]))


def test_own_texts_and_a_json_tag():
    protocol = ObligationProtocol.from_dict({
        "sigil": "[[fin]]", "sentences": {"in_progress": "Noch nicht.", "complete": "Fertig."},
        "stage": {"encoding": "json"},
    })  # fmt: skip
    found = codes(
        [("O1", "COMPLETED", "Ja [[fin]]"), ("O2", "READY", "Nein. Noch nicht."),
         ("O3", "COMPLETED", 'Ja\n"stage": "completed"')], protocol)  # fmt: skip
    assert found == [("CLEAN", "CLEAN")] * 3
    assert ObligationProtocol.from_dict(protocol.to_dict()) == protocol


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"sigl": "x"}, "Did you mean sigil"),
        ({"kinds": {"O1": "seal"}}, "kind must be one of sigil, sentence, tag"),
        ({"sentences": {"in_progress": "Done", "complete": "done."}}, "none a part of the other"),
        ({"sigil": " "}, "sigil must be a text that is not blank"),
        ({"stage": {"encodig": "xml"}}, "Did you mean encoding"),
    ],
)
def test_faulty_protocols_are_refused(content, message):
    with pytest.raises(InputError, match=message):
        ObligationProtocol.from_dict(content)


def test_a_stage_protocol_of_ones_own_holds_for_the_tag():
    stage = StageProtocol(unique="anywhere")
    line = [("O3", "POST_OBS", f"Not {END}, but:\n{TAG}")]
    assert codes(line) == [("CLEAN", "CLEAN")]
    assert codes(line, ObligationProtocol(stage=stage)) == [("MALFORMED", "CLEAN")]


def test_blanked_replies_leave_no_success_where_something_was_due():
    # The corruption gate of the separate verifier: what survives measures the harness.
    blank = scored([(case[0], case[1], "") for case in CASES])
    duty, outcome = blank.factors["duty"].values(), blank.factors["outcome"].values()
    assert {code for d, code in zip(duty, outcome, strict=True) if d == "1"} == {"APP_MISS"}
    assert {code for d, code in zip(duty, outcome, strict=True) if d == "0"} == {"CLEAN"}
