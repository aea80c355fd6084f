"""The GPU quota counts every kind of workload: each registers a token that the policy knows, and its `gpus`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.rendering import PROJECT

KINDS = "workloads/*/component.py"
FACTS = Path("components/base/outputs.py")
QUOTA = Path("policies/gpu_usage/usage.py")
_TOKEN = "tensorplane:index:"


def uncounted(root: Path) -> Iterator[str]:
    """Kinds of workloads whose GPUs the quota would not see, a line each."""
    constants, fields = _outputs(root)
    counted = set(_texts(ast.parse((root / QUOTA).read_text())))
    for path in sorted(root.glob(KINDS)):
        tokens = [constants.get(name, name) for name in _registered(ast.parse(path.read_text()))]
        if not tokens:
            yield f"{path.parent.name} registers no token"
        for token in tokens:
            if token not in counted:
                yield f"{path.parent.name} registers {token}, which {QUOTA} does not count"
            if "gpus" not in fields.get(token.removeprefix(_TOKEN), set()):
                yield f"{path.parent.name} registers {token}, whose type in {FACTS} has no gpus"


def _registered(tree: ast.AST) -> Iterator[str]:
    """Names of the constants that components of a module give as their tokens."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__" and node.args:
            yield ast.unparse(node.args[0]).rpartition(".")[2]


def _outputs(root: Path) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Tokens by their constants, and the keys of each type by its name."""
    body = ast.parse((root / FACTS).read_text()).body
    constants = {
        ast.unparse(node.targets[0]): text for node in body if isinstance(node, ast.Assign) for text in _texts(node)
    }
    fields = {
        node.name: {ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)}
        for node in body
        if isinstance(node, ast.ClassDef)
    }
    return constants, fields


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(_TOKEN):
            yield node.value


def test_the_quota_counts_every_kind() -> None:
    assert {path.parent.name for path in PROJECT.glob(KINDS)} >= {"model_server", "training_job"}
    assert list(uncounted(PROJECT)) == []


@pytest.mark.parametrize(
    ("kind", "counts", "gpus", "found"),
    [
        ("super().__init__(registered.SWEEP, name, {}, opts)", True, True, []),
        ("super().__init__(SWEEP, name, {}, opts)", True, True, []),
        ("super().__init__(registered.SWEEP, name, {}, opts)", False, True, ["which policies/gpu_usage/usage.py"]),
        ("super().__init__(registered.SWEEP, name, {}, opts)", True, False, ["components/base/outputs.py has no gpus"]),
        ("pass", True, True, ["registers no token"]),
    ],
)
def test_a_planted_kind_that_the_quota_does_not_know_is_found(
    tmp_path: Path, kind: str, counts: bool, gpus: bool, found: list[str]
) -> None:
    texts = {
        Path(
            KINDS.replace("*", "sweep")
        ): f"class Sweep(Workload):\n    def __init__(self, name, opts):\n        {kind}\n",
        FACTS: f'SWEEP = "{_TOKEN}Sweep"\nclass Sweep(TypedDict):\n    {"gpus" if gpus else "pods"}: int\n',
        QUOTA: f'WORKLOADS = {{"{_TOKEN}{"Sweep" if counts else "TrainingJob"}"}}\n',
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    lines = list(uncounted(tmp_path))
    assert len(lines) == len(found)
    assert all(part in line for part, line in zip(found, lines, strict=True))
