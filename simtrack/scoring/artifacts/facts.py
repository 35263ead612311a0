"""What does a syntax tree hold? Names, definitions, imports, calls, strings, in one walk."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Facts", "facts_of"]

_IMPORTERS = (
    "importlib.import_module",
    "importlib.__import__",
    "__import__",
    "builtins.__import__",
)


@dataclass(slots=True)
class Facts:
    """What stands in some Python code?

    Attributes
    ----------
    statements : int
        Statements of the module that are more than a bare expression.
    functions, classes, bound, names, arguments : sets of str
        Definitions wherever they stand, nested ones and methods too; names that are bound (Python
        reference 4.2.1: assignment, parameter, import, definition, for, with, except, match and
        so on); names that are read; names of keyword arguments.
    methods : set of (class, method)
    decorated : set of (decorator, what it decorates)
    imports : set of str
        Every module with the packages above it, and `module.name` for what is imported from it.
    modules : set of str
        First parts of what is imported, also by `importlib.import_module` or `__import__` of a
        name written out.
    relative : bool
        Is there a relative import?
    unknown_imports : int
        Dynamic imports of a name that is not written out.
    calls : set of str
        What is called, by its dotted name as written and with aliases of imports written out.
    keywords : set of (call, keyword)
    attributes : set of str
    strings, docstrings : lists of str
    numbers : set of str
        Other constants, as Python shows them.
    """

    statements: int = 0
    functions: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    methods: set[tuple[str, str]] = field(default_factory=set)
    decorated: set[tuple[str, str]] = field(default_factory=set)
    imports: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    relative: bool = False
    unknown_imports: int = 0
    calls: set[str] = field(default_factory=set)
    keywords: set[tuple[str, str]] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    strings: list[str] = field(default_factory=list)
    docstrings: list[str] = field(default_factory=list)
    numbers: set[str] = field(default_factory=set)


def facts_of(tree: ast.Module, max_depth: int) -> Facts | None:
    """Walk a tree level by level; None if it has more than `max_depth` levels.

    Examples
    --------
    >>> found = facts_of(ast.parse("def f():\\n    def g(): pass"), 50)
    >>> sorted(found.functions)
    ['f', 'g']
    """
    walk = _Walk()
    level: list[ast.AST | None] = [tree]
    depth = 0
    visit, fields = _VISITS.get, _FIELDS
    while level:
        depth += 1
        if depth > max_depth:
            return None
        below: list[ast.AST | None] = []
        for node in level:
            if node is None:  # the missing keys of {**a}, the missing defaults of parameters
                continue
            act = visit(node.__class__)
            if act is not None:
                act(walk, node)
            for name in fields[node.__class__]:
                value = getattr(node, name)
                if value.__class__ is list:
                    below += value
                elif value is not None:
                    below.append(value)
        level = below
    facts = walk.facts
    facts.statements = sum(1 for node in tree.body if not isinstance(node, ast.Expr))
    _resolve(walk)
    return facts


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """Which fields of a class of nodes hold nodes to visit; found out once a class."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        plain = _OTHERWISE.get(kind.__name__, _PLAIN)
        self[kind] = found = tuple(name for name in kind._fields if name not in plain)
        return found


#: Fields that hold text, numbers, or nodes without anything below (operators, contexts, aliases).
_PLAIN = frozenset((
    "ctx", "op", "ops", "id", "attr", "arg", "name", "names", "asname", "module", "level", "kind",
    "type_comment", "simple", "is_async", "conversion", "rest", "kwd_attrs", "type_ignores",
))  # fmt: skip
#: Nodes whose field is another thing than that of the same name elsewhere: a constant, a node.
_OTHERWISE = {"Constant": _PLAIN | {"value"}, "MatchSingleton": _PLAIN | {"value"},
              "TypeAlias": _PLAIN - {"name"}}  # fmt: skip
_FIELDS = _Fields()


class _Walk:
    """What a walk has found so far; calls wait for the aliases of imports."""

    __slots__ = ("aliases", "called", "decorators", "facts")

    def __init__(self) -> None:
        self.facts = Facts()
        self.aliases: dict[str, set[str]] = {}
        self.called: list[tuple[str, ast.Call]] = []
        self.decorators: list[tuple[str, str]] = []


