"""The words of CONTRIBUTING.md are few, and no name in the code is one that they replace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.rendering import PROJECT
from tests.unit.structure import sources

MOST = 60
_NOT_READ = ("docs", "examples", "tests", "embedded/csi/generated")
"""What is not read: names of tests are sentences, and generated names are not ours."""
_PUBLIC_ALONE = ("runtime",)
"""Where only modules, classes and public functions are read: the library is a program's, with its own words inside."""
EXCEPTIONS: Mapping[str, str] = {
    "agents/lost_nodes/device_faults.py": "faults of hardware",
    "agents/lost_nodes/device_faults.py: FAULT_SECONDS": "faults of hardware",
    "agents/lost_nodes/device_faults.py: Fault": "faults of hardware",
    "agents/lost_nodes/device_faults.py: Faults": "faults of hardware",
    "agents/lost_nodes/device_faults.py: fault": "faults of hardware",
    "agents/lost_nodes/device_faults.py: faults": "faults of hardware",
    "agents/lost_nodes/evictions.py: _faults": "faults of hardware",
    "agents/lost_nodes/evictions.py: fault": "faults of hardware",
    "agents/lost_nodes/leaving.py: FAULT": "faults of hardware",
    "agents/lost_nodes/leaving.py: _faults": "faults of hardware",
    "agents/lost_nodes/leaving.py: faults": "faults of hardware",
    "components/base/outputs.py: kept": "deployed stacks export it",
    "runtime/tensorplane/cluster.py: Place": "programs import it",
    "workloads/model_server/fetched_model/fetch_model.py: asked": "pods start again if the program changes",
    "workloads/rules/shared_volumes.py: 'room'": "of a node, whose capacity is not the problem",
    "workloads/training_job/queueing.py: 'room'": "of a queue, whose capacity is not the problem",
}
"""Names and words of messages that stay, and why."""
_CHECKS = ("components", "stack", "workloads")
"""Where messages are of settings."""
_ENGLISH = frozenset({"counted", "listed", "named", "place", "places", "where"})
"""Words that messages use as English does: verbs, a conjunction."""
_TEXTS = frozenset({"problem", "reason", "remedy"})
"""Variables with a part of a message."""

_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", re.MULTILINE)
_MARKED = re.compile(r"`(\*?)(\w+?)(?:\*|(\.py))?`")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


@dataclass(frozen=True)
class Forbidden:
    """Names that the last column forbids."""

    names: frozenset[str]
    """Of a module, class, function, parameter, variable or field."""
    parts: frozenset[str]
    """Of such a name."""
    modules: frozenset[str]
    """Of a module alone."""

    @classmethod
    def of(cls, page: str) -> Forbidden:
        """Those of the table of words."""
        found = [match for _, _, column in rows(page) for match in _MARKED.findall(column)]
        return cls(
            frozenset(word for star, word, module in found if not star and not module),
            frozenset(word for star, word, _ in found if star),
            frozenset(word for _, word, module in found if module),
        )

    def has(self, name: str, *, is_module: bool = False) -> bool:
        """Whether a name is forbidden. `AllKept` has the parts `all` and `kept`."""
        parts = [part.lower() for part in _PARTS.findall(name)]
        whole = "_".join(parts)
        return whole in self.names or (is_module and whole in self.modules) or not self.parts.isdisjoint(parts)


def rows(page: str) -> list[tuple[str, str, str]]:
    """The words with their meaning, and what they replace."""
    (section,) = re.findall(r"(?ms)^## Words$(.*?)^## ", page)
    return _ROW.findall(section)[1:]


def found(root: Path, forbidden: Forbidden) -> list[str]:
    """The forbidden names of modules and of what they define, and forbidden words of messages."""
    files = {path.relative_to(root).as_posix(): path for path in sources.python_files(root)}
    lines = (line for file, path in files.items() for line in _in_file(file, path, forbidden))
    return list(dict.fromkeys(lines))


def _in_file(file: str, path: Path, forbidden: Forbidden) -> Iterator[str]:
    if file.startswith(_NOT_READ):
        return
    if any(forbidden.has(part, is_module=True) for part in Path(file).with_suffix("").parts):
        yield file
    public_alone = file.startswith(_PUBLIC_ALONE)
    for node in sources.nodes(path):
        yield from (f"{file}: {name}" for name in _defined(node, public_alone=public_alone) if forbidden.has(name))
        words = _words(node) if file.startswith(_CHECKS) else ()
        yield from (f"{file}: {word!r}" for word in words if word not in _ENGLISH and forbidden.has(word))


