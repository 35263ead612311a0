"""Which code is found in a reply: fences of every kind, what is empty, what does not parse."""

from __future__ import annotations

import ast
import json
import pathlib
import random
import sys

import pytest

from simtrack.errors import InputError
from simtrack.scoring.artifacts.artifact import ArtifactRules, fenced_blocks, read_artifact
from simtrack.scoring.artifacts.facts import facts_of
from simtrack.scoring.artifacts.presence import foreign_modules, stdlib_modules

TASK = "def solve(n):\n    return n + 1\n"


def functions(reply: str) -> list[str]:
    facts = read_artifact(reply).facts
    assert facts is not None
    return sorted(facts.functions)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (f"Here:\n```python\n{TASK}```\nbye.", TASK),
        (f"Here:\n```py\n{TASK}```", TASK),
        (f"Here:\n```\n{TASK}```", TASK),
        (f"Here:\n~~~ Python3 title=x\n{TASK}~~~~", TASK),
        (f"Here:\n```{{.python}}\n{TASK}```", TASK),
        (f"Here:\r\n```python\r\n{TASK}```\r\n", TASK),
        # Two blocks in their order; the second ends without a line break before its fence.
        (f"A, then B:\n```python\na = 1\n```\nand\n```python\n{TASK}```\n", "a = 1\n" + TASK),
        # Blocks of other languages are left out.
        (f"Run it!\n```bash\npip install x\n```\n```python\n{TASK}```", TASK),
        # A fence that is indented in a list takes its indentation off the lines.
        ("1. So:\n   ```python\n   def solve():\n       pass\n   ```", "def solve():\n    pass\n"),
        # A longer fence is not closed by a shorter one.
        (f"See:\n````python\n{TASK}# ```\n````", TASK + "# ```\n"),
        # Cut off before its closing fence.
        (f"See here:\n```python\n{TASK}", TASK),
        (TASK, TASK),
    ],
)
def test_code_is_found_where_it_stands(reply: str, code: str) -> None:
    found = read_artifact(reply)
    assert (found.kind, found.code) == ("parsed", code)


def test_code_that_is_split_over_fences_is_one_program() -> None:
    # Neither part parses alone: the second is indented as the body of the first.
    reply = "First\n```python\ndef solve():\n    a = 1\n```\nthen\n```python\n    return a\n```\n"
    assert functions(reply) == ["solve"]


def test_unpaired_closing_fence_ends_the_code_before_it() -> None:
    # Hand case H26: the two lines, not an empty string behind the fence.
    found = read_artifact("import math\nprint(math.gcd(12, 18))\n```")
    assert (found.kind, found.source) == ("parsed", "before an unpaired fence")
    assert found.code == "import math\nprint(math.gcd(12, 18))\n"
    # With words after it, what precedes is code and what follows is not.
    told = read_artifact(f"{TASK}```\nThis adds one.")
    assert (told.kind, told.code) == ("parsed", TASK)


def test_unpaired_fence_between_code_and_words_that_parse() -> None:
    # One word is Python, too, but no statement: the code is what precedes.
    assert read_artifact(f"{TASK}```\nDone").code == TASK
    # Code on both sides: Markdown says that an unpaired fence opens.
    assert read_artifact(f"x = 1\n```\n{TASK}").code == TASK


def test_a_block_is_closed_by_its_own_sign() -> None:
    inner = "a\n```\nb\n"
    for fence in ("````", "~~~", "~~~~"):
        blocks = fenced_blocks(f"{fence}text\n{inner}{fence}\n", ("python",))
        assert [(block.language, block.code) for block in blocks] == [("text", inner)]


def test_unpaired_opening_fence_opens() -> None:
    assert read_artifact(f"This adds one:\n```\n{TASK}").code == TASK
    # Where neither side is code there is none, and it is not taken as an empty artifact.
    assert read_artifact("The code is here, as you asked:\n```").kind == "unparseable"
    assert read_artifact("The code is here, as you asked:\n```python\n").kind == "empty"


def test_whole_reply_that_parses_wins_over_fences_in_its_strings() -> None:
    # Hand case H25 in Python: the fences are text of a string.
    code = f'NOTE = """Looks wrong:\n```py\nx = {{1: 2}}\n```\nso no."""\n{TASK}'
    found = read_artifact(code)
    assert (found.source, found.code) == ("whole reply", code)
    json_reply = '{"verdict": "fail", "body": "Looks wrong:\\n```py\\nx = {1: 2}\\n```\\nso no."}'
    assert read_artifact(json_reply).code == json_reply


