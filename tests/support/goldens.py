"""Goldens: what each stack registers. A folder a stack, a file a component.

An object that several stacks have is in `shared.yaml` alone, and the stacks' files say `same: Kind name`.
"""

import functools
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tensorplane.components.base.outputs import PROGRAM_KEY
from tests.support.rendering import PROJECT, Registered, Rendered

GOLDEN = PROJECT / "tests/unit/golden"
STACKS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
"""Names of the stacks that have goldens."""

_SHARED = GOLDEN / "shared.yaml"
_EXPORTS = "exports.yaml"
_NO_COMPONENT = "stack.yaml"
_HASHED = re.compile(r"(?<=-)[0-9a-f]{8}(?![0-9a-z])")
_LIBRARY = re.compile(r"-(?:runtime|library)-(?:<hash>|[0-9a-f]{8})$")
"""Names of the ConfigMaps that have tensorplane's library."""
_FILES = "<runtime/>"
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")

Row = dict[str, Any]
Golden = dict[str, Any]
"""Rows by the name of their component's file, and the exports."""


def rows(stack: str) -> list[Row]:
    """The resources in the goldens of a stack: type, name, inputs, options. Tests change nothing in them."""
    return [row for file, part in read(stack).items() if file != _EXPORTS for row in part]


def exports(stack: str) -> Row:
    """What the stack exports."""
    return dict(read(stack)[_EXPORTS])


def of(rendered: Rendered) -> Golden:
    """The goldens of a stack. They leave out what follows from the content of code."""
    parts: Golden = {}
    for each in rendered.resources:
        parts.setdefault(_file(each.component), []).append(row_of(each))
    # The version is another one with each release.
    exports = {key: value for key, value in rendered.exports.items() if key != PROGRAM_KEY}
    return {**parts, _EXPORTS: neutral(exports)}


def row_of(registered: Registered) -> Row:
    """A resource as the goldens have it."""
    inputs = neutral(registered.inputs)
    options = {key: neutral_name(each) for key, each in registered.options.items()}
    return {"type": registered.type, "name": neutral_name(registered.name), "inputs": inputs, "options": options}


def neutral_name(names: Any) -> Any:
    """Names of resources, without the hash of tensorplane's library."""
    if isinstance(names, list):
        return [neutral_name(each) for each in names]
    return _LIBRARY.sub("-library-<hash>", names) if isinstance(names, str) else names


@functools.cache
def read(stack: str) -> Golden:
    """The goldens of a stack as they are recorded; empty if there are none."""
    return {path.name: _whole(_loaded(path)) for path in sorted((GOLDEN / stack).glob("*.yaml"))}


def record(goldens: Mapping[str, Golden]) -> None:
    """Records the goldens of these stacks in place of the former ones; those of all others stay."""
    known = {path.name: read(path.name) for path in GOLDEN.iterdir() if path.is_dir()} | dict(goldens)
    shared = _in_several(known.values())
    _SHARED.write_text(text({name: yaml.load(text, yaml.CSafeLoader) for text, name in shared.items()}))
    for stack, parts in known.items():
        shutil.rmtree(GOLDEN / stack, ignore_errors=True)
        (GOLDEN / stack).mkdir()
        for file, part in parts.items():
            names = part if file == _EXPORTS else [_reference(row, shared) for row in part]
            (GOLDEN / stack / file).write_text(text(names))
    read.cache_clear()


def _in_several(goldens: Iterable[Golden]) -> dict[str, str]:
    """The names of the rows that several stacks have, by their texts."""
    texts = [{text(row) for file, part in one.items() if file != _EXPORTS for row in part} for one in goldens]
    counts = Counter(found for one in texts for found in one)
    used: Counter[str] = Counter()
    named = {}
    for found in sorted(found for found, count in counts.items() if count > 1):
        row = yaml.load(found, yaml.CSafeLoader)
        name = f"{row['type'].rpartition(':')[2]} {row['name']}"
        used[name] += 1
        named[found] = name if used[name] == 1 else f"{name} {used[name]}"
    return named


def _reference(row: Row, shared: Mapping[str, str]) -> Row:
    name = shared.get(text(row))
    return {"same": name} if name else row


def _whole(part: Any) -> Any:
    """A file's rows with those of `shared.yaml` in their places."""
    return [_shared()[row["same"]] if "same" in row else row for row in part] if isinstance(part, list) else part


@functools.cache
def _shared() -> dict[str, Row]:
    return dict(_loaded(_SHARED))


def _loaded(path: Path) -> Any:
    """With libyaml, which is seven times as fast."""
    return yaml.load(path.read_text(), yaml.CSafeLoader)


def _file(component: str) -> str:
    kind, _, name = component.partition(" ")
    return f"{_WORDS.sub('-', kind).lower()}.{name}.yaml" if component else _NO_COMPONENT


def text(value: Any) -> str:
    """As it is recorded."""
    return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, width=120)


def neutral(value: Any) -> Any:
    """A value without what follows from the content of code."""
    if isinstance(value, Mapping):
        return {key: _neutral_entry(key, inner, value) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [neutral(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _HASHED.sub("<hash>", value) if isinstance(value, str) else value


def _neutral_entry(key: str, value: Any, owner: Mapping[str, Any]) -> Any:
    config_map = owner.get("kind") == "ConfigMap"
    name = owner.get("metadata", {}).get("name") if config_map else owner.get("name")
    if key in ("data", "items") and isinstance(name, str) and _LIBRARY.search(name):
        return _FILES
    return sorted(value) if config_map and key in ("data", "binaryData") else neutral(value)