def _defined(node: ast.AST, *, public_alone: bool) -> Iterator[str]:
    """The names that a node defines: also private ones, parameters, variables and fields, unless `public_alone`."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            if not (public_alone and name.startswith("_")):
                yield name
        case _ if public_alone:
            return
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.alias(asname=str(name)):
            yield name


def _words(node: ast.AST) -> Iterator[str]:
    """The words of a message of a settings' check: of a Problem after its key, or of a variable with a part of one."""
    match node:
        case ast.Call(func=ast.Name(id="Problem"), args=[_, *texts]):
            pass
        case ast.Assign(targets=[ast.Name(id=name)], value=text) if name in _TEXTS:
            texts = [text]
        case _:
            return
    strings = (part.value for text in texts for part in ast.walk(text) if isinstance(part, ast.Constant))
    yield from (word for string in strings if isinstance(string, str) for word in re.findall(r"[a-z]+", string))


@pytest.fixture(scope="module")
def page() -> str:
    return (PROJECT / "CONTRIBUTING.md").read_text()


def test_the_words_are_few_and_each_has_one_meaning(page: str) -> None:
    words = [word.strip() for words, _, _ in rows(page) for word in words.split(",")]
    assert 40 < len(rows(page)) <= MOST
    assert sorted({word for word in words if words.count(word) > 1}) == []


def test_no_name_is_a_word_that_another_one_replaces(page: str) -> None:
    assert sorted(found(PROJECT, Forbidden.of(page))) == sorted(EXCEPTIONS)


_TABLE = """
## Words
| word | meaning | not |
|---|---|---|
| state | what is remembered | `kept`, memory |
| problem | a mistake | `*fault*`, `left_over` |
| options | arguments | `query.py` |
## End
"""


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("agents/kept.py", "", ["agents/kept.py"]),
        ("kept/state.py", "", ["kept/state.py"]),
        ("agents/a.py", "class Kept: ...", ["agents/a.py: Kept"]),
        ("agents/a.py", "class A:\n    def kept(self): ...", ["agents/a.py: kept"]),
        ("agents/a.py", "async def fault_lines(): ...", ["agents/a.py: fault_lines"]),
        ("agents/a.py", "class FileFault: ...", ["agents/a.py: FileFault"]),
        ("agents/a.py", "def left_over(): ...", ["agents/a.py: left_over"]),
        ("cli/query.py", "", ["cli/query.py"]),
        ("cli/a.py", "def query(): ...\ndef kept_lines(): ...\ndef memory(): ...\ndef default(): ...", []),
        ("cli/a.py", "def _kept(): ...", ["cli/a.py: _kept"]),
        ("cli/a.py", "def a(kept, *, some=1): ...", ["cli/a.py: kept"]),
        ("cli/a.py", "def a():\n    one, (kept, *_) = some()", ["cli/a.py: kept"]),
        ("cli/a.py", "KEPT = 1\nprint(kept, a.kept)", ["cli/a.py: KEPT"]),
        ("cli/a.py", "class A(Model):\n    kept: int\n    of_fault: int", ["cli/a.py: kept", "cli/a.py: of_fault"]),
        ("cli/a.py", "try: ...\nexcept A as fault: ...", ["cli/a.py: fault"]),
        ("cli/a.py", "match a:\n    case [*_, A() as kept]: ...", ["cli/a.py: kept"]),
        ("cli/a.py", "import default as kept\nfrom a import kept", ["cli/a.py: kept"]),
        (
            "stack/a.py",
            "Problem(('fault',), f'is {a}, a fault; {b} of it is kept')",
            ["stack/a.py: 'fault'", "stack/a.py: 'kept'"],
        ),
        (
            "workloads/a.py",
            "reason = 'a fault'\nlog('a fault')\nProblem(at, 'a default memory')",
            ["workloads/a.py: 'fault'"],
        ),
        ("cli/a.py", "reason = 'a fault'", []),
        ("runtime/a.py", "def kept(): ...\ndef _kept(kept): ...", ["runtime/a.py: kept"]),
        ("tests/kept.py", "", []),
    ],
)
def test_a_planted_name_is_found(tmp_path: Path, file: str, text: str, names: list[str]) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    assert found(tmp_path, Forbidden.of(_TABLE)) == names
