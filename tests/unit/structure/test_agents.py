"""Each agent is run by one component, through `components/agent/agent.py`, and needs only what its pods have."""

from __future__ import annotations

import ast
import functools
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.components.agent import code as agent_code
from tests.support.rendering import PROJECT

IMAGE_HOLDS = {"steps": {"tensorplane"}, "sweep": {"optuna"}, "topics": {"confluent_kafka"}}
"""Packages in the pods of agents besides the standard library: of their images, and the library that `steps` mounts."""
_BUILDER = Path("components/agent/code.py")


def problems(project: Path) -> Iterator[str]:
    """What is wrong, a line each."""
    users = dict(_users(project))
    programs = {path.parent.name for path in project.glob("agents/*/*.py")}
    for program in sorted(programs | set(users.values())):
        found = sorted(str(path) for path, name in users.items() if name == program)
        if len(found) != 1:
            yield f"agents/{program} is run by {', '.join(found) or 'no component'}"
        if program not in programs:
            yield f"{found[0]} runs agents/{program}, which does not exist"
    for program in sorted(programs):
        yield from _not_mountable(project, program)
    for path, constant in _by_hand(project):
        yield f"{path} has {constant!r}: only {_BUILDER} names the agents' code"


def _components(project: Path) -> Iterator[tuple[Path, str]]:
    for part in ("components", "workloads"):
        for path in sorted((project / part).rglob("*.py")):
            yield path.relative_to(project), path.read_text()


def _users(project: Path) -> Iterator[tuple[Path, str]]:
    """Modules that make an `Agent`, and of which program."""
    for path, source in _components(project):
        yield from ((path, name) for name in _made(source))


def _by_hand(project: Path) -> Iterator[tuple[Path, str]]:
    for path, source in _components(project):
        if path != _BUILDER:
            yield from ((path, text) for text in _texts(source))


# Each planted violation changes one file of hundreds: what the others say is known by their text.
@functools.cache
def _nodes(source: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(source)))


@functools.cache
def _made(source: str) -> list[str]:
    calls = (node for node in _nodes(source) if isinstance(node, ast.Call))
    return [ast.literal_eval(call.args[0]) for call in calls if ast.unparse(call.func).rpartition(".")[2] == "Agent"]


@functools.cache
def _texts(source: str) -> list[str]:
    constants = (node.value for node in _nodes(source) if isinstance(node, ast.Constant))
    texts = (value for value in constants if isinstance(value, str))
    return [text for text in texts if text == "agents" or text.startswith(("agents.", "agents/"))]


def _not_mountable(project: Path, program: str) -> Iterator[str]:
    mounted = agent_code.files(program)
    there = {path.relative_to(project).as_posix() for path in (project / "agents" / program).rglob("*.py")}
    yield from (f"{path} is not mounted: an agent is one folder" for path in sorted(there - set(mounted)))
    for name in ("__init__", "__main__"):
        if f"agents/{program}/{name}.py" not in mounted:
            yield f"agents/{program} has no {name}.py"
    allowed = sys.stdlib_module_names | IMAGE_HOLDS.get(program, set())
    for path, text in mounted.items():
        for module in _imported(path, text) if path.endswith(".py") else ():
            as_path = module.replace(".", "/")
            ours = module.startswith("agents.") and {f"{as_path}.py", f"{as_path}/__init__.py"} & set(mounted)
            if not ours and module.partition(".")[0] not in allowed:
                yield f"{path}, as agents/{program} mounts it, imports {module}"


@functools.cache
def _imported(path: str, source: str) -> list[str]:
    """What it imports, by its name in a pod. There `agents` is not in `tensorplane`, so agents import each other by
    relative imports."""
    found: list[str] = []
    for node in _nodes(source):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = path.split("/")[: -node.level] if node.level else []
            by_name = not package and str(node.module).partition(".")[0] == "agents"
            module = ".".join(filter(None, (*package, node.module)))
            module += " by its name in pods" if by_name else ""
            found += [module] if node.module else [f"{module}.{alias.name}" for alias in node.names]
    return found


def test_each_agent_is_run_by_one_component_and_mountable() -> None:
    assert len(list(PROJECT.glob("agents/*/__main__.py"))) >= 4
    assert list(problems(PROJECT)) == []


def test_the_documentation_lists_each_agent_and_its_component() -> None:
    text = (PROJECT / "docs/architecture.md").read_text()
    rows = re.findall(r"^\| \[`(\w+)`\]\(\.\./agents/\w+\) \| .*\]\(\.\./(\S+)\) \|$", text, re.MULTILINE)
    users = {name: path for path, name in _users(PROJECT)}
    assert sorted(name for name, _ in rows) == sorted(users)
    assert [(name, place) for name, place in rows if not users[name].is_relative_to(place)] == []


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agents and components as they are; a test that changes something takes it back."""
    made = tmp_path_factory.mktemp("copied")
    for folder in ("agents", "components", "workloads"):
        shutil.copytree(PROJECT / folder, made / folder, ignore=shutil.ignore_patterns("__pycache__", "data"))
    return made


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("agents/fresh/__main__.py", "", "agents/fresh is run by no component"),
        ("agents/fresh/__main__.py", "", "agents/fresh has no __init__.py"),
        (
            "components/queues/again.py",
            'agent.Agent("topics", name="again")',
            "agents/topics is run by components/queues/again.py, components/streams/brokers/embedded/topics.py",
        ),
        (
            "components/queues/again.py",
            'Agent("gone", name="again")',
            "components/queues/again.py runs agents/gone, which does not exist",
        ),
        (
            "components/queues/again.py",
            'COMMAND = ["python3", "-m", "agents.topics"]',
            "components/queues/again.py has 'agents.topics': only components/agent/code.py names the agents' code",
        ),
        (
            "agents/snapshots/fresh.py",
            "import pydantic",
            "agents/snapshots/fresh.py, as agents/snapshots mounts it, imports pydantic",
        ),
        (
            "agents/snapshots/fresh.py",
            "from tensorplane.components.base import labels",
            "agents/snapshots/fresh.py, as agents/snapshots mounts it, imports tensorplane.components.base",
        ),
        (
            "agents/snapshots/fresh.py",
            "def later() -> None:\n    from ..quota_return import record",
            "agents/snapshots/fresh.py, as agents/snapshots mounts it, imports agents.quota_return",
        ),
        (
            "agents/snapshots/fresh.py",
            "from agents.snapshots import manifest",
            "agents/snapshots/fresh.py, as agents/snapshots mounts it, imports agents.snapshots by its name in pods",
        ),
        (
            "agents/fresh.py",
            "import confluent_kafka",
            "agents/fresh.py, as agents/quota_return mounts it, imports confluent_kafka",
        ),
        (
            "agents/snapshots/deep/fresh.py",
            "",
            "agents/snapshots/deep/fresh.py is not mounted: an agent is one folder",
        ),
    ],
)
def test_a_planted_violation_is_found(
    path: str, text: str, problem: str, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_code, "PACKAGE", copied)
    planted = copied / path
    is_new = not planted.parent.exists()
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(text)
    try:
        assert problem in set(problems(copied))
    finally:
        planted.unlink()
        if is_new:
            planted.parent.rmdir()
    assert problem not in set(problems(copied))
