"""Keys whose comments in the stacks' files say `required` are those that the settings cannot do without."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.components.base.location import Location
from tensorplane.stack import StackConfig
from tests.support.rendering import PROJECT

FILES = sorted(PROJECT.glob("Pulumi.*.yaml"))
Key = tuple[str, ...]


def keys_of(node: yaml.Node | None, path: Key = ()) -> Iterator[tuple[Key, int]]:
    """Every key of a file, and the line that it is on."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, key.value)
            yield here, key.start_mark.line
            yield from keys_of(value, here)


def required(tree: Any) -> set[Key]:
    """The keys without which the model refuses the settings that a tree has."""
    return {path for path, _ in _all(tree) if _is_required(path, tree)}


def _all(node: Any, path: Key = ()) -> Iterator[tuple[Key, Any]]:
    for key, value in node.items() if isinstance(node, dict) else ():
        yield (*path, key), value
        yield from _all(value, (*path, key))


def _is_required(path: Key, tree: Any) -> bool:
    location: list[str] = []
    node = tree
    for key in path:
        location.append(key)
        node = node[key]
        # A union's tag is a part of pydantic's locations.
        if key != path[-1] and isinstance(node, dict) and "kind" in node:
            location.append(node["kind"])
    found = Location.find(StackConfig, tuple(location))
    return path[-1] == "kind" or path[-1] in found.required()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_a_comment_calls_required_is_required(file: Path) -> None:
    text = file.read_text()
    lines = text.splitlines()
    tree = {key.split(":")[-1]: value for key, value in yaml.safe_load(text)["config"].items()}
    needed = required(tree)
    # The first key of a line is what its comment is about.
    first: dict[int, Key] = {}
    for path, line in keys_of(yaml.compose(text)):
        first.setdefault(line, (path[1].split(":")[-1], *path[2:]) if len(path) > 1 else ())
    said = {path for line, path in first.items() if "# required" in lines[line]}
    assert said
    assert said <= needed
    if file.name == "Pulumi.dev.yaml":
        # It is the file that people read first: nothing required goes without the comment on its line.
        blocks = {path for line, path in first.items()}
        assert needed & blocks <= said | {("cluster", "kind")}
