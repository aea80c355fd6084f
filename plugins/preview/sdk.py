"""Finds the classes of a resource's token in an installed Pulumi SDK: its arguments and its outputs."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import inspect
import typing
from dataclasses import dataclass
from typing import Any

from pulumi.runtime import rpc

from tensorplane.core.errors import UserError


@dataclass(frozen=True)
class ResourceType:
    """A type of resource: the class of its arguments, and its own class, which has its outputs."""

    arguments: type
    resource: type

    @property
    def name(self) -> str:
        return self.resource.__name__


class Sdk:
    """The SDK of one package, such as `aws` or `azure-native`. Only the requested modules are imported."""

    def __init__(self, package: str) -> None:
        self.package = package
        self._module = f"pulumi_{package.replace('-', '_')}"
        self.version = importlib.metadata.version(self._module.replace("_", "-"))

    def resource(self, token: str) -> ResourceType:
        """The type of resource that a token (`aws:eks/nodeGroup:NodeGroup`) names. A UserError if the SDK has none."""
        return _resource(self._module, self.version, token)

    @property
    def provider(self) -> type:
        """The class of the arguments of the package's own `Provider`."""
        found: type = importlib.import_module(f"{self._module}.provider").ProviderArgs
        return found


@functools.cache
def _resource(module: str, version: str, token: str) -> ResourceType:
    importlib.import_module(module)  # it registers the module and class of every token
    package, path, _ = token.split(":", 2)
    for registered in rpc._RESOURCE_MODULES.get(f"{package}:{path}", ()):
        info: dict[str, Any] = registered.mod_info  # type: ignore[attr-defined]
        if found := info["classes"].get(token):
            resource: type = getattr(importlib.import_module(info["fqn"]), found)
            return ResourceType(_arguments(resource), resource)
    raise UserError(f"{token}: {module} {version} has no such resource; check the token, or upgrade the SDK")


def _arguments(resource: type) -> type:
    # From the constructor's signature: a few classes are not named `<Resource>Args`.
    for overload in typing.get_overloads(resource.__init__):  # type: ignore[misc]
        parameter = inspect.signature(overload).parameters.get("args")
        if parameter:
            options = typing.get_args(parameter.annotation) or (parameter.annotation,)
            found: type = options[0]
            return found
    raise UserError(f"{resource.__module__}.{resource.__name__}: its constructor names no class of arguments")
