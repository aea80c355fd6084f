"""What the real engine sends the pack of each example and environment, as previews of them recorded it.

Of most resources, it sends the inputs that the program gave, which the goldens of the stack have. So a recording
(`sent/NAME.json`, a line a resource) has the outputs that components registered, which the engine sends instead of
their inputs, and of other resources what differs from the goldens, such as values that a preview does not know.
"""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from tests.support import goldens
from tests.support.rendering import Rendered

Resource = dict[str, Any]

UNKNOWN_STRING = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The engine's mark for a text that a preview does not know yet."""
FOLDER = Path(__file__).with_name("sent")
AGAIN = "record it again: .venv/bin/python -m tests.policies.record"
_UNKNOWN, _ABSENT = "!unknown", "!absent"
_COMPONENT = "tensorplane:"
_STACK, _PROVIDER = "pulumi:pulumi:Stack", "pulumi:providers:"
_DIGEST = re.compile("[0-9a-f]{8}")
_FILES = ("data", "binaryData")

Differences = dict[str, Any]
"""By `type name`: all properties of a component and of what has no golden, of others what is different."""


@functools.cache
def stack(name: str) -> list[Resource]:
    """The resources of a stack as the engine sends them, by the name of its golden. Tests change nothing in them."""
    recorded = json.loads((FOLDER / f"{name}.json").read_text())
    rows = {_key(row["type"], row["name"]): row for row in goldens.rows(name)}
    assert {key for key in rows if key.startswith(_COMPONENT)} <= recorded.keys(), f"{name}: a new component; {AGAIN}"
    keys = ((key.partition(" "), key) for key in {**recorded, **rows})
    found = [_resource(token, of, rows.get(key), recorded.get(key, {})) for (token, _, of), key in keys]
    return _sorted(found)


def _sorted(resources: Iterable[Resource]) -> list[Resource]:
    """Components first, whose names those of parents are. The engine sends them in any order."""
    return sorted(resources, key=lambda one: (not one["type"].startswith(_COMPONENT), one["type"], one["name"]))


def _resource(token: str, name: str, row: Mapping[str, Any] | None, recorded: Any) -> Resource:
    options = row["options"] if row else {}
    alone = row is None or token.startswith(_COMPONENT)
    return {
        "type": token,
        "name": name,
        "parent": options.get("parent", ""),
        "protect": options.get("protect", False),
        "props": _merged({} if alone or row is None else _written(row["inputs"]), recorded),
    }


def text(name: str, sent: Iterable[Resource]) -> str:
    """The recording of a stack."""
    rows = {_key(row["type"], row["name"]): row for row in goldens.rows(name)}
    differences: Differences = {}
    for one in sent:
        key = _key(one["type"], one["name"])
        alone = key not in rows or key.startswith(_COMPONENT)
        found = _marked(one["props"]) if alone else _difference(_written(rows[key]["inputs"]), one["props"])
        if alone or found is not None:
            differences[key] = found
    lines = (f"{json.dumps(key)}: {json.dumps(differences[key], sort_keys=True)}" for key in sorted(differences))
    return "\n".join(["{", ",\n".join(lines), "}", ""])


def of_engine(messages: Iterable[Any]) -> list[Resource]:
    """What the engine sent, in the words of goldens: top-level resources have no parent there."""
    found = list(messages)
    parents = {one.urn: "" if one.type == _STACK else one.name for one in found}
    return [
        {
            "type": one.type,
            "name": goldens.neutral_name(one.name),
            "parent": parents.get(one.parent, ""),
            "protect": one.options.protect,
            "props": _properties(one),
        }
        for one in found
    ]


def of_rendered(rendered: Rendered) -> list[Resource]:
    """What the engine would send of a stack that was built without it, if every value were known."""
    outputs = {name: goldens.neutral(props) for name, props in rendered.completed.items()}
    rows = [goldens.row_of(each) for each in rendered.resources]
    keys = [(row["type"], row["name"]) for row in rows]
    return _sorted(_resource(*key, row, outputs.get(_key(*key), {})) for key, row in zip(keys, rows, strict=True))


def _properties(message: Any) -> dict[str, Any]:
    props = _written(goldens.neutral(json_format.MessageToDict(message.properties)))
    if message.type == _STACK:
        return {}  # the outputs of all workloads once more
    if message.type.startswith(_PROVIDER):
        props.pop("version", None)  # of the SDK that is installed
    return dict(_without_digests(props))


def _without_digests(value: Any) -> Any:
    """The value without what follows from the content of code or of a manifest."""
    if isinstance(value, dict):
        return {key: _without_digests(each) for key, each in value.items()}
    return "<hash>" if isinstance(value, str) and _DIGEST.fullmatch(value) else value


def _key(token: str, name: str) -> str:
    return f"{token} {name}"


def _written(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Goldens keep the keys of a ConfigMap, not its texts."""
    files = _FILES if inputs.get("kind") == "ConfigMap" else ()
    return {key: dict.fromkeys(value, "") if key in files else value for key, value in inputs.items()}


def _difference(golden: Any, sent: Any) -> Any:
    """What to change of a golden's value; None if they are equal. In a list of the same length, by index."""
    if golden == sent:
        return None
    if isinstance(golden, dict) and isinstance(sent, dict):
        changed = {key: _difference(golden[key], value) for key, value in sent.items() if key in golden}
        added = {key: _marked(value) for key, value in sent.items() if key not in golden}
        removed = dict.fromkeys(golden.keys() - sent.keys(), _ABSENT)
        return {**{key: value for key, value in changed.items() if value is not None}, **added, **removed}
    if isinstance(golden, list) and isinstance(sent, list) and len(golden) == len(sent):
        pairs = enumerate(zip(golden, sent, strict=True))
        changed = {str(index): _difference(*pair) for index, pair in pairs}
        return {index: value for index, value in changed.items() if value is not None}
    return _marked(sent)


def _merged(golden: Any, difference: Any) -> Any:
    if isinstance(golden, dict) and isinstance(difference, dict):
        kept = {key: value for key, value in golden.items() if difference.get(key) != _ABSENT}
        new = {key: value for key, value in difference.items() if value != _ABSENT}
        return {**kept, **{key: _merged(golden.get(key), value) for key, value in new.items()}}
    if isinstance(golden, list) and isinstance(difference, dict):
        changed = copy.copy(golden)
        for index, value in difference.items():
            changed[int(index)] = _merged(changed[int(index)], value)
        return changed
    return _unmarked(difference)


def _marked(value: Any) -> Any:
    return _replaced(value, UNKNOWN_STRING, _UNKNOWN)


def _unmarked(value: Any) -> Any:
    return _replaced(value, _UNKNOWN, UNKNOWN_STRING)


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, old, new) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, old, new) for each in value]
    return new if value == old else value


@functools.cache
def registered() -> Mapping[str, Mapping[str, Any]]:
    """What components registered in any of the stacks, by their types: each property, with one of its values."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(FOLDER.glob("*.json")):
        for key, props in json.loads(path.read_text()).items():
            if key.startswith(_COMPONENT):
                found.setdefault(key.partition(" ")[0], {}).update(props)
    return found
