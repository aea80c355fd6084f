"""What components register has one type, and whoever reads it reads keys that the type has."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, is_typeddict

import pytest

from tensorplane.components.base import outputs
from tests.unit.structure import imports, sources

PROJECT = Path(__file__).resolve().parents[3]
_TOKEN = "tensorplane:index:"
_EMBEDDED = frozenset({"driver", "embedded", "policies"})
"""What imports nothing of components: its tokens are compared below."""


def tokens() -> set[str]:
    return {value for name, value in vars(outputs).items() if isinstance(value, str) and value.startswith(_TOKEN)}


def shapes() -> dict[str, Any]:
    return {name: value for name, value in vars(outputs).items() if is_typeddict(value)}


def wrong_registrations(root: Path) -> list[str]:
    """Components that spell their token or their keys themselves, or whose outputs may show secrets."""
    return sorted(
        f"{module}: {problem}"
        for module, path in imports.modules(root).items()
        if imports.part_of(module) in {"cli", "components", "workloads", "stack"}
        and module != "components.base.outputs"
        for problem in _problems(sources.tree(path))
    )


def _problems(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and str(node.value).startswith(_TOKEN) and node.value != _TOKEN:
            yield str(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            registers = node.func.attr == "register_outputs"
            if registers and any(map(_may_show_secrets, node.args)):
                yield "outputs that are not `encrypted.concealed`"
            begins = node.func.attr == "__init__" and any(map(_is_token, node.args))
            if registers or begins:
                yield from ("a literal key" for given in node.args if isinstance(given, ast.Dict) and given.keys)


def _may_show_secrets(node: ast.expr) -> bool:
    return not isinstance(node, ast.Dict) and not ast.unparse(node).startswith("encrypted.concealed(")


def _is_token(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr.isupper()


def test_components_register_with_shared_names_and_without_secrets() -> None:
    assert wrong_registrations(PROJECT) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("super().__init__('tensorplane:index:Thing', name, {}, opts)", "tensorplane:index:Thing"),
        ("super().__init__(facts.QUEUE, name, {'gpus': 1}, opts)", "a literal key"),
        ("self.register_outputs({'gpus': 1})", "a literal key"),
        ("self.register_outputs(made)", "outputs that are not `encrypted.concealed`"),
    ],
)
def test_a_planted_registration_is_found(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "components").mkdir()
    (tmp_path / "components/thing.py").write_text(text)
    assert wrong_registrations(tmp_path) == [f"components.thing: {found}"]


def test_every_token_that_policies_and_the_driver_name_is_registered() -> None:
    named = {
        node.value.partition("$")[0]
        for module, path in imports.modules(PROJECT).items()
        if imports.part_of(module) in _EMBEDDED
        for node in sources.nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(_TOKEN)
    }
    assert f"{_TOKEN}TrainingJob" in named
    assert named <= tokens()


def test_workloads_that_the_gpu_quota_counts_register_gpus() -> None:
    """`policies/gpu_usage/usage.py` reads one key of them."""
    source = (PROJECT / "policies" / "gpu_usage" / "usage.py").read_text()
    read = {
        node.comparators[0].value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant)
        if isinstance(node.left, ast.Name) and node.left.id == "name"
    }
    assert read == {"gpus"}
    for shape in (outputs.ModelServer, outputs.TrainingJob):
        assert read <= set(shape.__annotations__)


def test_every_shape_says_what_it_is() -> None:
    assert shapes()
    assert all(inspect.getdoc(shape) for shape in shapes().values())


def test_policies_read_the_version_that_components_register() -> None:
    source = (PROJECT / "policies" / "gpu_usage" / "facts_version.py").read_text()
    read = {
        node.targets[0].id: node.value.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Constant)
    }
    assert read == {"VERSION": outputs.VERSION, "_CLUSTER": outputs.CLUSTER, "_KEY": outputs.VERSION_KEY}
    assert outputs.VERSION_KEY in outputs.Cluster.__annotations__
