"""Properties of the engine's messages as plain maps, lists and scalars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN

# How the engine writes what is no plain value: a map with this key, whose value tells what it is.
_SIGNATURE_KEY = "4dabf18193072939515e22adb298388d"
_SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 (a mark, not a secret)
_FILE_SIGNATURES = ("c44067f5952c0a294b673a41bacd8c17", "0def7320c3a5731c473e5ecbe6d01bc7")
"""An asset and an archive."""
_UNKNOWN_VALUES = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # a boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # a number
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # a string
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # a list
        "030794c1-ac77-496b-92df-f27374a8bd58",  # an asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # an archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # a map
    }
)


class File:
    """An asset or an archive: no rule reads what is in it."""


def to_plain(fields: Mapping[str, Any]) -> Any:
    """The fields of a protobuf Struct, with secrets as their values and UNKNOWN for what only the update knows."""
    found = {key: _to_plain(value) for key, value in fields.items()}
    if _SIGNATURE_KEY not in found:
        return found
    if found[_SIGNATURE_KEY] == _SECRET_SIGNATURE:
        return found["value"]
    if found[_SIGNATURE_KEY] in _FILE_SIGNATURES:
        return File()
    raise ValueError("a property of an unknown kind")


def _to_plain(value: Any) -> Any:
    """The same of one protobuf Value."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return UNKNOWN if text in _UNKNOWN_VALUES else text
    if kind == "struct_value":
        return to_plain(value.struct_value.fields)
    if kind == "list_value":
        return [_to_plain(each) for each in value.list_value.values]
    return None if kind == "null_value" else getattr(value, kind)