@pytest.mark.parametrize("quote", ['"""', "'''"])
def test_fence_in_a_string_of_a_block_does_not_close_it(quote: str) -> None:
    code = f"def solve():\n    return {quote}\n```\nx\n```\n{quote}\n\ndef audit_log(): pass\n"
    found = read_artifact(f"See:\n```python\n{code}```\nDone.")
    assert (found.kind, found.code) == ("parsed", code)
    # A string that never ends keeps the nearest fence, so that what follows is not swallowed.
    blocks = fenced_blocks("```python\nx = '''\n```\nwords\n```python\ny = 1\n```\n", ("python",))
    assert [block.code for block in blocks] == ["x = '''\n", "y = 1\n"]
    # Quotes in comments and in other strings open nothing.
    plain = '# it\'s """ here\ny = \'"""\'\nz = \'a\\\'"""\'\n'
    assert fenced_blocks(f"```python\n{plain}```\n", ("python",))[0].code == plain


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("OK, done.", "empty"),  # 9 characters
        ("```python\n```", "empty"),
        ("Nothing to do, see here:\n```python\n\n```\n", "empty"),
        ("Sorry, I cannot.", "unparseable"),
        ("All of it:\n```json\n[1]\n```", "unparseable"),
        ("All of it:\n```python\ndef f(:\n```", "unparseable"),
        ("x = 1  # \x00 here", "unparseable"),
        ("x = '\ud800'  # half a pair", "unparseable"),
        ("\ufeffx = 1234567890", "parsed"),
        ("x = '\\d'  # an escape that warns", "parsed"),
        ("if x is 5: pass  # warns when compiled", "parsed"),
        ("x = " + "9" * 5000, "unparseable"),  # Python refuses to read so many digits
        ("x = " + "(" * 300 + ")" * 300, "unparseable"),
        ("x = " + "-" * 100_000 + "1", "unparseable"),
        ("x = " + "+".join("1" * 1000), "unparseable"),
        ("x = a" + ".b" * 20_000, "unparseable"),
        ("x = 1\n" * 40_000, "unparseable"),  # 240,000 characters
    ],
)
def test_class_of_a_reply(reply: str, kind: str) -> None:
    found = read_artifact(reply)
    assert found.kind == kind
    assert (found.facts is not None) == (kind == "parsed")
    assert (found.fault == "") == (kind == "parsed")


def test_cut_off_for_empty_is_declared() -> None:
    reply = "x = 1234567890"  # 14 characters
    assert read_artifact(reply).kind == "parsed"
    assert read_artifact(reply, ArtifactRules(empty_below=15)).kind == "empty"
    assert read_artifact(f"\n{reply} \n", ArtifactRules(empty_below=14)).kind == "parsed"
    assert read_artifact("x = 1", ArtifactRules(empty_below=0)).kind == "parsed"
    assert read_artifact("", ArtifactRules(empty_below=0)).kind == "empty"


def test_depth_decides_alike_however_deep_the_caller_stands() -> None:
    code = "x = " + "not " * 380 + "1"  # module, assignment, 380 nots, a constant

    def call(depth: int) -> str:
        return read_artifact(code).kind if depth == 0 else call(depth - 1)

    assert {call(0), call(500)} == {"parsed"}
    assert read_artifact("x = " + "not " * 420 + "1").kind == "unparseable"


def test_nothing_is_run() -> None:
    found = read_artifact("import sys\nsys.simtrack_ran = True\nraise SystemExit")
    assert found.kind == "parsed"
    assert not hasattr(sys, "simtrack_ran")


def test_rules_are_checked() -> None:
    assert ArtifactRules.from_dict(ArtifactRules(("Py",), 3).to_dict()) == ArtifactRules(("py",), 3)
    with pytest.raises(InputError, match="Did you mean empty_below"):
        ArtifactRules.from_dict({"empty_bellow": 3})
    with pytest.raises(InputError, match="max_depth must be an integer from 1 to 500"):
        ArtifactRules(max_depth=501)


def test_standard_library_is_that_of_python() -> None:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    public = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    assert stdlib_modules(own) == public
    # What's New: 3.11 brought tomllib and dropped binhex; 3.12 dropped distutils; PEP 594 the rest.
    assert {"binhex"} == stdlib_modules("3.10") - stdlib_modules("3.11")
    assert {"distutils", "imp"} <= stdlib_modules("3.11") - stdlib_modules("3.12")
    assert len(stdlib_modules("3.12") - stdlib_modules("3.13")) == 20  # 19 of PEP 594, and lib2to3
    with pytest.raises(InputError, match=r"one of 3\.10"):
        stdlib_modules("2.7")


