"""Claim: a full scoring of artifacts takes about twice the time of a script for one question.

The peer cuts fences out by one regular expression, parses them, and looks for definitions with
`ast.walk`. Ours reads all that checks can ask for in one walk, attributes every episode and writes
two tables of records. Equal are the functions that both find. For both, half of the time and more
is `ast.parse`, so that there is no target beyond it.
"""

from __future__ import annotations

import ast
import re
import resource

from harness import compare, heading

from simtrack.counts import Factor
from simtrack.records import Records, Replies
from simtrack.scoring import RebindProtocol, read_artifact, rebind_tables

REPLIES = 2_000
CODE = '''from typing import List


def solve(numbers: List[float], threshold: float) -> bool:
    """Are any two numbers closer than the threshold? Time: O(n log n), case {k}."""
    ordered = sorted(numbers)
    for first, second in zip(ordered, ordered[1:]):
        if abs(first - second) < threshold:
            return True
    return False


def audit_log():
    pass


def verify_bounds():
    pass
'''
PROTOCOL = RebindProtocol.from_dict(
    {
        "clause": [
            {"id": "entry point", "check": {"function": "solve"}},
            {"id": "library", "check": {"stdlib_only": "3.11"}},
            {"id": "helper", "each": "markers", "check": {"function": "{each}"}},
        ]
    }
)
_FENCED = re.compile(r"```python\n(.*?)```", re.DOTALL)


def main() -> None:
    """Time reading alone, and the whole scoring, against a script of ten lines."""
    heading("artifacts of ReBIND")
    said = [
        f"Here it is:\n\n```python\n{CODE.format(k=k)}```\nWithout check_args."
        for k in range(REPLIES)
    ]
    replies = _replies(said)
    for title, ours in (
        (f"{REPLIES} artifacts found and parsed", lambda: _functions(said)),
        (f"{REPLIES} episodes scored, two tables", lambda: _scored(replies)),
    ):
        timing = compare(title, ours, lambda: _script(said), equal=_same)
        print(
            f"  ours {REPLIES / timing.ours_s:,.0f} a second, peer {REPLIES / timing.peer_s:,.0f}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory of this process {peak:,.0f} MB")


def _functions(said: list[str]) -> list[set[str]]:
    found = [read_artifact(reply).facts for reply in said]
    return [set() if facts is None else facts.functions for facts in found]


def _scored(replies: Replies) -> list[set[str]]:
    tables = rebind_tables(replies, PROTOCOL)
    assert set(tables.episodes.factors["outcome"].values()) == {"LEGIT_REFERENCE"}
    # All clauses in force pass: the functions that they name are there.
    assert tables.clauses.numbers["value"].all()
    return [{"solve", "audit_log", "verify_bounds"}] * len(replies)


def _script(said: list[str]) -> list[set[str]]:
    found = []
    for reply in said:
        tree = ast.parse("".join(_FENCED.findall(reply)))
        found.append({n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)})
    return found


def _replies(said: list[str]) -> Replies:
    n = len(said)
    rows = Records(
        {
            "unit": Factor.from_values([f"t{k}" for k in range(n)]),
            "markers": Factor.constant("audit_log|check_args|verify_bounds", n),
            "revoked": Factor.constant("check_args", n),
        }
    )
    return Replies(rows, said, [()] * n)


def _same(ours: object, peer: object) -> None:
    assert ours == peer


if __name__ == "__main__":
    main()