def _resolve(walk: _Walk) -> None:
    """Write aliases of imports out: np.array is numpy.array after `import numpy as np`."""
    facts = walk.facts
    for name, call in walk.called:
        for full in _written_out(name, walk.aliases):
            facts.calls.add(full)
            for keyword in call.keywords:
                if keyword.arg is not None:
                    facts.keywords.add((full, keyword.arg))
            if full in _IMPORTERS:
                _dynamic(facts, call)
    for decorator, target in walk.decorators:
        for full in _written_out(decorator, walk.aliases):
            facts.decorated.add((full, target))


def _written_out(name: str, aliases: dict[str, set[str]]) -> list[str]:
    head, dot, rest = name.partition(".")
    return [name, *(f"{module}{dot}{rest}" for module in sorted(aliases.get(head, ())))]


def _dynamic(facts: Facts, call: ast.Call) -> None:
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "name")]
    name = given[0] if given else None
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        facts.unknown_imports += 1
    elif name.value.startswith("."):
        facts.relative = True
    else:
        _imported(facts, name.value)


def _imported(facts: Facts, module: str) -> None:
    parts = module.split(".")
    facts.modules.add(parts[0])
    facts.imports.update(".".join(parts[: k + 1]) for k in range(len(parts)))


def _dotted(node: ast.expr) -> str:
    """Give a.b.c of an expression; what is no name is left out: f().b is .b."""
    parts: list[str] = []
    at: ast.expr = node
    while isinstance(at, ast.Attribute):
        parts.append(at.attr)
        at = at.value
    parts.append(at.id if isinstance(at, ast.Name) else "")
    return ".".join(reversed(parts))


def _docstring(facts: Facts, body: list[ast.stmt]) -> None:
    first = body[0] if body else None
    value = first.value if isinstance(first, ast.Expr) else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        facts.docstrings.append(value.value)


def _module(walk: _Walk, node: ast.Module) -> None:
    _docstring(walk.facts, node.body)


def _function(walk: _Walk, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    walk.facts.functions.add(node.name)
    _defined(walk, node)


def _class(walk: _Walk, node: ast.ClassDef) -> None:
    walk.facts.classes.add(node.name)
    for inner in node.body:
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            walk.facts.methods.add((node.name, inner.name))
    _defined(walk, node)


def _defined(walk: _Walk, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    walk.facts.bound.add(node.name)
    _docstring(walk.facts, node.body)
    for decorator in node.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        walk.decorators.append((_dotted(made), node.name))


def _import(walk: _Walk, node: ast.Import) -> None:
    for alias in node.names:
        _imported(walk.facts, alias.name)
        short = alias.asname or alias.name.partition(".")[0]
        walk.facts.bound.add(short)
        if alias.asname is not None:
            walk.aliases.setdefault(short, set()).add(alias.name)


def _import_from(walk: _Walk, node: ast.ImportFrom) -> None:
    module = node.module or ""
    if node.level:
        walk.facts.relative = True
    else:
        _imported(walk.facts, module)
    for alias in node.names:
        if alias.name == "*":
            continue
        short = alias.asname or alias.name
        walk.facts.bound.add(short)
        if not node.level:
            walk.facts.imports.add(f"{module}.{alias.name}")
            walk.aliases.setdefault(short, set()).add(f"{module}.{alias.name}")


def _call(walk: _Walk, node: ast.Call) -> None:
    walk.called.append((_dotted(node.func), node))


def _attribute(walk: _Walk, node: ast.Attribute) -> None:
    walk.facts.attributes.add(node.attr)


def _name(walk: _Walk, node: ast.Name) -> None:
    if isinstance(node.ctx, ast.Store):
        walk.facts.bound.add(node.id)
    else:
        walk.facts.names.add(node.id)


def _argument(walk: _Walk, node: ast.arg) -> None:
    walk.facts.bound.add(node.arg)


def _constant(walk: _Walk, node: ast.Constant) -> None:
    if isinstance(node.value, str):
        walk.facts.strings.append(node.value)
        return
    try:
        walk.facts.numbers.add(repr(node.value))
    except ValueError:  # an integer of thousands of digits has no text
        return


def _except(walk: _Walk, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
    if node.name is not None:
        walk.facts.bound.add(node.name)


def _match_rest(walk: _Walk, node: ast.MatchMapping) -> None:
    if node.rest is not None:
        walk.facts.bound.add(node.rest)


_VISITS: dict[type[ast.AST], Callable[[_Walk, Any], None]] = {
    ast.Module: _module,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Call: _call,
    ast.Attribute: _attribute,
    ast.Name: _name,
    ast.arg: _argument,
    ast.Constant: _constant,
    ast.ExceptHandler: _except,
    ast.MatchAs: _except,
    ast.MatchStar: _except,
    ast.MatchMapping: _match_rest,
}
