"""Which modules belong to the standard library of a stated Python version?"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args

from simtrack.errors import InputError
from simtrack.options import choice
from simtrack.scoring.artifacts.artifact import Artifact
from simtrack.scoring.artifacts.facts import Facts
from simtrack.scoring.protocol_file import only_keys

__all__ = [
    "DEFAULT_PYTHON",
    "PYTHONS",
    "Check",
    "CheckKind",
    "comments_of",
    "entails",
    "foreign_modules",
    "holds",
    "stdlib_modules",
]


DEFAULT_PYTHON = "3.11"
#: Of `sys.stdlib_module_names` in Python 3.11, those without a leading underscore.
_PYTHON_311 = """
abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii
bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections
colorsys compileall concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes
curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum
errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt
getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp
importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox
mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt
ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools
pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile
pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy
sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep
struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios
textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty
turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref
webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
"""
#: What each version took out and brought in, against the one before it in this list.
_CHANGES = (
    ("3.10", "tomllib", "binhex"),
    ("3.11", "binhex", "tomllib"),
    ("3.12", "asynchat asyncore distutils imp smtpd", ""),
    (
        "3.13",
        "aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap msilib nis nntplib ossaudiodev "
        "pipes sndhdr spwd sunau telnetlib uu xdrlib",
        "",
    ),
)
PYTHONS: tuple[str, ...] = tuple(version for version, _, _ in _CHANGES)


@cache
def stdlib_modules(python: str = DEFAULT_PYTHON) -> frozenset[str]:
    """Which public modules does the standard library of this Python have?

    The list is the same whatever interpreter runs. Modules that begin with an underscore are not in
    it: `foreign_modules` takes them as belonging to the library.

    Examples
    --------
    >>> "distutils" in stdlib_modules("3.11"), "distutils" in stdlib_modules("3.12")
    (True, False)
    """
    if python not in PYTHONS:
        raise InputError("python", f"one of {', '.join(PYTHONS)}", repr(python))
    names = set(_PYTHON_311.split())
    for version, gone, new in _CHANGES:
        names = (names - set(gone.split())) | set(new.split())
        if version == python:
            break
    return frozenset(names)


def foreign_modules(facts: Facts, python: str = DEFAULT_PYTHON) -> tuple[str, ...]:
    """Which modules does this code import that the standard library does not hold?

    Counted are `import a.b`, `from a.b import c`, and `importlib.import_module` or `__import__` of
    a name that is written out, wherever they stand: an import that is guarded by try is one too. A
    relative import (".") is foreign, since one file has no package. A dynamic import of a computed
    name is not seen; `facts.unknown_imports` counts those.

    Source: ReBIND section 3.3 (the standard-library-only check).

    Examples
    --------
    >>> import ast
    >>> from simtrack.scoring.artifacts.facts import facts_of
    >>> code = "import math, numpy.linalg\\nfrom . import other\\n__import__('pandas')"
    >>> foreign_modules(facts_of(ast.parse(code), 50))
    ('.', 'numpy', 'pandas')
    """
    known = stdlib_modules(python)
    found = {m for m in facts.modules if m not in known and not m.startswith("_")}
    return tuple(sorted(found | ({"."} if facts.relative else set())))


# Is this requirement met by this code? Presence checks as data, answered from a syntax tree.
CheckKind = Literal[
    "function", "class", "method", "decorated", "imports", "calls", "attribute", "keyword",
    "constant", "docstring", "comment", "binds", "stdlib_only", "recorded", "all", "any", "not",
]  # fmt: skip
_KINDS: tuple[CheckKind, ...] = get_args(CheckKind)
_GROUPS = ("all", "any", "not")
_HELD_TEXT = ("constant", "docstring", "comment")
_WITH_OF = ("method", "decorated", "keyword")
_PLACE = re.compile(r"\{(\w+)\}")
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Check:
    """What must stand in an artifact?

    Parameters
    ----------
    kind : CheckKind
        "function", "class": a definition of that name, wherever it stands (nested in functions or
        classes too). "method": a definition directly in a class (`of` names the class).
        "decorated": something with that decorator (`of` names what). "imports": that module or a
        part of it, by any import. "calls": that is called; a name without a dot is also met by
        `x.name(...)`, and aliases of imports are written out. "attribute": it is read or set.
        "keyword": an argument of that name is passed (`of` names the call). "constant",
        "docstring", "comment": one that holds this text; for "constant" also the number or other
        constant that Python shows so; an empty name is met by any. "binds": the name is bound
        (Python reference 4.2.1: assignments, parameters, definitions, imports and so on).
        "stdlib_only": nothing outside the standard library of the Python version `name` is
        imported. "recorded": the outcome in the column `name` of the log, such as unit tests, which
        are never run here. "all", "any", "not": of `checks`.
    name, of : str
    checks : tuple of Check

    Examples
    --------
    >>> check = Check.from_dict({"all": [{"function": "audit_log"}, {"not": {"calls": "print"}}]})
    >>> check.checks[0]
    Check(kind='function', name='audit_log', of='', checks=())
    >>> Check.from_dict(check.to_dict()) == check
    True
    """

    kind: CheckKind
    name: str = ""
    of: str = ""
    checks: tuple[Check, ...] = ()

    def __post_init__(self) -> None:
        choice("kind", self.kind, CheckKind)
        if self.kind in _GROUPS:
            if not self.checks or self.name or (self.kind == "not" and len(self.checks) != 1):
                raise InputError(self.kind, "of checks (of one for not)", len(self.checks))
        elif self.checks or not isinstance(self.name, str) or not isinstance(self.of, str):
            raise InputError(self.kind, "a name", repr(self.name))
        elif not self.name and self.kind not in _HELD_TEXT:
            raise InputError(self.kind, "a name", "nothing")
        if self.of and self.kind not in _WITH_OF:
            raise InputError("of", f"for {', '.join(_WITH_OF)} only", f"{self.kind} with {self.of}")
        if self.kind == "stdlib_only" and not _PLACE.search(self.name):
            stdlib_modules(self.name)

    @classmethod
    def from_dict(cls, content: Any, where: str = "check", depth: int = 0) -> Check:
        """Make a check from plain data such as {"function": "f"} or {"method": "push", "of": "S"}.

        "all" and "any" take a list of checks, "not" takes one; {"stdlib_only": true} stands for
        Python 3.11.
        """
        if not isinstance(content, Mapping):
            raise InputError("check", 'a table such as {function = "f"}', repr(content),
                             where=where)  # fmt: skip
        only_keys(content, (*_KINDS, "of"), where)
        kinds = [key for key in content if key != "of"]
        if len(kinds) != 1 or depth > _DEEPEST:
            rule = f"one of {', '.join(_KINDS)}, nested {_DEEPEST} deep at most"
            raise InputError("check", rule, ", ".join(kinds) or "none", where=where)
        kind: CheckKind = choice("kind", kinds[0], CheckKind)
        told = content[kind]
        if kind in _GROUPS:
            listed = [told] if kind == "not" else told
            if not isinstance(listed, Sequence) or isinstance(listed, str) or "of" in content:
                raise InputError(kind, "a list of checks", repr(told), where=where)
            return cls(kind, checks=tuple(cls.from_dict(c, where, depth + 1) for c in listed))
        if kind == "stdlib_only" and told is True:
            told = DEFAULT_PYTHON
        return cls(kind, told, content.get("of", ""))

    def to_dict(self) -> dict[str, Any]:
        """Give plain data that `from_dict` reads."""
        if self.kind == "not":
            return {"not": self.checks[0].to_dict()}
        if self.kind in _GROUPS:
            return {self.kind: [check.to_dict() for check in self.checks]}
        return {self.kind: self.name} | ({"of": self.of} if self.of else {})

    def places(self) -> frozenset[str]:
        """Which columns does it name in braces, to be filled from a row?"""
        own = {*_PLACE.findall(self.name), *_PLACE.findall(self.of)}
        return frozenset(own.union(*(check.places() for check in self.checks)))

    def filled(self, labels: Mapping[str, str]) -> Check:
        """Put labels of a row in the place of {column}.

        Examples
        --------
        >>> Check("function", "{entry_point}").filled({"entry_point": "solve"}).name
        'solve'
        """
        if not self.places():
            return self
        name, of = (
            _PLACE.sub(lambda m: labels.get(m[1], m[0]), text) for text in (self.name, self.of)
        )
        return replace(self, name=name, of=of, checks=tuple(c.filled(labels) for c in self.checks))

    def positives(self) -> tuple[Check, ...]:
        """Which of its parts ask for something to be there?"""
        if self.kind == "not":
            return ()
        if self.kind in _GROUPS:
            return tuple(part for check in self.checks for part in check.positives())
        return () if self.kind in ("stdlib_only", "recorded") else (self,)


def holds(
    check: Check, artifact: Artifact, recorded: Mapping[str, bool | None] | None = None
) -> bool | None:
    """Does a parsed artifact meet a check? None where it hangs on an outcome nobody recorded.

    `all`, `any` and `not` follow Kleene's logic: an unknown part decides nothing by itself.

    Parameters
    ----------
    check : Check
    artifact : Artifact
        With facts: `kind` "parsed".
    recorded : mapping of column to bool or None
        Outcomes of the log for this row.

    Examples
    --------
    >>> from simtrack.scoring.artifacts.artifact import read_artifact
    >>> found = read_artifact("def solve():\\n    def audit_log(): pass")
    >>> holds(Check("function", "audit_log"), found), holds(Check("calls", "print"), found)
    (True, False)
    """
    if artifact.facts is None:
        raise InputError("artifact", "parsed", artifact.kind)
    if check.kind in _GROUPS:
        found = [holds(part, artifact, recorded) for part in check.checks]
        if check.kind == "not":
            return None if found[0] is None else not found[0]
        settled = check.kind == "any"
        if settled in found:
            return settled
        return None if None in found else not settled
    if check.kind == "recorded":
        return (recorded or {}).get(check.name)
    return _is_there(check, artifact, artifact.facts)


def _is_there(check: Check, artifact: Artifact, facts: Facts) -> bool:
    """Answer a check of one thing."""
    name, of = check.name, check.of
    sets = {"function": facts.functions, "class": facts.classes, "binds": facts.bound,
            "attribute": facts.attributes, "imports": facts.imports}  # fmt: skip
    if check.kind in sets:
        return name in sets[check.kind]
    if check.kind == "stdlib_only":
        return not foreign_modules(facts, name)
    if check.kind == "calls":
        return any(_is_call(call, name) for call in facts.calls)
    if check.kind in _WITH_OF:
        return _is_part(check.kind, name, of, facts)
    return _is_held(check.kind, name, artifact, facts)


def _is_part(kind: CheckKind, name: str, of: str, facts: Facts) -> bool:
    if kind == "method":
        return any(method == name and of in ("", owner) for owner, method in facts.methods)
    if kind == "decorated":
        return any(_is_call(d, name) and of in ("", target) for d, target in facts.decorated)
    return any(k == name and (not of or _is_call(call, of)) for call, k in facts.keywords)


def _is_held(kind: CheckKind, name: str, artifact: Artifact, facts: Facts) -> bool:
    if kind == "comment":
        return any(name in text for text in comments_of(artifact.code))
    if kind == "docstring":
        return any(name in text for text in facts.docstrings)
    return name in facts.numbers or any(name in text for text in facts.strings)


def _is_call(call: str, name: str) -> bool:
    return name in (call, call.rpartition(".")[2])


def comments_of(code: str) -> list[str]:
    """Give the comments of code that parses, by `tokenize`; none where it cannot read on."""
    if "#" not in code:
        return []
    found: list[str] = []
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    with suppress(tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        found.extend(token.string for token in tokens if token.type == tokenize.COMMENT)
    return found


def entails(stronger: Check, weaker: Check) -> bool:
    """Does whatever meets the first check meet the second, going by their form?

    True for equal checks, for a part of `all`, for all alternatives of `any`, and for texts that
    hold the other text. Nothing else is tried: False means that it does not follow from the form.

    Examples
    --------
    >>> entails(Check.from_dict({"all": [{"function": "f"}, {"calls": "g"}]}), Check("calls", "g"))
    True
    """
    if stronger == weaker:
        return True
    if weaker.kind == "all":
        return all(entails(stronger, part) for part in weaker.checks)
    if stronger.kind == "any":
        return all(entails(part, weaker) for part in stronger.checks)
    if stronger.kind == "all" and any(entails(part, weaker) for part in stronger.checks):
        return True
    if weaker.kind == "any":
        return any(entails(stronger, part) for part in weaker.checks)
    texts = stronger.kind == weaker.kind and weaker.kind in ("docstring", "comment")
    return texts and weaker.name in stronger.name
