"""No module needs itself: the import graph has no circle, however late an import stands."""

from __future__ import annotations

import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def imports(folder: pathlib.Path) -> dict[str, set[str]]:
    """What each module of a package imports: at the top, in functions, and for types alone."""
    files: dict[str, pathlib.Path] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        named: set[str] = set()
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                start = ".".join([*above, *filter(None, [node.module])])
                base = start if node.level else node.module or ""
                for alias in node.names:
                    whole = f"{base}.{alias.name}"
                    named.add(whole if whole in files else base)
        found[module] = {name for name in named if name in files} - {module}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of two or more modules (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            part = [stack.pop()]
            while part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def test_circles_are_found_where_there_are_some(tmp_path):
    package = tmp_path / "pack"
    (package / "deep").mkdir(parents=True)
    texts = {
        "__init__.py": "",
        "a.py": "from pack import b\n",
        "b.py": "def late():\n    from pack.deep.c import thing\n",
        "deep/__init__.py": "",
        "deep/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import a\n",
        "d.py": "import pack.a\n",
    }
    for name, text in texts.items():
        (package / name).write_text(text)
    assert circles(imports(package)) == [["pack.a", "pack.b", "pack.deep.c"]]


def test_the_package_has_no_import_circle():
    graph = imports(ROOT / "simtrack")
    assert len(graph) > 300
    assert sum(map(len, graph.values())) > 1000
    assert circles(graph) == []
