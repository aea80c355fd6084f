"""What the stack imports, and in which direction."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.rendering import PROJECT

MAY_IMPORT = {
    "nearest.py": set(),
    "stack_file.py": set(),
    "components": {"components", "snapshotter", "nearest", "stack_file"},
    "workloads": {"components", "workloads", "nearest"},
    "stack.py": {"components", "workloads"},
    "__main__.py": {"stack"},
    "runtime": {"runtime"},
    "snapshotter": {"snapshotter"},
    "ceph_mirror": {"ceph_mirror"},
    "policies": {"policies", "rules"},
    "embedded": {"embedded", "nearest", "stack_file"},
}
OURS = {
    "components",
    "workloads",
    "stack",
    "stack_file",
    "runtime",
    "snapshotter",
    "ceph_mirror",
    "policies",
    "rules",
    "embedded",
    "cli",
    "nearest",
}


def imported(path: Path) -> Iterator[str]:
    """Top-level packages that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def sources(part: str) -> list[Path]:
    path = PROJECT / part
    if path.is_file():
        return [path]
    return [source for source in path.rglob("*.py") if ".venv" not in source.parts]


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_go_one_way(part: str) -> None:
    files = sources(part)
    assert files
    wrong = {
        f"{path.relative_to(PROJECT)} imports {name}"
        for path in files
        for name in set(imported(path)) & OURS - MAY_IMPORT[part]
    }
    assert not wrong


def test_building_the_stack_imports_no_tensorflow_and_no_cloud() -> None:
    program = "import sys; sys.path.insert(0, '.'); import stack; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    modules = {name.split(".")[0] for name in shown.stdout.split()}
    assert "pulumi_kubernetes" in modules
    heavy = {"tensorflow", "keras", "numpy", "sklearn", "pulumi_aws", "pulumi_gcp", "pulumi_azure_native", "kubernetes"}
    assert not modules & heavy


CHECKS = """
import sys
from pathlib import Path
from cli import check

for file in map(Path, sys.argv[1:]):
    check.load(file)
# The SDKs import what they consist of when it is first asked for: until then it is there by name alone.
print(*(name for name, module in sys.modules.items() if type(module).__name__ != "_LazyModule"))
"""


def test_checking_settings_imports_no_resources_of_an_sdk() -> None:
    """They are most of the time that `tensorplane check` takes. Where one is only a type of a signature, quote it."""
    files = [*PROJECT.glob("Pulumi.*.yaml"), *(PROJECT / "examples").glob("*.yaml")]
    argv = [sys.executable, "-c", CHECKS, *map(str, files)]
    shown = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True)
    loaded = {".".join(name.split(".")[:2]) for name in shown.stdout.split()}
    frame = {"pulumi_kubernetes", *(f"pulumi_kubernetes.{name}" for name in ("_inputs", "_utilities", "provider"))}
    sdks = ("pulumi_", "kubernetes")
    assert {name for name in loaded if name.startswith(sdks)} <= frame
