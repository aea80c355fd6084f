"""The words of CONTRIBUTING.md are few, and no name in the code is one that they replace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.rendering import PROJECT
from tests.unit.structure import sources

MOST = 60
_NOT_NAMED = ("docs", "examples", "tests", "embedded/csi/generated")
"""What is not read: names of tests are sentences, and generated names are not ours."""
EXCEPTIONS: Mapping[str, str] = {
    "agents/lost_nodes/device_faults.py": "faults of hardware",
    "agents/lost_nodes/device_faults.py: Faults": "faults of hardware",
    "runtime/tensorplane/cluster.py: Place": "programs import it",
}
"""Names that stay, and why."""

_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", re.MULTILINE)
_MARKED = re.compile(r"`(\*?)(\w+?)(?:\*|(\.py))?`")
_DEFINED = re.compile(r"^ *(?:class|(?:async )?def) ([a-zA-Z]\w*)", re.MULTILINE)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


@dataclass(frozen=True)
class Forbidden:
    """Names that the last column forbids."""

    names: frozenset[str]
    """Of a module, class or public function."""
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


def found(root: Path, forbidden: Forbidden) -> Iterator[str]:
    """The modules, classes and public functions with forbidden names."""
    for path in sources.python_files(root):
        file = path.relative_to(root).as_posix()
        if file.startswith(_NOT_NAMED):
            continue
        if any(forbidden.has(part, is_module=True) for part in Path(file).with_suffix("").parts):
            yield file
        names = _DEFINED.findall(path.read_text())
        yield from (f"{file}: {name}" for name in names if forbidden.has(name))


@pytest.fixture(scope="module")
def page() -> str:
    return (PROJECT / "CONTRIBUTING.md").read_text()


def test_the_words_are_few_and_each_has_one_meaning(page: str) -> None:
    words = [word.strip() for words, _, _ in rows(page) for word in words.split(",")]
    assert 40 < len(rows(page)) <= MOST
    assert sorted({word for word in words if words.count(word) > 1}) == []


def test_no_name_is_a_word_that_another_one_replaces(page: str) -> None:
    assert [name for name in found(PROJECT, Forbidden.of(page)) if name not in EXCEPTIONS] == []


def test_each_exception_is_one(page: str) -> None:
    assert EXCEPTIONS.keys() - set(found(PROJECT, Forbidden.of(page))) == set()


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
        ("cli/a.py", "def _kept(): ...\nkept = 1", []),
        ("tests/kept.py", "", []),
    ],
)
def test_a_planted_name_is_found(tmp_path: Path, file: str, text: str, names: list[str]) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    assert list(found(tmp_path, Forbidden.of(_TABLE))) == names
