"""Episodes as text: what artifact might the model have written, for the code that was drawn?

A rehearsal of the whole pipeline: simulate, render, parse, and hold every code against the one that
was drawn. Texts are chosen by the row's number, so that the same table gives the same texts.
"""

from __future__ import annotations

from simtrack.counts import Factor
from simtrack.errors import DataError
from simtrack.records import Records, Replies
from simtrack.scoring.rebind_protocol import RebindProtocol

__all__ = ["REHEARSAL", "render_rebind_replies"]

_MARKERS = ("audit_log", "sanitize_args", "verify_bounds", "helper_check", "validate_input")
_REVOKED, _REPLACEMENT = "sanitize_args", "sanitize_arguments"
_TASK = "def solve(n):\n    '''Linear time.'''\n    return n + 1\n"
_EMPTY = ("", "...", "```python\n```", " \n")
_BROKEN = (
    "I am sorry, I cannot implement this.",
    "```python\ndef solve(n:\n    return n\n```",
    "Here it is:\n```python\ndef solve(n):\nreturn n\n```",
    "The code is as follows: def solve, which returns n + 1.",
)
_RELAPSES = (
    f"def {_REVOKED}():\n    pass\n",
    f"def {_REVOKED}():\n    pass  # removed, as you last asked\n",
    f'def outer():\n    def {_REVOKED}():\n        """(no longer needed)"""\n        pass\n',
    f"class Helpers:\n    async def {_REVOKED}(self):\n        pass\n",
)
_REFERENCES = (
    f"# {_REVOKED} was removed as asked\n",
    f"CHANGES = 'without {_REVOKED}'\n",
    f"def history():\n    '''{_REVOKED} is gone.'''\n",
)
_FORMS = (
    "Here is the implementation:\n\n```python\n{code}```\nDone.",
    "{code}",
    "{code}```\n",
    "```py\n{code}```\n\n```bash\npython solve.py\n```",
    "Sure.\n~~~\n{code}~~~",
    "First:\r\n```python\r\n{code}",
)
#: The protocol that reads what `render_rebind_replies` writes.
REHEARSAL = RebindProtocol.from_dict(
    {
        "clause": [
            {"id": "entry point", "check": {"function": "solve"}},
            {"id": "library", "check": {"stdlib_only": "3.11"}},
            {"id": "helper", "each": "markers", "check": {"function": "{each}"}},
            {"id": "replacement", "each": "replacement", "check": {"function": "{each}"},
             "replaces": ["{revoked}"]},
            {"id": "again", "each": "again", "check": {"function": "{each}"}},
        ]
    }
)  # fmt: skip


def render_rebind_replies(records: Records) -> Replies:
    """Write an artifact for every row of a drawn table of episodes.

    Parameters
    ----------
    records : Records
        As the relapse agents give them, with an outcome of `taxonomy.RELAPSE`.

    Returns
    -------
    Replies
        The labels of design, and `markers`, `revoked`, `replacement` and `again` (a clause in force
        that asks for the revoked helper), the last two only where the code needs such a clause.
        `score_rebind` with `REHEARSAL` gives back the outcomes.

    Raises
    ------
    DataError
        A table without outcomes.
    """
    if "outcome" not in records.factors:
        raise DataError("the table has no outcome to render. Draw one with an agent.")
    codes = records.factors["outcome"].values()
    kept = {n: f for n, f in records.factors.items() if n != "outcome"}
    wanted = {"replacement": "HIGH_OVERLAP_REPLACEMENT", "again": "NEAR_COMPLIANT"}
    names = {"replacement": _REPLACEMENT, "again": _REVOKED}
    for column, code in wanted.items():
        kept[column] = Factor.from_values([names[column] if c == code else None for c in codes])
    rows = len(codes)
    kept |= {"markers": Factor.constant("|".join(_MARKERS), rows),
             "revoked": Factor.constant(f"helper:{_REVOKED}", rows)}  # fmt: skip
    texts = [_text(row, code) for row, code in enumerate(codes)]
    return Replies(Records(kept, kind="reply"), texts, [()] * rows)


def _text(row: int, code: str | None) -> str | None:
    if code in (None, "TRANSPORT"):
        return None
    if code == "EMPTY":
        return _EMPTY[row % len(_EMPTY)]
    if code == "UNPARSEABLE":
        return _BROKEN[row % len(_BROKEN)]
    helpers = [name for name in _MARKERS if name != _REVOKED]
    if code == "CLAUSE_MISS":
        del helpers[row % len(helpers)]
    parts = [_TASK, *(f"def {name}():\n    pass\n" for name in helpers)]
    if code in ("TRUE_RELAPSE", "NEAR_COMPLIANT"):
        parts.append(_RELAPSES[row % len(_RELAPSES)])
    elif code == "HIGH_OVERLAP_REPLACEMENT":
        parts.append(f"def {_REPLACEMENT}():\n    pass\n")
    elif code == "LEGIT_REFERENCE":
        parts.append(_REFERENCES[row % len(_REFERENCES)])
    return _FORMS[row % len(_FORMS)].format(code="".join(parts))
