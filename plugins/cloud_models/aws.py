"""AWS's models of its services, as botocore ships them: an operation's parameters by `eks.CreateNodegroup`."""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.plugins.cloud_models import package
from tensorplane.plugins.cloud_models.shape import Limits, Shape

PACKAGE = "botocore"
_GROWING = frozenset({"InstanceType"})
"""Enumerations to which AWS adds values every few weeks."""
_NUMBERS = frozenset({"integer", "long", "float", "double"})
_WITH_LENGTH = frozenset({"string", "list", "map"})
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

Definition = Mapping[str, Any]


@dataclass(frozen=True)
class AwsShape:
    """One `shape` of a service model."""

    service: str
    name: str

    @property
    def _definition(self) -> Definition:
        found: Definition = _service(self.service)["shapes"][self.name]
        return found

    @property
    def limits(self) -> Limits:
        of = self._definition
        least, most = of.get("min"), of.get("max")
        if of["type"] in _NUMBERS:
            return Limits(least=least, most=most)
        if of["type"] not in _WITH_LENGTH:
            return Limits()
        return Limits(
            allowed=tuple(of.get("enum", ())),
            grows=self.name in _GROWING,
            pattern=_dialect(of.get("pattern", "")),
            shortest=least or 0,
            longest=most,
        )

    @property
    def is_logical(self) -> bool:
        return bool(self._definition["type"] == "boolean")

    def members(self) -> Mapping[str, Shape]:
        found = self._definition.get("members", {})
        return {name: AwsShape(self.service, member["shape"]) for name, member in found.items()}

    def item(self) -> Shape | None:
        found = self._definition.get("member")
        return AwsShape(self.service, found["shape"]) if found else None

    def entry(self) -> tuple[Shape | None, Shape] | None:
        if self._definition["type"] != "map":
            return None
        key, value = (AwsShape(self.service, self._definition[part]["shape"]) for part in ("key", "value"))
        return key, value


def find(address: str) -> Shape | None:
    """The parameters of an operation: `eks.CreateNodegroup`."""
    service, _, name = address.partition(".")
    operation = _operations(service).get(name.lower())
    return AwsShape(service, operation["input"]["shape"]) if operation and "input" in operation else None


@functools.cache
def _operations(service: str) -> Definition:
    """By name in lower case: Pulumi's `NodeGroup` is the API's `Nodegroup`."""
    return {name.lower(): operation for name, operation in _service(service)["operations"].items()}


@functools.cache
def _service(name: str) -> Definition:
    # The files alone: importing botocore would take the packages that it calls the clouds with.
    versions = sorted((package.folder(PACKAGE) / "data" / name).glob("*/service-2.json*"))
    if not versions:
        return {"operations": {}, "shapes": {}}
    content = versions[-1].read_bytes()
    found: Definition = json.loads(gzip.decompress(content) if versions[-1].suffix == ".gz" else content)
    return found


@functools.cache
def _dialect(pattern: str) -> str:
    """The pattern in `regex`'s dialect: Java's has characters beyond 16 bits as two escapes."""
    return _PAIR.sub(lambda match: chr(_code_point(*(int(half, 16) for half in match.groups()))), pattern)


def _code_point(high: int, low: int) -> int:
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
