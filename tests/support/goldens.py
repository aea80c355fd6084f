"""Goldens: what each stack registers, as text. A folder a stack, a file a component, and a summary of the stack."""

import re
import shutil
from collections.abc import Mapping
from typing import Any

import yaml

from tests.support.rendering import PROJECT, Registered, Rendered

GOLDEN = PROJECT / "tests/unit/golden"
STACKS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
"""Names of the stacks that have goldens."""

_EXPORTS = "exports.yaml"
_SUMMARY = "summary.yaml"
_NO_COMPONENT = "stack.yaml"
_SUMMARIZED = ("parent", "protect", "dependsOn")
_HASHED = re.compile(r"(?<=-)[0-9a-f]{8}(?![0-9a-z])")
_LIBRARY = re.compile(r"-(?:runtime|library)-(?:<hash>|[0-9a-f]{8})$")
"""Names of the ConfigMaps that have tensorplane's library."""
_FILES = "<runtime/>"
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")

Row = dict[str, Any]


def rows(stack: str) -> list[Row]:
    """The resources in the goldens of a stack: type, name, inputs, options."""
    files = sorted((GOLDEN / stack).glob("*.yaml"))
    return [row for path in files if path.name not in (_EXPORTS, _SUMMARY) for row in yaml.safe_load(path.read_text())]


def exports(stack: str) -> Row:
    """What the stack exports."""
    return dict(yaml.safe_load((GOLDEN / stack / _EXPORTS).read_text()))


def of(rendered: Rendered) -> dict[str, str]:
    """The goldens of a stack by file name. They leave out what follows from the content of code."""
    parts: dict[str, list[Row]] = {}
    for each in rendered.resources:
        parts.setdefault(_file(each.component), []).append(row_of(each))
    return {
        **{name: _text(part) for name, part in parts.items()},
        _EXPORTS: _text(_neutral(rendered.exports)),
        _SUMMARY: "".join(f"- {_line(each)}\n" for each in rendered.resources),
    }


def row_of(registered: Registered) -> Row:
    """A resource as the goldens have it."""
    inputs = _neutral(registered.inputs)
    return {"type": registered.type, "name": registered.name, "inputs": inputs, "options": dict(registered.options)}


def read(stack: str) -> dict[str, str]:
    """The goldens of a stack as they are recorded, by file name."""
    return {path.name: path.read_text() for path in (GOLDEN / stack).glob("*.yaml")}


def write(stack: str, texts: Mapping[str, str]) -> None:
    """Records the goldens of a stack in place of the former ones."""
    shutil.rmtree(GOLDEN / stack, ignore_errors=True)
    (GOLDEN / stack).mkdir()
    for name, text in texts.items():
        (GOLDEN / stack / name).write_text(text)


def _file(component: str) -> str:
    kind, _, name = component.partition(" ")
    return f"{_WORDS.sub('-', kind).lower()}.{name}.yaml" if component else _NO_COMPONENT


def _text(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, width=120)


def _line(resource: Registered) -> str:
    """Identity, place and protection of a resource on one line."""
    options = {key: resource.options[key] for key in _SUMMARIZED if key in resource.options}
    line = {"type": resource.type, "name": resource.name, **options}
    return yaml.safe_dump(line, sort_keys=False, default_flow_style=True, width=10**6).strip()


def _neutral(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _neutral_entry(key, inner, value) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [_neutral(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _HASHED.sub("<hash>", value) if isinstance(value, str) else value


def _neutral_entry(key: str, value: Any, owner: Mapping[str, Any]) -> Any:
    config_map = owner.get("kind") == "ConfigMap"
    name = owner.get("metadata", {}).get("name") if config_map else owner.get("name")
    if key in ("data", "items") and isinstance(name, str) and _LIBRARY.search(name):
        return _FILES
    return sorted(value) if config_map and key in ("data", "binaryData") else _neutral(value)
