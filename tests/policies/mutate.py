"""Changes each predicate of the rules, one at a time, and tells which change no case notices.

Started as `mutate.py` with the cases as JSON on standard input and the pack's folder on PYTHONPATH.

A predicate is the test of an `if`, a filter of a comprehension, an operand of `and` and `or`, what `any` and `all` ask,
a comparison that is returned. It is deleted (true, false, or without the operand) and negated. The `x or {}` of a
default is none.
"""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("rules", "stack_view")
_UNTOUCHED = ("__init__", "gpu_quota", "properties", "rule")
"""Rules that have tests of their own, and how every rule reads and reports."""


def mutants(source: str) -> Iterator[tuple[str, ast.Module]]:
    """Each change of a module: where and what, and the changed module."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    for index, node in enumerate(nodes):
        for field, position, replacement, what in _changes(node):
            changed = copy.deepcopy(tree)
            owner = list(ast.walk(changed))[index]
            new = copy.deepcopy(replacement)
            if position is None:
                setattr(owner, field, new)
            else:
                getattr(owner, field)[position : position + 1] = [] if new is None else [new]
            if isinstance(owner, ast.BoolOp) and len(owner.values) == 1:
                owner.values.append(ast.Constant(isinstance(owner.op, ast.And)))
            line = getattr(node, "lineno", None) or getattr(getattr(node, field)[position or 0], "lineno", 0)
            yield f"{line}: {what}", ast.fix_missing_locations(changed)


def _changes(node: ast.AST) -> Iterator[tuple[str, int | None, ast.expr | None, str]]:
    if isinstance(node, ast.If | ast.IfExp):
        yield from _of_test(node, "test", None, node.test)
    elif isinstance(node, ast.comprehension):
        for position, test in enumerate(node.ifs):
            yield "ifs", position, None, f"delete `{ast.unparse(test)}`"
            yield "ifs", position, _negated(test), f"negate `{ast.unparse(test)}`"
    elif isinstance(node, ast.BoolOp) and not _is_default(node):
        for position, value in enumerate(node.values):
            yield "values", position, None, f"delete `{ast.unparse(value)}` of `{ast.unparse(node)}`"
            yield "values", position, _negated(value), f"negate `{ast.unparse(value)}` of `{ast.unparse(node)}`"
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Compare):
        yield "value", None, _negated(node.value), f"negate `{ast.unparse(node)}`"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("any", "all"):
        given = node.args[0]
        if isinstance(given, ast.GeneratorExp):
            yield "args", 0, _with(given, _negated(given.elt)), f"negate `{ast.unparse(given.elt)}`"


def _of_test(
    node: ast.AST, field: str, position: int | None, test: ast.expr
) -> Iterator[tuple[str, int | None, ast.expr, str]]:
    shown = ast.unparse(test)
    yield field, position, _negated(test), f"negate `{shown}`"
    yield field, position, ast.Constant(True), f"true instead of `{shown}`"
    yield field, position, ast.Constant(False), f"false instead of `{shown}`"


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _with(generator: ast.GeneratorExp, element: ast.expr) -> ast.expr:
    return ast.GeneratorExp(element, generator.generators)


def _is_default(node: ast.BoolOp) -> bool:
    """Whether it is `x or {}` or `x or "none"`."""
    last = node.values[-1]
    is_value = isinstance(last, ast.Dict | ast.List | ast.Set | ast.Tuple | ast.Constant | ast.JoinedStr)
    return isinstance(node.op, ast.Or) and is_value


class _Loader(importlib.abc.Loader):
    """Loads a module from a changed tree."""

    def __init__(self, tree: ast.Module, path: Path) -> None:
        self.tree, self.path = tree, path

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one changed module; all others are as they are."""

    def __init__(self, name: str, loader: _Loader) -> None:
        self.name, self.loader = name, loader

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self.loader) if name == self.name else None


def policies_of(modules: Sequence[str]) -> dict[str, Any]:
    """The policies of modules of rules, freshly imported."""
    return {policy.name: policy for name in modules for policy in importlib.import_module(name).POLICIES}


def forget() -> None:
    """Makes the next import read the rules again."""
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]


def notices(policies: dict[str, Any], cases: Sequence[dict[str, Any]], stacks: Sequence[Any]) -> bool:
    """Whether a case of one of these rules fails."""
    from tests.policies.evaluator import reports

    for case, stack in zip(cases, stacks, strict=True):
        if policy := policies.get(case["rule"]):
            try:
                told = reports(policy, stack, case["config"])
            except Exception:  # a rule that crashes fails its test
                return True
            if len(told) != len(case["says"]) or not all(any(said in one for one in told) for said in case["says"]):
                return True
    return False


def main() -> None:
    """Prints the changes that no case notices, and their number."""
    from tests.policies.evaluator import stack

    cases = json.load(sys.stdin)
    stacks = [stack(case["resources"]) for case in cases]
    pack = Path(importlib.import_module("rules").__file__ or "").parents[1]
    of_rules = [f"rules.{path.stem}" for path in sorted((pack / "rules").glob("*.py")) if path.stem != "__init__"]
    tried = 0
    for path in sorted(path for package in PACKAGES for path in (pack / package).glob("*.py")):
        name = f"{path.parent.name}.{path.stem}"
        if path.stem in _UNTOUCHED:
            continue
        for what, tree in mutants(path.read_text()):
            tried += 1
            forget()
            finder = _Finder(name, _Loader(tree, path))
            sys.meta_path.insert(0, finder)
            try:
                policies = policies_of([name] if name in of_rules else of_rules)
            finally:
                sys.meta_path.remove(finder)
            if not notices(policies, cases, stacks):
                print(f"{path.parent.name}/{path.name}:{what}", flush=True)
    print(f"{tried} changes")


if __name__ == "__main__":
    main()
