"""Three duties of equal occasion, scored alike: a sigil at the end, a sentence, a stage marker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.options import ObligationView, choice
from simtrack.records import Records, Replies
from simtrack.scoring.named_columns import named_column
from simtrack.scoring.obligations_protocol import (
    COMPLETED,
    IN_PROGRESS,
    KINDS,
    ObligationProtocol,
)
from simtrack.scoring.obligations_readers import reader
from simtrack.scoring.oracle import Truth
from simtrack.scoring.stageif_codes import assembled, coded, named, of_the_model, shared_columns

__all__ = ["ObligationProtocol", "score_obligations"]

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
