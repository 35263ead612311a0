"""Which modules belong to the standard library of a stated Python version?"""

from __future__ import annotations

from functools import cache

from simtrack.errors import InputError
from simtrack.scoring.artifact_facts import Facts

__all__ = ["DEFAULT_PYTHON", "PYTHONS", "foreign_modules", "stdlib_modules"]

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
    >>> from simtrack.scoring.artifact_facts import facts_of
    >>> code = "import math, numpy.linalg\\nfrom . import other\\n__import__('pandas')"
    >>> foreign_modules(facts_of(ast.parse(code), 50))
    ('.', 'numpy', 'pandas')
    """
    known = stdlib_modules(python)
    found = {m for m in facts.modules if m not in known and not m.startswith("_")}
    return tuple(sorted(found | ({"."} if facts.relative else set())))
