"""Is a requirement met: one small program a kind, nested definitions and aliases included."""

from __future__ import annotations

import pytest

from simtrack.errors import InputError
from simtrack.scoring.artifacts.artifact import read_artifact
from simtrack.scoring.artifacts.presence import Check, comments_of, entails, holds

CODE = '''\
"""Solve it in O(n) time."""
from __future__ import annotations
import numpy as np, os.path
from math import gcd as divisor
from functools import lru_cache

LIMIT: int = 250  # keep small

class Stack:
    """A stack."""

    @property
    def top(self):
        return self.items[-1]

    async def push(self, item, *, deep=False):
        def audit_log():
            pass
        (n := item)

@lru_cache(maxsize=None)
def solve(values, *rest, **options):
    total = sum(values)
    for i, (a, b) in enumerate(zip(values, rest)):
        print(a, end="# not a comment")
    with open("f") as handle:
        handle.read()
    try:
        return divisor(total, np.linalg.norm(values, ord=2))
    except ValueError as trouble:
        raise
    match values:
        case [first, *others]:
            pass
        case {"k": _, **spare}:
            pass
'''


def met(**check: object) -> bool | None:
    return holds(Check.from_dict(check), read_artifact(CODE))


@pytest.mark.parametrize(
    ("there", "not_there"),
    [
        # Nested in a method, a method, a coroutine: a definition counts wherever it stands.
        ({"function": "audit_log"}, {"function": "Stack"}),
        ({"function": "push"}, {"function": "divisor"}),
        ({"class": "Stack"}, {"class": "solve"}),
        # A function in a method is no method of the class.
        ({"method": "push", "of": "Stack"}, {"method": "audit_log"}),
        ({"method": "top"}, {"method": "push", "of": "Queue"}),
        ({"decorated": "lru_cache", "of": "solve"}, {"decorated": "lru_cache", "of": "push"}),
        ({"decorated": "functools.lru_cache"}, {"decorated": "cache"}),
        ({"decorated": "property", "of": "top"}, {"decorated": "staticmethod"}),
        ({"imports": "numpy"}, {"imports": "np"}),
        ({"imports": "os"}, {"imports": "path"}),
        ({"imports": "math.gcd"}, {"imports": "math.lcm"}),
        # As written, by the last part, and with the alias of the import written out.
        ({"calls": "np.linalg.norm"}, {"calls": "linalg.norm"}),
        ({"calls": "norm"}, {"calls": "nor"}),
        ({"calls": "numpy.linalg.norm"}, {"calls": "numpy.norm"}),
        ({"calls": "math.gcd"}, {"calls": "math.sqrt"}),
        ({"calls": "print"}, {"calls": "solve"}),
        ({"attribute": "items"}, {"attribute": "total"}),
        ({"keyword": "ord"}, {"keyword": "deep"}),
        ({"keyword": "end", "of": "print"}, {"keyword": "ord", "of": "print"}),
        ({"constant": "not a comment"}, {"constant": "keep small"}),
        ({"constant": "250"}, {"constant": "251"}),
        ({"constant": "None"}, {"constant": "True"}),
        ({"docstring": "O(n)"}, {"docstring": "f"}),
        ({"docstring": "A stack"}, {"docstring": "# keep"}),
        ({"comment": "keep small"}, {"comment": "not a comment"}),
        ({"binds": "LIMIT"}, {"binds": "enumerate"}),
        ({"binds": "n"}, {"binds": "items"}),
        ({"binds": "b"}, {"binds": "lin"}),
    ],
)
def test_what_is_there_is_found(there: dict[str, str], not_there: dict[str, str]) -> None:
    assert met(**there) is True
    assert met(**not_there) is False


BOUND = (
    "LIMIT Stack top push audit_log n item deep solve values rest options total i a b handle "
    "trouble first others spare np os divisor lru_cache annotations self"
)


@pytest.mark.parametrize("name", BOUND.split())
def test_names_are_bound_as_in_the_language_reference(name: str) -> None:
    assert met(binds=name)


def test_standard_library_only() -> None:
    assert met(stdlib_only="3.11") is False  # numpy
    plain = read_artifact("import distutils.core")
    assert holds(Check("stdlib_only", "3.11"), plain)
    assert not holds(Check("stdlib_only", "3.12"), plain)


def test_logic_is_that_of_kleene() -> None:
    there, not_there, unknown = {"class": "Stack"}, {"class": "Queue"}, {"recorded": "tests"}
    # and / or / not of true, false, unknown: Kleene (1952), strong tables.
    assert met(all=[there, unknown]) is None
    assert met(all=[not_there, unknown]) is False
    assert met(any=[there, unknown]) is True
    assert met(any=[not_there, unknown]) is None
    assert met(**{"not": unknown}) is None
    assert met(**{"not": not_there}) is True
    assert met(all=[there, {"any": [not_there, there]}]) is True
    found = read_artifact(CODE)
    assert holds(Check("recorded", "tests"), found, {"tests": False}) is False


def test_comments_are_those_of_tokenize() -> None:
    code = "x = '# no'  # yes\n# and this\ny = '''\n# no\n'''\n"
    assert comments_of(code) == ["# yes", "# and this"]
    assert comments_of("x = '''# open") == []


def test_names_are_filled_from_a_row() -> None:
    check = Check.from_dict({"all": [{"function": "{entry}"}, {"method": "m", "of": "{owner}"}]})
    assert check.places() == {"entry", "owner"}
    assert check.filled({"entry": "f", "owner": "C"}).to_dict() == {
        "all": [{"function": "f"}, {"method": "m", "of": "C"}]
    }


@pytest.mark.parametrize(
    ("stronger", "weaker", "follows"),
    [
        ({"function": "f"}, {"function": "f"}, True),
        ({"function": "f"}, {"function": "g"}, False),
        ({"function": "f"}, {"class": "f"}, False),
        ({"all": [{"function": "f"}, {"calls": "g"}]}, {"calls": "g"}, True),
        ({"any": [{"function": "f"}, {"calls": "g"}]}, {"calls": "g"}, False),
        ({"calls": "g"}, {"any": [{"function": "f"}, {"calls": "g"}]}, True),
        ({"any": [{"function": "f"}, {"function": "g"}]},
         {"any": [{"function": "g"}, {"function": "f"}]}, True),
        ({"docstring": "time complexity"}, {"docstring": "complexity"}, True),
        ({"docstring": "complexity"}, {"docstring": "time complexity"}, False),
        ({"not": {"function": "f"}}, {"function": "f"}, False),
    ],
)  # fmt: skip
def test_what_follows_by_form(stronger: object, weaker: object, follows: bool) -> None:
    assert entails(Check.from_dict(stronger), Check.from_dict(weaker)) is follows


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"functoin": "f"}, "Did you mean function"),
        ({"function": "f", "class": "C"}, r"check must be one of .*got function, class"),
        ({"function": ""}, "function must be a name"),
        ({"function": 3}, "function must be a name"),
        ({"function": "f", "of": "g"}, "of must be for method"),
        ({"all": []}, "all must be of checks"),
        ({"all": "f"}, "all must be a list of checks"),
        ({"stdlib_only": "2.7"}, r"python must be one of 3\.10"),
        ("f", "check must be a table"),
    ],
)
def test_a_wrong_check_is_refused_in_one_line(content: object, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        Check.from_dict(content)
    assert "\n" not in str(caught.value)


def test_endless_nesting_is_refused() -> None:
    check: object = {"function": "f"}
    for _ in range(100):
        check = {"not": check}
    with pytest.raises(InputError, match="nested 20 deep at most"):
        Check.from_dict(check)
