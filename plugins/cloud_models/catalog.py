"""Which call of a cloud's API creates a type of resource: by naming rules, and by tables of exceptions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tensorplane.plugins.cloud_models import aws, google, names, package
from tensorplane.plugins.cloud_models.pairs import Pairing
from tensorplane.plugins.cloud_models.shape import Parameters, Shape

Address = Callable[[str, str, Mapping[str, str]], str]


def _operation(module: str, resource: str, services: Mapping[str, str]) -> str:
    return f"{services.get(module, module)}.Create{resource}"


def _schema(module: str, resource: str, documents: Mapping[str, str]) -> str:
    return f"{documents.get(module, f'{module}.v1')}.{resource}"


@dataclass(frozen=True)
class Cloud:
    """A cloud whose API describes its types: the package with the descriptions, and how they are found."""

    label: str
    package: str
    find: Callable[[str], Shape | None]
    address: Address
    """The address of a type of resource, from its module and name, by the naming rule."""

    @property
    def source(self) -> str:
        """The package and its version; empty if it is not installed."""
        return package.source(self.package)


CLOUDS = {
    "aws": Cloud("AWS", aws.PACKAGE, aws.find, _operation),
    "gcp": Cloud("Google Cloud", google.PACKAGE, google.find, _schema),
}


@dataclass(frozen=True, eq=False)
class Entry:
    """One type of resource in its cloud's model."""

    cloud: Cloud
    addresses: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    """Exceptions from the naming rules; inputs that only Pulumi has are empty."""

    @functools.cached_property
    def shape(self) -> Shape | None:
        """The resource's inputs as the API takes them; None if the model does not have it."""
        parts = [found for address in self.addresses if (found := self.part(address))]
        return Parameters({name: shape for part in parts for name, shape in part.members().items()}) if parts else None

    def part(self, address: str) -> Shape | None:
        """The type at an address and the path behind its colon: `s3.PutBucketReplication:ReplicationConfiguration`."""
        call, _, member = address.partition(":")
        found = self.cloud.find(call)
        found = names.at(member, found) if found and member else found
        return found and (found.item() or found)


@functools.cache
def entry(token: str) -> Entry | None:
    """What is known of a type of resource, such as `aws:eks/nodeGroup:NodeGroup`.

    None if its cloud publishes no types, or if the package with them is not installed.
    """
    name, path, resource = token.split(":", 2)
    cloud = CLOUDS.get(name)
    if cloud is None or not cloud.source:
        return None
    module = path.partition("/")[0]
    exceptions = table(name)
    given = exceptions["resources"].get(f"{module}.{resource}") or {}
    calls = given.get("calls", [cloud.address(module, resource, exceptions["modules"])])
    return Entry(cloud, tuple(calls), {**exceptions["inputs"], **(given.get("inputs") or {})})


def pairing(token: str) -> Pairing:
    """How the inputs of a type of resource are paired with the API's."""
    found = entry(token)
    return Pairing(token.rpartition(":")[2], found.names if found else {})


@functools.cache
def table(name: str) -> Mapping[str, Any]:
    """The exceptions of a cloud, `aws`: what its file says."""
    found: Mapping[str, Any] = yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text())
    return found
