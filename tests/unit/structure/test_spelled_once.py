"""Label keys, hashes and quantities have one place each; no other module spells a key, hashes or parses by itself."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tensorplane.components.base import labels
from tests.unit.structure import imports, sources

PROJECT = Path(__file__).resolve().parents[3]
PARTS = frozenset({"cli", "components", "driver", "stack", "workloads"})
"""What can import `components.base`. Agents, the library in training pods, `embedded` and `policies` cannot."""
IN_PODS = frozenset({"workloads.model_server.fetched_model.fetch_model"})
"""Programs in pods, which have nothing else of this project."""
READS_DOCUMENTS = "components.catalog.update."
"""Modules that search pages of the clouds' documentation, where keys stand as texts."""
ONE_PLACE = {"hashlib": "components.base.names", "parse_quantity": "components.base.quantities"}
_LABELS = "components.base.labels"
_KEY = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]+(?:/[A-Za-z][\w.-]*)+")
_API_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?")


def problems(root: Path) -> list[str]:
    found = []
    users: dict[str, set[str]] = defaultdict(set)
    for module, path in imports.modules(root).items():
        if imports.part_of(module) not in PARTS or module in IN_PODS or module.startswith(READS_DOCUMENTS):
            continue
        nodes = sources.nodes(path)
        for name, place in ONE_PLACE.items():
            if module != place and name in _imported(nodes):
                found.append(f"{module} imports {name}: use {place}")
        for key in _keys(nodes):
            users[key].add(module)
    known = {value for name, value in vars(labels).items() if name.isupper() and isinstance(value, str)}
    for key, modules in users.items():
        others = modules - {_LABELS}
        if others and key in known:
            found.append(f"{', '.join(sorted(others))} spells {key}: use {_LABELS}")
        elif len(others) > 1:
            found.append(f"{', '.join(sorted(others))} spell {key}: put it into {_LABELS}")
    return sorted(found)


def _imported(nodes: Iterable[ast.AST]) -> set[str]:
    found = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    return {alias.name for node in found for alias in node.names}


def _keys(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Texts that are a label's key, or begin with one as label selectors do."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            key = node.value.partition("=")[0]
            if _KEY.fullmatch(key) and not _API_VERSION.fullmatch(key.rpartition("/")[2]):
                yield key


def test_keys_hashes_and_quantities_have_one_place() -> None:
    assert problems(PROJECT) == []


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"components/a.py": "KEY = 'tensorplane.dev/flavor'"},
            "components.a spells tensorplane.dev/flavor: use components.base.labels",
        ),
        (
            {"driver/a.py": "def of(run): return f'jobset.sigs.k8s.io/jobset-name={run}'"},
            "driver.a spells jobset.sigs.k8s.io/jobset-name: use components.base.labels",
        ),
        (
            {"cli/a.py": "KEY = 'new.example/key'", "workloads/b.py": "KEY = 'new.example/key'"},
            "cli.a, workloads.b spell new.example/key: put it into components.base.labels",
        ),
        ({"cli/a.py": "import hashlib"}, "cli.a imports hashlib: use components.base.names"),
        (
            {"driver/a.py": "def of(text):\n    from kubernetes.utils import parse_quantity"},
            "driver.a imports parse_quantity: use components.base.quantities",
        ),
    ],
)
def test_a_planted_second_place_is_found(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert problems(tmp_path) == [problem]


@pytest.mark.parametrize("text", ["KEY = 'new.example/key'", "API = 'kueue.x-k8s.io/v1beta2'", "import json"])
def test_what_only_one_module_uses_stays_there(tmp_path: Path, text: str) -> None:
    (tmp_path / "components").mkdir()
    (tmp_path / "components/a.py").write_text(text)
    assert problems(tmp_path) == []
