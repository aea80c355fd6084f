"""An object's state: the live object, and the inputs under `__` keys, as Pulumi's plugin writes them."""

from __future__ import annotations

from typing import Any

from tensorplane.plugins.kubernetes import naming, object_annotations, secrecy
from tensorplane.plugins.kubernetes.values import Properties, plain

Object = dict[str, Any]

INPUTS = "__inputs"
INITIAL_API_VERSION = "__initialApiVersion"
FIELD_MANAGER = "__fieldManager"

# The SDKs have no names with dashes: JSON schema extensions of CRDs are spelled with underscores there.
_DASHED = {
    name.replace("-", "_"): name
    for name in (
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    )
}
_UNDERSCORED = {dashed: name for name, dashed in _DASHED.items()}


def from_properties(properties: Properties) -> Object:
    """A Kubernetes object from Pulumi's properties: without secret marks, with the API's names."""
    obj: Object = plain(properties, lambda key: _DASHED.get(key, key))
    return obj


def to_properties(obj: Object, secrets_of: Properties) -> Properties:
    """Pulumi's properties from a Kubernetes object, secret wherever `secrets_of` is."""
    properties: Properties = plain(obj, lambda key: _UNDERSCORED.get(key, key))
    secrecy.mark(properties, secrets_of)
    return properties


def pack(inputs: Object, live: Object, secrets_of: Properties, initial_api_version: str, manager: str) -> Properties:
    """The state of an existing object."""
    state = to_properties(live, secrets_of)
    state[INPUTS] = to_properties(inputs, secrets_of)
    state[INITIAL_API_VERSION] = initial_api_version
    state[FIELD_MANAGER] = manager
    return state


def unpack(state: Properties) -> tuple[Object, Object]:
    """Inputs and live object of a state, also of one that a very old plugin wrote as `{inputs, live}`."""
    live = from_properties(state)
    if "inputs" in live and "live" in live:
        return live["inputs"], live["live"]
    inputs = live.pop(INPUTS, {})
    live.pop(INITIAL_API_VERSION, None)
    live.pop(FIELD_MANAGER, None)
    return inputs, live


def initial_api_version(state: Properties, inputs: Object) -> str:
    return str(plain(state.get(INITIAL_API_VERSION)) or inputs.get("apiVersion") or "")


def field_manager(state: Properties, inputs: Object) -> str:
    """The field manager for the API server: the annotation's, the state's, or a new one."""
    stored = plain(state.get(FIELD_MANAGER))
    return (
        object_annotations.value(inputs, object_annotations.PATCH_FIELD_MANAGER)
        or stored
        or naming.unique("pulumi-kubernetes-")
    )
