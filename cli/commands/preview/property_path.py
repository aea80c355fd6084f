"""Property paths as the engine writes them (`spec.containers[0].env["A.B"]`), and values as texts that hide secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tensorplane.components.base.names import digest

SECRET = "[secret]"  # noqa: S105 (the text that stands for one)
UNKNOWN = "(known after the update)"
_SIGNATURE = "4dabf18193072939515e22adb298388d"  # marks Pulumi's own kinds of value: a secret, an asset, a reference
UNKNOWN_VALUE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What the engine writes for a text that only the update knows."""
_UNKNOWN_VALUES = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        UNKNOWN_VALUE,
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
_STEP = re.compile(r"""\["(?P<quoted>(?:[^"\\]|\\.)*)"\]|\[(?P<index>\d+)\]|\.?(?P<name>[^.\[]+)""")
_JOINT = re.compile(r"\.|(?=\[)")
_NEAR = 8
"""Where a step of a path begins, and in how many characters a shortened one does so rather than within a step."""
_NAMES = ("mountPath", "name")
"""Keys that identify the items of a list, the first ones before the others."""
_LIMIT = 60
_FULL_LIMIT = 20_000
"""Characters of two values that are compared as they are, others by their digest."""
BETWEEN = "\x1f"
"""Between two whole values."""
_CONTEXT = 20
"""Characters that are shown of what is the same before and after a difference within long values."""


class _Absent:
    """The path has no value; None is a value."""


ABSENT = _Absent()


def find(value: Any, path: str) -> Any:
    """The value at a path, or ABSENT. A secret on the path is returned as such: its content must not be shown."""
    for step in _STEP.finditer(path):
        if isinstance(value, dict) and _SIGNATURE in value:
            return value
        if (index := step["index"]) is not None:
            inside = isinstance(value, list) and int(index) < len(value)
            value = value[int(index)] if inside else ABSENT
        else:
            quoted = step["quoted"]
            name = step["name"] if quoted is None else quoted.replace('\\"', '"')
            members = (_by_name(value) or {}) if isinstance(value, list) else value
            value = members.get(name, ABSENT) if isinstance(members, dict) else ABSENT
    return value


def truncate_start(path: str, limit: int) -> str:
    """The last steps of a path, of at most so many characters: they tell more than the first ones."""
    if len(path) <= limit:
        return path
    shown = path[1 - limit :]
    joint = _JOINT.search(shown, 0, _NEAR)
    return f"…{shown[joint.end() if joint else 0 :]}"


def named_list(old: Any, new: Any, path: str) -> str:
    """The path of the first list on a path whose items have names on both sides; empty if there is none."""
    for step in _STEP.finditer(path):
        lists = (find(value, path[: step.start()]) for value in (old, new))
        if step["index"] is not None and None not in map(_by_name, lists):
            return path[: step.start()]
    return ""


def _by_name(value: Any) -> dict[str, Any] | None:
    """The items of a list by what Kubernetes merges them by; None if it is no list of such items."""
    if not (isinstance(value, list) and all(isinstance(each, dict) and _SIGNATURE not in each for each in value)):
        return None
    for key in _NAMES:
        found = {each[key]: each for each in value if isinstance(each.get(key), str)}
        if len(found) == len(value):
            return found
    return None


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Paths at which two values differ, each with the engine's kind of change: add, delete or update."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            step = f'["{name}"]' if set(name) & set(".[]") else f".{name}" if path else name
            yield from differences(old.get(name, ABSENT), new.get(name, ABSENT), path + step)
    elif (before_by_name := _by_name(old)) is not None and (after_by_name := _by_name(new)) is not None:
        for name in dict.fromkeys([*before_by_name, *after_by_name]):
            values = before_by_name.get(name, ABSENT), after_by_name.get(name, ABSENT)
            yield from differences(*values, f'{path}["{name}"]')
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before, after = (values[index] if index < len(values) else ABSENT for values in (old, new))
            yield from differences(before, after, f"{path}[{index}]")
    elif old != new:
        yield path, "add" if old is ABSENT else "delete" if new is ABSENT else "update"


def parsed(value: Any) -> Any:
    """The object in a text of JSON; ABSENT if it is none."""
    if not (isinstance(value, str) and value.startswith("{")):
        return ABSENT
    try:
        return json.loads(value)
    except ValueError:
        return ABSENT


def text(value: Any) -> str:
    """A value on one short line; secret and unknown values as such."""
    return _truncate(_line(value))


def texts(old: Any, new: Any) -> tuple[str, str]:
    """Two values likewise; of long ones, the part that differs."""
    return excerpts(_line(old), _line(new))


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Two lines; of long ones, the part that differs."""
    same_at_start = _common_prefix_length(before, after)
    if before == after or same_at_start < _LIMIT - _CONTEXT or max(len(before), len(after)) <= _LIMIT:
        return _truncate(before), _truncate(after)
    same_at_end = _common_prefix_length(before[: same_at_start - 1 : -1], after[: same_at_start - 1 : -1])
    first, second = (
        _excerpt(line, same_at_start - _CONTEXT, len(line) - same_at_end + _CONTEXT) for line in (before, after)
    )
    return first, second


def full_values(old: Any, new: Any) -> str:
    """Two values in full where `texts` shows parts of them, or a digest of very long ones; else empty."""
    before, after = _line(old), _line(new)
    if max(len(before), len(after)) <= _LIMIT:
        return ""
    both = f"{before}{BETWEEN}{after}"
    return both if len(both) <= _FULL_LIMIT else digest(both, 64)


def _common_prefix_length(first: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(first, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(other)))


def _excerpt(line: str, start: int, end: int) -> str:
    return _truncate(f"…{line[start:end]}{'…' if end < len(line) else ''}")


def _line(value: Any) -> str:
    return "" if value is ABSENT else json.dumps(_masked(value), ensure_ascii=False, sort_keys=True)


def _truncate(line: str) -> str:
    return line if len(line) <= _LIMIT else line[: _LIMIT - 1] + "…"


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return SECRET if _SIGNATURE in value else {key: _masked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    return UNKNOWN if isinstance(value, str) and value in _UNKNOWN_VALUES else value
