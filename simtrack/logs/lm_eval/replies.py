"""The answers of an lm-eval samples file as replies: one row a document and repeat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.logs import transcripts
from simtrack.logs.columns import label as as_label
from simtrack.logs.decode import Decoded, decode_record
from simtrack.logs.lines import read_lines
from simtrack.logs.lm_eval.samples import read_samples
from simtrack.options import Turns
from simtrack.records import Replies

__all__ = ["sample_replies"]


def sample_replies(
    path: Path, data: bytes, label: str, turns: Turns, *, salvage: bool = False
) -> Replies:
    """Read what the model generated for each document, before any filter cut it.

    The filters of a document share its answers, so that their metrics stand side by side. The
    verdicts of a document that was sampled several times belong to all of its answers together;
    they stand beside the first.

    Raises
    ------
    DataError
        A task of log-likelihoods, which has no answer in words.
    """
    table = read_samples(path, data, label, salvage=salvage)
    seen = Decoded()
    lines, _, _ = read_lines(data, lambda text, at: _whole(text, at, seen), label, salvage=salvage)
    answers: dict[str, list[str]] = {}
    for number, sample in lines:
        unit = as_label(sample["doc_id"]) or ""
        if unit not in answers:
            answers[unit] = _answers(sample.get("resps"), f"{label}: line {number}")
    # A line whose words alone are damaged has a row in the table, and no answer.
    units = dict.fromkeys(unit or "" for unit in table.factors["unit"].values())
    said = [answers.get(unit, []) for unit in units]
    rows = transcripts.to_replies(
        table,
        [
            transcripts.Dialogue(unit, last=_said(found))
            for unit, found in zip(units, said, strict=True)
        ],
    )
    most = max(map(len, said), default=1)
    return rows if most < 2 else _repeated(rows, said)


def _whole(text: bytes, where: str, seen: Decoded) -> dict[str, Any]:
    """Decode one line with its texts, of which `read_samples` makes no use."""
    found = decode_record(text, where, seen)
    if not isinstance(found, dict) or "doc_id" not in found:
        raise DataError(f"{where} has no doc_id, so it is no sample of lm-eval.")
    return found


def _said(found: list[str]) -> transcripts.Said | None:
    return transcripts.Said("assistant", found[0], None) if found else None


def _repeated(rows: Replies, answers: list[list[str]]) -> Replies:
    """Give every repeat a row, the verdicts to the first."""
    sizes = [max(len(found), 1) for found in answers]
    index = np.repeat(np.arange(len(rows), dtype=np.intp), sizes)
    number = [k for size in sizes for k in range(size)]
    texts: list[str | None] = []
    for row, found in enumerate(answers):
        texts += found or [rows.texts[row]]
    first = np.array(number) == 0
    records = rows.records.take(index).with_factors(
        repetition=Factor.from_values([str(k + 1) for k in number])
    )
    verdicts = {n: np.where(first, v[index], np.nan) for n, v in rows.verdicts.items()}
    return Replies(records, texts, [None] * len(texts), verdicts)


def _answers(resps: Any, where: str) -> list[str]:
    """Flatten the answers of one document: a list of requests, each a list of repeats."""
    if not isinstance(resps, list):
        return []
    flat = [answer for part in resps for answer in (part if isinstance(part, list) else [part])]
    if any(not isinstance(answer, str) for answer in flat):
        raise DataError(
            f"{where}: resps hold log-likelihoods, no words: the task has no replies to score. "
            "Give the samples of a task that generates."
        )
    return flat
