"""Which obligation is each reply under, and how is it met? The protocol of a bridge, as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.options import ObligationKind, ObligationView, choice
from simtrack.records import Records, Replies
from simtrack.scoring.columns import named_column
from simtrack.scoring.protocol_file import check_head, load_plain, only_keys, table, text
from simtrack.scoring.stageif.markers import Report
from simtrack.scoring.stageif.oracle import Truth
from simtrack.scoring.stageif.protocol import StageProtocol
from simtrack.scoring.stageif.score import assembled, coded, named, of_the_model, shared_columns

__all__ = [
    "COMPLETED",
    "IN_PROGRESS",
    "KINDS",
    "ObligationProtocol",
    "Reader",
    "TagReader",
    "TextReader",
    "bare_text",
    "reader",
    "score_obligations",
    "spaced",
]


_SCHEMA = "simtrack.obligation-protocol/1"
_KEYS = ("schema", "column", "kind", "kinds", "sigil", "sentences", "stage")
#: The states that a sentence tells apart; a sigil says the first.
COMPLETED, IN_PROGRESS = "COMPLETED", "IN_PROGRESS"
KINDS: tuple[ObligationKind, ...] = get_args(ObligationKind)


@dataclass(frozen=True, slots=True)
class ObligationProtocol:
    """Which obligation is each reply under, and how is it met?

    Parameters
    ----------
    column : str
        The column that says which obligation a row is under.
    kinds : mapping of label to {"sigil", "sentence", "tag"}
        What the labels of that column mean.
    kind : str
        Without such a column, the one obligation of all rows.
    sigil : str
        The text that ends the last reply of a task, and no other.
    in_progress, complete : str
        The sentences that end a reply while the task is unfinished, and when it is done.
    stage : StageProtocol
        The stage marker, and where truth comes from, for all three.
    """

    column: str = "obligation"
    kinds: Mapping[str, ObligationKind] = field(
        default_factory=lambda: dict(zip(("O1", "O2", "O3", *KINDS), KINDS * 2, strict=True))
    )
    kind: ObligationKind | None = None
    sigil: str = "<sig>done</sig>"
    in_progress: str = "(The task is still in progress.)"
    complete: str = "(The task is complete.)"
    stage: StageProtocol = field(default_factory=StageProtocol)

    def __post_init__(self) -> None:
        for kind in (*self.kinds.values(), *([self.kind] if self.kind else [])):
            choice("kind", kind, ObligationKind)
        texts = {n: bare_text(getattr(self, n)) for n in ("sigil", "in_progress", "complete")}
        for name, bare in texts.items():
            if not bare:
                raise InputError(name, "a text that is not blank", repr(getattr(self, name)))
        if texts["in_progress"] in texts["complete"] or texts["complete"] in texts["in_progress"]:
            raise InputError("sentences", "none a part of the other", repr(self.complete))

    @classmethod
    def load(cls, path: str | Path) -> ObligationProtocol:
        """Read a protocol from a TOML or JSON file."""
        return cls.from_dict(load_plain(path), str(path))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str = "protocol") -> ObligationProtocol:
        """Make a protocol from plain data; what is left out is as in the paper."""
        check_head(content, _KEYS, where, schema=_SCHEMA)
        kinds = table(content, "kinds", where)
        said = table(content, "sentences", where)
        only_keys(said, ("in_progress", "complete"), f"{where}, [sentences]")
        own = cls()
        return cls(
            text(content, "column", own.column, where),
            {k: _kind(text(kinds, k, "", where)) for k in kinds} or own.kinds,
            _kind(content["kind"]) if "kind" in content else None,
            text(content, "sigil", own.sigil, where),
            text(said, "in_progress", own.in_progress, where),
            text(said, "complete", own.complete, where),
            StageProtocol.from_dict(table(content, "stage", where), f"{where}, [stage]"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        return {
            "schema": _SCHEMA,
            "column": self.column,
            "kinds": dict(self.kinds),
            **({"kind": self.kind} if self.kind else {}),
            "sigil": self.sigil,
            "sentences": {"in_progress": self.in_progress, "complete": self.complete},
            "stage": self.stage.to_dict(),
        }


def _kind(said: Any) -> ObligationKind:
    found: ObligationKind = choice("kind", said, ObligationKind)
    return found


def bare_text(said: str) -> str:
    """Take a sentence out of its brackets, in one case and spacing.

    Examples
    --------
    >>> bare_text("(The task  is Complete.)")
    'the task is complete.'
    """
    return spaced(said).strip(" ()[]{}")


def spaced(words: str) -> str:
    """Fold case, and put one blank wherever there are any."""
    return re.sub(r"\s+", " ", words).casefold().strip()


# Is a sigil, a sentence or a stage marker in a reply, in its exact form or leniently?
#: From the words of a reply and the states that it may name to what it reports, and whether right.
Reader = Callable[[str, frozenset[str]], tuple[Report, bool]]
_SILENT = Report(False, False, None)


def reader(kind: ObligationKind, protocol: ObligationProtocol, view: ObligationView) -> Reader:
    """Give a function from (words, wanted states) to what they report and whether it is right."""
    if kind == "tag":
        return TagReader(protocol.stage, view)
    said = {COMPLETED: protocol.sigil if kind == "sigil" else protocol.complete}
    if kind == "sentence":
        said[IN_PROGRESS] = protocol.in_progress
    return TextReader(said, view)


class TextReader:
    """Reads one of a few fixed texts."""

    def __init__(self, said: Mapping[str, str], view: ObligationView) -> None:
        self.exact = view == "exact"
        self.said = {state: said[state].strip() for state in said}
        self.bare = {state: bare_text(said[state]) for state in said}

    def __call__(self, words: str, wanted: frozenset[str]) -> tuple[Report, bool]:
        """Say what a reply reports, and whether that is one of the wanted states."""
        plain = spaced(words)
        there = [state for state, bare in self.bare.items() if bare in plain]
        if not there:
            return _SILENT, False
        one = there[0] if len(there) == 1 else None
        if self.exact:
            formed = one is not None and self._ends_with(words, plain, one)
            return Report(True, formed, one), one in wanted
        right = next((state for state in there if state in wanted), None)
        return Report(True, True, right or one), right is not None

    def _ends_with(self, words: str, plain: str, state: str) -> bool:
        return words.rstrip().endswith(self.said[state]) and plain.count(self.bare[state]) == 1


class TagReader:
    """Reads a stage marker, by Algorithm 1's parser or wherever it stands."""

    def __init__(self, stage: StageProtocol, view: ObligationView) -> None:
        self.exact = view == "exact"
        self.read = stage.marker().read
        self.values = stage.marker().values
        self.stage_of = {value: name for name, value in stage.values.items()}

    def __call__(self, words: str, wanted: frozenset[str]) -> tuple[Report, bool]:
        """Say what a reply reports, and whether that is one of the wanted states."""
        found = self.read(words)
        name = self.stage_of.get(found.value or "", found.value)
        report = Report(found.emitted, found.well_formed, name)
        if self.exact or not found.emitted:
            return report, name in wanted
        there = [self.stage_of.get(value, value) for value in self.values(words)]
        right = next((state for state in there if state in wanted), None)
        one = right or name or (there[0] if there else None)
        return Report(True, bool(there), one), right is not None


