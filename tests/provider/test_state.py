"""States go both ways between this provider and Pulumi's own plugin.

The states in `states/` are written in the format of checkpointObject and parseCheckpointObject in
provider/pkg/provider/provider.go of pulumi-kubernetes v4.32 (`before_1_0.json`: its oldest form), as a state file holds
them.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from google.protobuf import json_format, struct_pb2
from pulumi.runtime.proto import provider_pb2

from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes.values import Properties, Secret, decode, plain
from tests.provider.driver import CONFIG_MAP, SECRET, Driver
from tests.provider.objects import config_map

NAMES = {
    "deployment": "kubernetes:apps/v1:Deployment",
    "secret": SECRET,
    "crd": "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
    "before_1_0": CONFIG_MAP,
}


def recorded(name: str) -> Properties:
    text = (Path(__file__).parent / "states" / f"{name}.json").read_text()
    struct = struct_pb2.Struct()
    json_format.ParseDict(json.loads(text), struct)
    return decode(struct)


def inputs_of(state: Properties) -> Properties:
    found: Properties = state["__inputs"] if "__inputs" in state else state["inputs"]
    return copy.deepcopy(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_inputs_are_no_change_to_a_recorded_state(provider: Driver, name: str) -> None:
    state = recorded(name)
    news = provider.check(NAMES[name], inputs_of(state), inputs_of(state))
    assert news == inputs_of(state), "checked again, the inputs stay the same"
    assert provider.diff(NAMES[name], state, news).changes == provider_pb2.DiffResponse.DIFF_NONE


def test_an_automatic_name_of_the_official_plugin_is_kept(provider: Driver) -> None:
    state = recorded("deployment")
    news = inputs_of(state)
    news["metadata"] = {}
    checked = provider.check(NAMES["deployment"], news, inputs_of(state))
    assert checked["metadata"]["name"] == "web-7d1f2a90"
    assert checked["metadata"]["annotations"] == {"pulumi.com/autonamed": "true"}


def test_a_changed_image_is_the_only_change(provider: Driver) -> None:
    state = recorded("deployment")
    news = inputs_of(state)
    news["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2"
    assert list(provider.diff(NAMES["deployment"], state, news).detailedDiff) == [
        "spec.template.spec.containers[0].image"
    ]


def test_a_recorded_object_is_updated_under_its_own_field_manager(
    provider: Driver, api: Objects, namespace: str
) -> None:
    """What the official plugin made (by POST as `pulumi-kubernetes`) and recorded is updated as it would."""
    state = recorded("secret")
    for part in (state, state["__inputs"]):
        part["metadata"]["namespace"] = namespace
    live = api.create(plain(state["__inputs"]), manager="pulumi-kubernetes")
    news = provider.check(SECRET, {**inputs_of(state), "data": Secret({"password": "bmV3"})}, inputs_of(state))
    updated = provider.update(SECRET, state, news)
    managers = [(e["manager"], e["operation"]) for e in updated["metadata"]["managedFields"]]
    assert managers == [("pulumi-kubernetes-77aa0012", "Apply")]
    assert updated["metadata"]["uid"] == live["metadata"]["uid"]
    assert updated["__fieldManager"] == "pulumi-kubernetes-77aa0012"


def test_a_written_state_has_the_official_fields(provider: Driver, namespace: str) -> None:
    inputs = config_map(namespace, {"a": "1"})
    _, state = provider.create(CONFIG_MAP, inputs)
    assert {key for key in state if key.startswith("__")} == {"__inputs", "__initialApiVersion", "__fieldManager"}
    assert state["__inputs"] == inputs
    assert state["__initialApiVersion"] == "v1"


def test_schema_extensions_of_crds_are_spelled_with_underscores(provider: Driver, api: Objects) -> None:
    """Source: dashToUnderscoreMap in provider.go: the SDKs' names have no dashes."""
    inputs = inputs_of(recorded("crd"))
    token = NAMES["crd"]
    resource_id, state = provider.create(token, inputs)
    try:
        schema = state["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert schema["x_kubernetes_preserve_unknown_fields"] is True
        assert not provider.diff(token, state, inputs).detailedDiff
    finally:
        provider.delete(token, resource_id, state)
