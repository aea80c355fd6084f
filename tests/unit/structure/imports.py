"""Which module of the project imports which: read from the source, so that every import counts, wherever it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from tests.unit.structure import sources

Graph = Mapping[str, Set[str]]
"""The project's modules that each module imports."""

NOT_SHIPPED = frozenset({"bench", "docs", "examples", "tests"})


def modules(root: Path) -> dict[str, Path]:
    """Every module of the project by its name from the root, without tests, benchmarks and examples."""
    found = {}
    for path in sources.python_files(root):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] not in NOT_SHIPPED:
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def graph(root: Path) -> Graph:
    """What each module imports: also for types only, and inside functions."""
    known = modules(root)
    return {name: {other for other in _imported(name, path, known) if other != name} for name, path in known.items()}


def _imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in sources.nodes(path):
        if isinstance(node, ast.Import):
            names = [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (_package(name, path, node.level), node.module)))
            names = [(base, alias.name) for alias in node.names]
        else:
            continue
        for base, attribute in names:
            # A folder with an environment of its own, such as the policy pack, is the root of what it imports.
            yield from _nearest(name.partition(".")[0], base, attribute, known)
            # The folders of the project are packages of `tensorplane`.
            yield from _nearest("", f"{base}.".removeprefix("tensorplane.").removesuffix("."), attribute, known)


def _package(name: str, path: Path, level: int) -> str:
    """The package that a relative import starts from; nothing for an absolute one."""
    if not level:
        return ""
    parts = name.split(".")
    return ".".join(parts[: len(parts) - level + (path.name == "__init__.py")])


def _nearest(root: str, base: str, attribute: str, known: Mapping[str, Path]) -> Iterator[str]:
    """The module that `from base import attribute` or `import base` names: the attribute, or the module around it."""
    inner = ".".join(filter(None, (root, base, attribute)))
    while inner:
        if inner in known and inner != root:
            yield inner
            return
        inner = inner.rpartition(".")[0]


def circles(imports: Graph) -> list[list[str]]:
    """The strongly connected components of several modules (Tarjan), the largest first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(imports[module]):
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            begin = stack.index(module)
            component, stack[begin:] = sorted(stack[begin:]), []
            if len(component) > 1:
                found.append(component)

    for module in sorted(imports):
        if module not in index:
            visit(module)
    return sorted(found, key=lambda component: (-len(component), component))


def part_of(module: str) -> str:
    """The top-level package or file of a module. What Pulumi programs import is no part of the library in pods."""
    return "pulumi" if f"{module}.".startswith("runtime.tensorplane.pulumi.") else module.partition(".")[0]


def against(imports: Graph, rules: Mapping[str, Set[str]]) -> list[str]:
    """Imports of parts that the rules do not allow; a part without a rule may import nothing."""
    return sorted(
        f"{module} imports {other}"
        for module, others in imports.items()
        for other in others
        if part_of(other) not in {part_of(module)} | rules.get(part_of(module), set())
    )
