"""What is inside the envelope that a reply was put in? The stripped reading of a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from simtrack.counts import Factor
from simtrack.errors import DataError, InputError
from simtrack.options import View, choice
from simtrack.records import Records, Replies
from simtrack.scoring.stageif.cues import cue_columns
from simtrack.scoring.stageif.markers import Report
from simtrack.scoring.stageif.oracle import Truth
from simtrack.scoring.stageif.positions import knows_turns, with_positions
from simtrack.scoring.stageif.protocol import StageProtocol
from simtrack.taxonomy import NO_REPORT, OUT_OF_VOCABULARY, STAGEIF

__all__ = [
    "UNREADABLE",
    "assembled",
    "coded",
    "matches",
    "named",
    "of_the_model",
    "score_stageif",
    "shared_columns",
    "stripped",
]


#: What a reply of another JSON shape becomes: it carries no report that can be read.
UNREADABLE = ""
_FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.-]*")
_OPENING = frozenset('{["')


def stripped(text: str, *, tag: str = "", field: str = "message", fences: bool = False) -> str:
    r"""Take a reply out of its JSON envelope; a reply without one stays as it is.

    A reply that is a JSON object gives its `field`, one that is a JSON string literal the string;
    any other JSON shape carries no report. One envelope is taken off, not one within another. An
    object with the key `tag` is itself a report in JSON and stays, unless the words in its `field`
    name that key. With `fences` a code fence around the whole reply, or around what was in the
    envelope, is taken off too.

    Examples
    --------
    >>> stripped('{"message": "Done.\\n<stage>completed</stage>"}')
    'Done.\n<stage>completed</stage>'
    >>> stripped('{"answer": 1}'), stripped("Done.")
    ('', 'Done.')

    Source: StageIF appendix G.
    """
    inner = _from_json(text, tag, field)
    return _unfenced(inner) if fences else inner


def _from_json(text: str, tag: str, field: str) -> str:
    bare = text.strip()
    if not bare or bare[0] not in _OPENING:
        return text
    try:
        found = json.loads(bare, parse_int=float)  # an int of thousands of digits is refused
    except (ValueError, RecursionError):
        return text
    if not isinstance(found, dict):
        return found if isinstance(found, str) else UNREADABLE
    inner = found.get(field)
    if not isinstance(inner, str):
        return text if tag in found and field not in found else UNREADABLE
    return text if tag in found and f'"{tag}"' not in inner else inner


def _unfenced(text: str) -> str:
    """Take off the one code fence that is around all of a text."""
    bare = text.strip()
    head, _, rest = bare.partition("\n")
    is_fence = head.startswith(_FENCE) and rest.endswith(_FENCE)
    if not is_fence or not _LANGUAGE.fullmatch(head[len(_FENCE) :].strip()):
        return text
    inner = rest[: -len(_FENCE)]
    return text if _FENCE in inner else inner.rstrip()


# Algorithm 1 of StageIF on arrays: what is alike in every view, and one code for each reply.
Flags = NDArray[np.bool_]
_CODE = {code: k for k, code in enumerate(STAGEIF.codes)}
_UNKNOWN = -1
_FLAGS = ("0", "1")


def of_the_model(replies: Replies) -> NDArray[np.intp]:
    """Give the rows of replies that the model gave, or should have given.

    Where every turn was read, those are the turns of the assistant, and trials without any turn.
    """
    role = replies.records.factors.get("role")
    if role is None:
        return np.arange(len(replies), dtype=np.intp)
    kept = np.array([level == "assistant" for level in role.levels] + [True], dtype=bool)
    return np.flatnonzero(kept[role.codes])


def shared_columns(rows: Replies, truth: Truth) -> dict[str, Factor]:
    """Give the columns that are alike in all views: labels, truth, and whether a reply speaks.

    A tool call without words is a reply, even where the log calls it missing.
    """
    records, n = rows.records, len(rows)
    status = records.factors.get("status") or Factor.constant("scored", n)
    acts = np.fromiter((bool(call) for call in rows.calls), bool, n)
    has_words = np.fromiter((text is not None for text in rows.texts), bool, n)
    is_call = _among(status, ("missing",)) & acts & ~has_words
    valid = (_among(status, ("scored",)) & (has_words | acts)) | is_call
    untold = valid & (truth.duty == _UNKNOWN)
    reason = records.factors.get("reason") or Factor((), np.full(n, _UNKNOWN, dtype=np.int32))
    reason = Factor(reason.levels, np.where(is_call, _UNKNOWN, reason.codes).astype(np.int32))
    factors = {name: f for name, f in records.factors.items() if name not in ("metric", "role")}
    factors["status"] = _over(_over(status, is_call, "scored"), untold, "unscored")
    factors["reason"] = _over(reason, untold, "the oracle has no truth for this row")
    spoke = np.where(valid, np.where(acts, 0, 1), _UNKNOWN)
    return factors | {
        "duty": Factor(_FLAGS, truth.duty.astype(np.int32)),
        "gold": truth.gold,
        "stage": truth.gold,
        "expected": truth.expected,
        "spoke": Factor(_FLAGS, spoke.astype(np.int32)),
        "error": Factor(("transport",), np.where(valid, _UNKNOWN, 0).astype(np.int32)),
    }


def coded(
    view: str,
    shared: dict[str, Factor],
    reports: Sequence[Report],
    reported: Factor,
    right: Flags,
) -> dict[str, Factor]:
    """Give every reply one code, in the order of Algorithm 1.

    Parameters
    ----------
    view : str
    shared : mapping of name to Factor
        What `shared_columns` gave.
    reports : sequence of Report
    reported : Factor
        What each reply names; its last level is that of replies that name nothing.
    right : bool array, shape (rows,)
        Whether the value of the report is the expected one.
    """
    n = len(reports)
    valid = shared["error"].codes < 0
    duty, due = shared["duty"].codes, shared["duty"].codes == 1
    emitted = np.fromiter((report.emitted for report in reports), bool, n) & valid
    formed = np.fromiter((report.well_formed for report in reports), bool, n) & valid
    acts = shared["spoke"].codes == 0
    outcome = np.select(
        [~valid, duty == _UNKNOWN, ~due & emitted, ~due, acts, ~emitted, ~formed, ~right],
        [_CODE["TRANSPORT"], _UNKNOWN, _CODE["APP_FALSE_ALARM"], _CODE["CLEAN"],
         _CODE["APP_DIVERGENCE"], _CODE["APP_MISS"], _CODE["MALFORMED"], _CODE["STATE_WRONG"]],
        _CODE["CLEAN"],
    )  # fmt: skip
    speaks_of_one = reported.codes < len(reported.levels) - 1
    return shared | {
        "reported": reported,
        "emitted": _flagged(emitted, valid),
        "well_formed": _flagged(formed, emitted),
        "correct": _flagged(right, emitted & speaks_of_one & due),
        "outcome": Factor(STAGEIF.codes, outcome.astype(np.int32)),
        "view": Factor.constant(view, n),
    }


def assembled(
    parts: Sequence[dict[str, Factor]], records: Records, notes: Iterable[str]
) -> Records:
    """Stack the views of the same replies; `value` is 1 where CLEAN and NaN where not scored."""
    columns = {name: Factor.concatenate([part[name] for part in parts]) for name in parts[0]}
    codes = columns["outcome"].codes
    value = np.where(codes == _CODE["CLEAN"], 1.0, 0.0)
    value[(codes == _CODE["TRANSPORT"]) | (codes < 0)] = np.nan
    numbers = {
        name: np.tile(column, len(parts))
        for name, column in records.numbers.items()
        if name != "value" and name not in columns
    }
    return Records(columns, {"value": value, **numbers}, records.losses, records.parents,
                   "checkpoint", tuple(notes))  # fmt: skip


def named(reports: Sequence[Report], names: Sequence[str], values: Sequence[str]) -> Factor:
    """Name what each report says: `names` of `values`, out_of_vocabulary, or none (last)."""
    levels = (*names, OUT_OF_VOCABULARY, NO_REPORT)
    code = {value: k for k, value in enumerate(values)}
    other, none = len(levels) - 2, len(levels) - 1
    codes = [none if r.value is None else code.get(r.value, other) for r in reports]
    return Factor(levels, np.array(codes, dtype=np.int32))


def matches(reports: Sequence[Report], expected: Factor) -> Flags:
    """Say whether the value of a report is among those that are expected of its row."""
    allowed = [*(frozenset(level.split("|")) for level in expected.levels), frozenset[str]()]
    pairs = zip(reports, expected.codes.tolist(), strict=True)
    return np.fromiter((r.value in allowed[c] for r, c in pairs), bool, len(reports))


def _flagged(holds: Flags, defined: Flags) -> Factor:
    return Factor(_FLAGS, np.where(defined, holds, _UNKNOWN).astype(np.int32))


def _among(factor: Factor, levels: Sequence[str]) -> Flags:
    return np.array([level in levels for level in factor.levels] + [False])[factor.codes]


def _over(factor: Factor, where: Flags, level: str) -> Factor:
    """Put another label where a mask holds."""
    if not where.any():
        return factor
    both = Factor.concatenate([factor, Factor.constant(level, len(factor))])
    rows = np.arange(len(factor))
    return both.take(np.where(where, len(factor) + rows, rows))


# Which code does each reply end in? Algorithm 1 of StageIF, in its order, for both views.
def score_stageif(
    replies: Replies,
    protocol: StageProtocol | None = None,
    views: Sequence[View] = ("strict", "stripped"),
) -> Records:
    """Give every reply exactly one code of the taxonomy, with what led to it kept apart.

    The truth of every row is fixed first, from labels alone. Then, in this order: no valid reply
    TRANSPORT; no duty APP_FALSE_ALARM if a report was emitted, else CLEAN; a tool call instead of
    speech APP_DIVERGENCE; no report APP_MISS; an ill-formed one MALFORMED; a wrong value
    STATE_WRONG; else CLEAN.

    Parameters
    ----------
    replies : Replies
        Where every turn was read, those of the assistant count. With `trajectory` and `turn`
        the places of checkpoints are told too.
    protocol : StageProtocol, optional
        The paper's, with duty and stage in columns of that name, if not given.
    views : sequence of {"strict", "stripped"}
        Readings of the same replies: as they are, and out of their JSON envelope.

    Returns
    -------
    Records
        One row a reply and view, kind "checkpoint": the labels of the replies and `view`, `duty`,
        `gold`, `stage`, `expected`, `reported` (a stage, a constant of an arm, out_of_vocabulary,
        or none), `spoke`, `emitted`, `well_formed`, `correct`, `error` and `outcome`; `bin`,
        `bin10` (see `with_positions`), `cue` and `handoff` (see `CueRule`) where the log tells
        them; the number `value` is 1 where CLEAN. Flags are missing where they are not defined. A
        reply that was recorded but has no truth is unscored.

    Raises
    ------
    InputError, DataError
        Views that are none; columns that the oracle needs and the log lacks; no reply at all.

    Source: StageIF Algorithm 1, appendix B.
    """
    used = StageProtocol() if protocol is None else protocol
    for view in views:
        choice("view", view, View)
    if not views or len(set(views)) < len(views):
        raise InputError("views", "one or both of strict, stripped", list(views))
    index = of_the_model(replies)
    if not index.size and len(replies):
        raise DataError("no message of an assistant among the replies. Map its column: role.")
    rows = replies.take(index) if index.size < len(replies) else replies
    truth, notes = used.oracle.truth(rows.records, used.values, used.expected, used.arm)
    shared = shared_columns(rows, truth)
    placed, told = _places(replies, index.tolist(), truth, used)
    shared |= placed
    as_they_are = used.marker().read_all(rows.texts)
    parts = []
    for view in views:
        reports = as_they_are if view == "strict" else _out_of_envelopes(rows, as_they_are, used)
        reported, right = _named(reports, used), matches(reports, truth.expected)
        parts.append(coded(view, shared, reports, reported, right))
    digest = f"truth was fixed from labels before replies were read: sha256 {truth.digest[:16]}"
    said = (*rows.records.notes, *notes, *told, *_call_note(rows), digest)
    return assembled(parts, rows.records, said)


def _places(
    replies: Replies, index: Sequence[int], truth: Truth, protocol: StageProtocol
) -> tuple[dict[str, Factor], list[str]]:
    """Give `bin`, `bin10`, `cue` and `handoff` where trajectories are told apart."""
    found, notes = cue_columns(replies, index, truth, protocol.cues)
    if knows_turns(replies.records):
        labels = replies.records.take(np.asarray(index, dtype=np.intp))
        duty = Factor(("0", "1"), truth.duty.astype(np.int32))
        placed = with_positions(labels.with_factors(duty=duty, gold=truth.gold))
        found |= {name: placed.factors[name] for name in ("bin", "bin10")}
    elif "trajectory" in replies.records.factors:
        notes.append("no column turn of whole numbers: places in a trajectory are not told")
    return found, notes


def _named(reports: Sequence[Report], protocol: StageProtocol) -> Factor:
    """Name stages by their marker's value, and constants of arms by themselves."""
    stages = tuple(protocol.values.values())
    constants = [c for c in dict.fromkeys(protocol.expected.values()) if c not in stages]
    return named(reports, (*protocol.values, *constants), (*stages, *constants))


def _out_of_envelopes(
    rows: Replies, reports: Sequence[Report], protocol: StageProtocol
) -> list[Report]:
    """Read those replies again that come in an envelope."""
    tag = protocol.tag if protocol.encoding == "json" else ""
    read = protocol.marker().read
    found = list(reports)
    for row, text in enumerate(rows.texts):
        if text is None:
            continue
        inner = stripped(text, tag=tag, field=protocol.envelope, fences=protocol.fences)
        if inner is not text:
            found[row] = read(inner)
    return found


def _call_note(rows: Replies) -> list[str]:
    unknown = sum(
        1 for call, text in zip(rows.calls, rows.texts, strict=True) if call is None and text
    )
    if not unknown:
        return []
    return [f"the log does not say of {unknown} replies whether they call a tool: they count as "
            "speech (--map calls=COLUMN)"]  # fmt: skip
