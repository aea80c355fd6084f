"""What every environment and example asks of a cloud, with the values that its own resources give as unknown."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.plugins.cloud_models import azure, catalog, check
from tensorplane.plugins.cloud_models.pairs import Pair
from tensorplane.plugins.kubernetes.values import UNKNOWN
from tensorplane.plugins.preview.sdk import Sdk
from tests.preview.conftest import PACKAGES
from tests.support import goldens

# Names of tests.support.computed, which clouds give in other forms.
_COMPUTED = re.compile(r"-id(/|$)|:us-west-2:123456789012:|-1a2b3c4d?$|^(sg|vpc)-cluster$|^eks-")

Asked = tuple[str, Mapping[str, Any]]
"""A resource's type and inputs."""


@functools.cache
def registered(stack: str) -> list[Asked]:
    """The resources of clouds that a stack registers, with the names that the tests' mocks give."""
    rows = goldens.rows(stack)
    return [(row["type"], row["inputs"]) for row in rows if row["type"].partition(":")[0] in PACKAGES]


STACKS = [name for name in goldens.STACKS if any(not kind.startswith("pulumi:") for kind, _ in registered(name))]


def declared(stack: str) -> list[Asked]:
    """The same, with what only the clouds know as unknown."""
    return [(kind, _declared(inputs)) for kind, inputs in registered(stack)]


def arguments(token: str) -> type:
    return Sdk(token.partition(":")[0]).resource(token).arguments


def find_problems(token: str, inputs: Mapping[str, Any]) -> list[str]:
    """What the cloud's model says, as `place: reason`."""
    return [
        f"{each.rendered_path}: {each.reason}" for each in check.check_inputs(token, inputs, arguments(token)).problems
    ]


def pairs(token: str, inputs: Mapping[str, Any]) -> Iterator[Pair]:
    """Each value beside its type in the model."""
    if token.startswith("azure-native:"):
        yield from azure.pairs(inputs, arguments(token))
    elif entry := catalog.entry(token):
        yield from catalog.pairing(token).of(inputs, entry.shape)


def _declared(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _declared(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_declared(item) for item in value]
    return UNKNOWN if isinstance(value, str) and _COMPUTED.search(value) else value