# Three duties of equal occasion, scored alike: a sigil at the end, a sentence, a stage marker.
_NAME_IT = ("Map it: --map obligation=COLUMN; or name it in a protocol: column = …; or give the "
            "one of all rows: kind = \"tag\".")  # fmt: skip


def score_obligations(
    replies: Replies,
    protocol: ObligationProtocol | None = None,
    views: Sequence[ObligationView] = ("exact", "lenient"),
) -> Records:
    """Was the obligation of each reply met, in the exact form and leniently?

    A sigil is due where the task is COMPLETED and nowhere else; a sentence and a tag wherever the
    oracle says that a report is due. Exact: the text of the right state ends the reply, once, and
    none of another state is in it. Lenient: the right text is somewhere in the reply, in any case
    and spacing and without the brackets around a sentence. In both views any of an obligation's
    texts counts as a report, so one that is not due is a false alarm.

    Parameters
    ----------
    replies : Replies
    protocol : ObligationProtocol, optional
    views : sequence of {"exact", "lenient"}

    Returns
    -------
    Records
        As `score_stageif` gives them, with `obligation` (sigil, sentence, tag); `reported` is a
        stage, or of sigils and sentences COMPLETED or IN_PROGRESS.

    Raises
    ------
    InputError, DataError
        A row under no obligation that the protocol knows; what the oracle refuses.

    Source: StageIF appendix Q, Table 15; what "substring" leaves open is stated above.
    """
    used = ObligationProtocol() if protocol is None else protocol
    for view in views:
        choice("view", view, ObligationView)
    if not views or len(set(views)) < len(views):
        raise InputError("views", "one or both of exact, lenient", list(views))
    index = of_the_model(replies)
    rows = replies.take(index) if index.size < len(replies) else replies
    kinds = _kinds(rows.records, used)
    stage = used.stage
    truth, notes = stage.oracle.truth(rows.records, stage.values, stage.expected, stage.arm)
    truth = _of_obligations(truth, kinds, used)
    shared = shared_columns(rows, truth) | {"obligation": kinds}
    parts = [_one_view(view, rows, kinds, truth, used, shared) for view in views]
    digest = f"truth was fixed from labels before replies were read: sha256 {truth.digest[:16]}"
    return assembled(parts, rows.records, (*rows.records.notes, *notes, digest))