@pytest.mark.parametrize(
    ("code", "foreign"),
    [
        ("import math, os.path\nfrom collections.abc import Mapping", ()),
        ("from __future__ import annotations\nimport _thread", ()),
        ("import numpy as np", ("numpy",)),
        (
            "def f():\n    try:\n        import yaml.reader\n    except ImportError:\n        pass",
            ("yaml",),
        ),
        ("from . import a\nfrom .b import c", (".",)),
        ("import importlib as i\ni.import_module('torch.nn')", ("torch",)),
        ("from importlib import import_module as load\nload(name='jax')", ("jax",)),
        ("__import__('pandas')", ("pandas",)),
        ("import importlib\nimportlib.import_module('.x', 'y')", (".",)),
        ("__import__('nu' + 'mpy')", ()),  # a computed name is not seen
    ],
)
def test_foreign_modules(code: str, foreign: tuple[str, ...]) -> None:
    facts = facts_of(ast.parse(code), 100)
    assert facts is not None
    assert foreign_modules(facts) == foreign
    assert facts.unknown_imports == (1 if "+" in code else 0)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("```" + " " * 190_000 + "`", "unparseable"),
        ("~" * 190_000 + "`", "unparseable"),
        (" " * 190_000 + "`", "empty"),
        ("```python\n'''\n" + "```\n" * 45_000, "unparseable"),
        ("```python\n\\'''\n```\n" * 9_000, "unparseable"),
        ("```python\n'''\n```\n```python\n\"\"\"\n```\n" * 5_000, "unparseable"),
        ("# it's\n```\n" * 16_000, "parsed"),
        ("x = 1\n```\n" * 19_000, "parsed"),
        ("x = '\\\n```\n" * 19_000, "unparseable"),
        ("'''\\" * 40_000, "unparseable"),
    ],
)
def test_hostile_fences_and_quotes_take_no_time(reply: str, kind: str) -> None:
    # Quadratic work on 190,000 characters would take minutes; the suite would show it.
    assert read_artifact(reply).kind == kind


SEEDS = (
    f"Here:\n```python\n{TASK}\ndef audit_log():\n    pass  # kept\n```\nDone.",
    f"{TASK}```\n",
    "```python\nx = '''\n```\n'''\n```\n~~~\ny = [1, {2: (3,)}]\n~~~\n",
    "class A:\n    @property\n    def b(self): return f'{self!r:>{10}}'\n",
    '{"a": "```py\\nx\\n```"}',
)
PIECES = (
    "```", "\n```\n", "~~~", '"""', "'", "\\", "\x00", "\ud83d", "(", "[" * 50, "    ", "\t", "#",
    "def ", "\r", "\f", "\u2028", "lambda: ", "0x", "f'{", "match x:\n case _: ", "9" * 60,
)  # fmt: skip


def mutated(rng: random.Random) -> str:
    text = rng.choice(SEEDS)
    for _ in range(rng.randint(1, 8)):
        at, end = sorted(rng.randint(0, len(text)) for _ in range(2))
        piece = rng.choice((rng.choice(PIECES), "", rng.choice(SEEDS)[at:end], text[at:end] * 2))
        text = text[:at] + piece + text[min(end, at + rng.randint(0, 12)) :]
    return text


def fuzz(rounds: int, seed: int) -> dict[str, int]:
    rng = random.Random(seed)
    seen: dict[str, int] = {}
    for _ in range(rounds):
        reply = mutated(rng)
        found = read_artifact(reply)
        assert found == read_artifact(reply)
        assert (found.facts is not None) == (found.kind == "parsed")
        seen[found.kind] = seen.get(found.kind, 0) + 1
    return seen


def test_mutated_replies_have_one_class_each() -> None:
    seen = fuzz(1_500, 1)
    # The mutants must reach all three classes, or the check says nothing.
    assert min(seen[kind] for kind in ("empty", "unparseable", "parsed")) > 20


@pytest.mark.slow
def test_ten_thousand_mutated_replies_have_one_class_each() -> None:
    assert sum(fuzz(10_000, 2).values()) == 10_000


@pytest.mark.shared
def test_hand_cases_of_fences(shared: pathlib.Path) -> None:
    lines = (shared / "cases" / "hand.jsonl").read_text(encoding="utf-8").splitlines()
    cases = {case["id"]: case["input"] for case in map(json.loads, lines)}
    whole = read_artifact(cases["H25"])
    assert (whole.kind, whole.source) == ("parsed", "whole reply")
    assert json.loads(whole.code)["verdict"] == "fail"
    told = read_artifact(json.loads(cases["H26"]))
    assert (told.kind, told.code) == ("parsed", "import math\nprint(math.gcd(12, 18))\n")
