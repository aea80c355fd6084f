"""Pulumi property values as plain Python: JSON, plus `Secret` and `UNKNOWN` where the engine marks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import struct_pb2

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the wire format's marker, no secret
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
# One marker for unknown values of each type; providers treat them alike.
_UNKNOWNS = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
_UNKNOWN_STRING = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

Properties = dict[str, Any]


class Unknown:
    """A value that is only known after the update; occurs in previews."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __deepcopy__(self, memo: object) -> Unknown:
        return self


UNKNOWN: Final = Unknown()


@dataclass(frozen=True)
class Secret:
    """A value to encrypt in the state and to hide in the output."""

    value: Any


def decode(struct: struct_pb2.Struct) -> Properties:
    """Decodes values. Whole numbers become `int`, as in Kubernetes."""
    return {key: _decode(value) for key, value in struct.fields.items()}


def encode(properties: Properties, *, secrets: bool = True) -> struct_pb2.Struct:
    """Encodes values; without `secrets` (an engine that does not support them), secret values are plain."""
    struct = struct_pb2.Struct()
    for key, value in properties.items():
        _encode(struct.fields[key], value, secrets)
    return struct


def plain(value: Any, rename: Callable[[str], str] = str) -> Any:
    """A copy without secret marks; unknown values stay `UNKNOWN`. `rename` is applied to every key."""
    if isinstance(value, Secret):
        return plain(value.value, rename)
    if isinstance(value, dict):
        return {rename(key): plain(item, rename) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item, rename) for item in value]
    return value


def has_unknown(value: Any) -> bool:
    return any(isinstance(leaf, Unknown) for leaf in _leaves(value))


def has_secret(value: Any) -> bool:
    if isinstance(value, dict):
        return any(has_secret(item) for item in value.values())
    if isinstance(value, list):
        return any(has_secret(item) for item in value)
    return isinstance(value, Secret)


def secret_texts(value: Any, *, within: bool = False) -> Iterator[str]:
    """Every string that is marked secret, and must not appear in messages."""
    if isinstance(value, Secret):
        yield from secret_texts(value.value, within=True)
    elif isinstance(value, dict):
        for item in value.values():
            yield from secret_texts(item, within=within)
    elif isinstance(value, list):
        for item in value:
            yield from secret_texts(item, within=within)
    elif within and isinstance(value, str):
        yield value


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Secret):
        yield from _leaves(value.value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _decode(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _decode_struct(value.struct_value)
    if kind == "list_value":
        return [_decode(item) for item in value.list_value.values]
    if kind == "string_value":
        return UNKNOWN if value.string_value in _UNKNOWNS else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return value.bool_value if kind == "bool_value" else None


def _decode_struct(struct: struct_pb2.Struct) -> Any:
    signature = struct.fields[_SIGNATURE].string_value if _SIGNATURE in struct.fields else ""
    if signature == _SECRET:
        return Secret(_decode(struct.fields["value"]))
    if signature == _OUTPUT:
        inner = _decode(struct.fields["value"]) if "value" in struct.fields else UNKNOWN
        return Secret(inner) if struct.fields["secret"].bool_value else inner
    return decode(struct)


def _encode(target: struct_pb2.Value, value: Any, secrets: bool) -> None:
    if isinstance(value, Secret):
        if not secrets:
            return _encode(target, value.value, secrets)
        value = {_SIGNATURE: _SECRET, "value": value.value}
    if isinstance(value, dict):
        target.struct_value.SetInParent()
        for key, item in value.items():
            _encode(target.struct_value.fields[key], item, secrets)
    elif isinstance(value, list):
        target.list_value.SetInParent()
        for item in value:
            _encode(target.list_value.values.add(), item, secrets)
    else:
        _encode_leaf(target, value)
    return None


def _encode_leaf(target: struct_pb2.Value, value: Any) -> None:
    if isinstance(value, Unknown):
        target.string_value = _UNKNOWN_STRING
    elif value is None:
        target.null_value = struct_pb2.NULL_VALUE
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int | float):
        target.number_value = value
    else:
        target.string_value = str(value)
