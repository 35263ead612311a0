"""Between which versions of Inspect did scoring change, and does that touch these logs? Data.

Named are changes after which the same run gets other scores, other classes of losses or other
token counts. Left out are those of Inspect's own aggregates alone (standard errors, names of
metrics), since totals are counted from the samples here, and those of file formats, which are read
alike. Source: Inspect's change log, where each stands under its version.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simtrack.logs.inspect.fields import Header
from simtrack.logs.score_values import NAN, NULL
from simtrack.note import Note
from simtrack.records import Records

__all__ = ["CHANGES", "Change", "touches", "traits_of", "version_of"]

#: The traits that are codes of the reader's notes.
_TOLD = frozenset({"superseded", "surrogates", "scored-errors"})
_GRADED = ("model_graded_qa", "model_graded_fact")


@dataclass(frozen=True, slots=True)
class Change:
    """What is otherwise from a version on?

    `scorers` names the scorers that it touches, none for all; `trait` what a log must have for it
    to matter (see `traits_of`), "" for every log.
    """

    version: tuple[int, int, int]
    what: str
    scorers: tuple[str, ...] = ()
    trait: str = ""


CHANGES: tuple[Change, ...] = (
    Change((0, 3, 10), "pattern matches by any of its groups, before by the second", ("pattern",)),
    Change((0, 3, 19), "a choice that cannot be parsed is incorrect, before it was an error",
           ("choice",)),
    Change((0, 3, 22), "pass_at is computed otherwise", trait="pass_at"),
    Change((0, 3, 23), "match knows numbers with a point", ("match",)),
    Change((0, 3, 27), "f1 and exact round and normalise otherwise", ("f1", "exact")),
    Change((0, 3, 42), "answers to choices are found otherwise", ("choice",)),
    Change((0, 3, 43), "upper and lower case are compared by case folding",
           ("includes", "match", "exact", "f1")),
    Change((0, 3, 48), "numbers may have exponents", ("match", "includes", "answer")),
    Change((0, 3, 50), "match takes a target that is no number as text", ("match",)),
    Change((0, 3, 50), "ids within a data set are unique, before, samples of one id may be "
           "different ones, of which the last counts", trait="superseded"),
    Change((0, 3, 91), "match knows fractions in Unicode", ("match",)),
    Change((0, 3, 101), "pass_at passes what reaches its threshold, before what equalled it",
           trait="pass_at"),
    Change((0, 3, 104), "lone halves of surrogate pairs are replaced, so ids with some may not "
           "pair", trait="surrogates"),
    Change((0, 3, 113), "NaN is unscored, before it went into Inspect's metrics", trait="nan"),
    Change((0, 3, 121), "answers to choices are parsed more strictly", ("choice",)),
    Change((0, 3, 123), "NaN in one epoch is passed over where epochs are reduced",
           trait="nan in epochs"),
    Change((0, 3, 123), "match takes the first number that a text holds", ("match",)),
    Change((0, 3, 126), "match finds numbers within Markdown", ("match",)),
    Change((0, 3, 128), "match knows numerals in Unicode", ("match",)),
    Change((0, 3, 133), "a scorer that gives no score leaves the sample unscored"),
    Change((0, 3, 154), "samples may be stopped early by a rule or be invalidated, and count as "
           "neither right nor wrong", trait="left out"),
    Change((0, 3, 160), "answer matches the last line alone", ("answer",)),
    Change((0, 3, 180), "samples of a cancelled run are logged as errored, before they were "
           "missing", trait="cancelled"),
    Change((0, 3, 184), "input tokens leave cached ones out, before some providers counted them",
           trait="tokens"),
    Change((0, 3, 205), "pattern without a match is no answer, before it was incorrect (both "
           "count as 0)", ("pattern",)),
    Change((0, 3, 206), "a null score is read as NaN, which is unscored", trait="null"),
    Change((0, 3, 206), "answer knows symbols in Unicode", ("answer",)),
    Change((0, 3, 208), "cached tokens of Google's models are counted otherwise",
           trait="google tokens"),
    Change((0, 3, 212), "delimiters within what a judge is shown are defused", _GRADED),
    Change((0, 3, 217), "errored samples may carry scores (score_on_error)",
           trait="scored-errors"),
    Change((0, 3, 221), "pass_at of too few epochs is NaN, before it was 1", trait="pass_at"),
    Change((0, 3, 221), "match no longer finds a number within the digits of another", ("match",)),
    Change((0, 3, 221), "choices may be lower case and the last answer counts",
           ("choice", "answer")),
    Change((0, 3, 221), "a judge's last grade counts, before its first", _GRADED),
    Change((0, 3, 221), "targets with leading blanks are scored", ("f1", "exact")),
    Change((0, 3, 221), "sets are compared as multisets", ("math",)),
    Change((0, 3, 245), "a judge's reply that cannot be parsed is unscored, before it was "
           "incorrect", _GRADED),
    Change((0, 3, 245), "output tokens of Gemini include those of reasoning",
           trait="google tokens"),
    Change((0, 3, 253), "NaN within an object of scores stays NaN, before it was null and counted "
           "as 0 in Inspect's own mean", trait="nested"),
)  # fmt: skip


def version_of(header: Header) -> tuple[int, ...]:
    """Give the version of Inspect that wrote a log, (0,) where it does not say."""
    text = str((header.eval.packages or {}).get("inspect_ai", "0"))
    parts = text.split("+", 1)[0].split(".")
    return tuple(int(p) for p in parts[:3] if p.isascii() and p.isdigit() and len(p) < 10)


def traits_of(header: Header, notes: Iterable[str], records: Records) -> frozenset[str]:
    """Name what of a log decides whether a change touches it."""
    found = set()
    reducers = [score.reducer or "" for score in header.results.scores] if header.results else []
    found |= {"pass_at"} if any("pass_at" in reducer for reducer in reducers) else set()
    reasons = " ".join(records.factors["reason"].levels) if "reason" in records.factors else ""
    epochs = (header.eval.config.epochs if header.eval.config else 1) or 1
    found |= {"null"} if NULL in reasons else set()
    if NAN in reasons:
        found |= {"nan", "nan in epochs"} if epochs > 1 else {"nan"}
    states = set(records.factors["status"].levels) if "status" in records.factors else set()
    states |= {loss.kind for loss in records.losses.entries if loss.n}
    found |= {"left out"} if states & {"early-stopped", "invalidated"} else set()
    found |= {"cancelled"} if header.status == "cancelled" else set()
    tokens = records.numbers.get("tokens_in")
    if tokens is not None and not np.isnan(tokens).all():
        google = any(part in header.eval.model for part in ("google/", "gemini"))
        found |= {"tokens", "google tokens"} if google else {"tokens"}
    metrics = records.factors["metric"].levels if "metric" in records.factors else ()
    found |= {"nested"} if any("." in metric for metric in metrics) else set()
    return frozenset(found | ({Note.of(note).code for note in notes} & _TOLD))


def touches(change: Change, metrics: Iterable[str]) -> bool:
    """Say whether a change is of the scorers of these metrics; several of one name are numbered.

    Examples
    --------
    >>> [touches(Change((0, 3, 1), "", ("f1",)), [m]) for m in ("f1", "f11", "f2", "pkg/f1.x")]
    [True, True, False, True]
    """
    if not change.scorers:
        return True
    names = {metric.split(".")[0].rpartition("/")[2] for metric in metrics}
    return any(
        name == scorer or (name.startswith(scorer) and name[len(scorer) :].isdigit())
        for name in names
        for scorer in change.scorers
    )
