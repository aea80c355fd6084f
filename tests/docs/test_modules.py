"""docs/modules.md is the modules' own first sentences, for packages whose file names follow no scheme."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.rendering import PROJECT

PAGE = PROJECT / "docs" / "modules.md"
PACKAGES = (
    *("core", "driver", "driver/runs", "driver/update", "stack", "stack_file"),
    *("components", "components/base", "components/agent", "components/node_groups", "components/queues"),
    *("workloads", "workloads/pods", "workloads/rules", "cli", "cli/training_jobs", "cli/commands/preview"),
    *("policies", "policies/gpu_usage", "policies/stack_view"),
    *("agents", "agents/lost_nodes", "agents/quota_return", "agents/rollout", "agents/steps", "agents/sweep"),
    *("agents/triggers", "runtime/tensorplane", "runtime/tensorplane/checkpoints", "runtime/tensorplane/data"),
    *("runtime/tensorplane/datasets", "runtime/tensorplane/keras", "runtime/tensorplane/parameter_server"),
    *("runtime/tensorplane/stages", "embedded", "embedded/cluster", "embedded/csi", "images", "images/serving"),
    *("toolchain", "plugins", "plugins/cloud_models", "plugins/hosts", "plugins/kubernetes", "plugins/preview"),
)
"""Elsewhere a file is a kind of its family, or has the name that it has in each package (docs/architecture.md)."""
_MARKER = "<!-- generated: the modules -->\n"


def sections() -> Iterator[str]:
    """A section for each package, a line for each of its modules."""
    for package in PACKAGES:
        yield f"\n## {package}\n\n"
        for path in sorted((PROJECT / package).glob("*.py")):
            if path.stem != "__init__":
                yield f"- [`{path.name}`](../{package}/{path.name}): {first_sentence(path)}\n"


def first_sentence(path: Path) -> str:
    """Of the module's documentation."""
    documentation = " ".join(str(ast.get_docstring(ast.parse(path.read_text()))).split("\n\n")[0].split())
    return re.split(r"(?<=[a-z`)\]]{2}[.:]) (?=[A-Z`])", documentation)[0].rstrip(":")


def test_each_module_is_listed_with_its_first_sentence() -> None:
    introduction, marker, written = PAGE.read_text().partition(_MARKER)
    assert marker
    wanted = "".join(sections())
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(introduction + marker + wanted)
        written = wanted
    assert written == wanted, "out of date: UPDATE_GOLDEN=1 python -m pytest tests/docs/test_modules.py"