def _kinds(records: Records, protocol: ObligationProtocol) -> Factor:
    """Say which obligation each row is under."""
    if protocol.kind is not None and protocol.column not in records.factors:
        return Factor(KINDS, np.full(len(records), KINDS.index(protocol.kind), dtype=np.int32))
    factor = named_column(records, protocol.column, "obligation of a row", _NAME_IT).compact()
    unknown = [level for level in factor.levels if level not in protocol.kinds]
    if unknown or (factor.codes < 0).any():
        raise DataError(
            f"{protocol.column} must be one of {', '.join(protocol.kinds)} in every row, got "
            f"{', '.join(map(repr, unknown)) or 'none'}. Name what it means under [kinds]."
        )
    codes = np.array([KINDS.index(protocol.kinds[level]) for level in factor.levels] or [0])
    return Factor(KINDS, codes[factor.codes].astype(np.int32))


def _of_obligations(truth: Truth, kinds: Factor, protocol: ObligationProtocol) -> Truth:
    """Move the duty and the expected text to those of each row's obligation."""
    is_done = [level == COMPLETED for level in truth.gold.levels] + [False]
    done = np.array(is_done)[truth.gold.codes]
    sigil, sentence = (kinds.codes == KINDS.index(kind) for kind in ("sigil", "sentence"))
    duty = np.where(sigil & (truth.duty == 1) & ~done, 0, truth.duty).astype(np.int8)
    expected = truth.expected.values()
    for row in np.flatnonzero(sigil).tolist():
        expected[row] = protocol.sigil if done[row] else None
    for row in np.flatnonzero(sentence & (truth.gold.codes >= 0)).tolist():
        expected[row] = protocol.complete if done[row] else protocol.in_progress
    return Truth(duty, truth.gold, Factor.from_values(expected))


def _one_view(
    view: ObligationView,
    rows: Replies,
    kinds: Factor,
    truth: Truth,
    protocol: ObligationProtocol,
    shared: dict[str, Factor],
) -> dict[str, Factor]:
    """Read each reply for its own obligation; what it says is compared by the state it names."""
    states = (*protocol.stage.values, IN_PROGRESS)
    readers = [reader(kind, protocol, view) for kind in KINDS]
    wanted = _wanted(truth, kinds, protocol)
    reports, right = [], []
    for words, kind, want in zip(rows.texts, kinds.codes.tolist(), wanted, strict=True):
        report, says = readers[kind](words or "", want)
        reports.append(report)
        right.append(says)
    return coded(view, shared, reports, named(reports, states, states), np.array(right, dtype=bool))


def _wanted(truth: Truth, kinds: Factor, protocol: ObligationProtocol) -> list[frozenset[str]]:
    """Give the states, or constants, that each row's report may name."""
    nothing: frozenset[str] = frozenset()
    stage_of = {value: name for name, value in protocol.stage.values.items()}
    asked = [level.split("|") for level in truth.expected.levels]
    by_tag = [*(frozenset(stage_of.get(v, v) for v in values) for values in asked), nothing]
    by_text = [*(frozenset({_state(level == COMPLETED)}) for level in truth.gold.levels), nothing]
    is_tag = (kinds.codes == KINDS.index("tag")).tolist()
    rows = zip(truth.expected.codes.tolist(), truth.gold.codes.tolist(), is_tag, strict=True)
    return [by_tag[value] if tag else by_text[state] for value, state, tag in rows]


def _state(done: bool) -> str:
    return COMPLETED if done else IN_PROGRESS
