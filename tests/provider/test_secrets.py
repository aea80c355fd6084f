"""Secrets stay secret: in what goes into the state, and in what is said.

Source of the semantics: annotateSecrets and checkpointObject in provider/pkg/provider/provider.go of pulumi-kubernetes
v4.32.
"""

from __future__ import annotations

import base64

import pytest

from tensorplane.plugins.kubernetes.values import Properties, Secret, has_secret
from tests.provider.driver import CONFIG_MAP, SECRET, Driver, Failed
from tests.provider.objects import CONTAINER, NO_AWAIT, config_map, never_ready

PASSWORD = "correct-horse-battery"
ENCODED = base64.b64encode(PASSWORD.encode()).decode()


def secret(namespace: str) -> Properties:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "x", "namespace": namespace},
        "stringData": {"password": PASSWORD},
    }


def visible(value: object) -> str:
    """What a reader of the state can see."""
    if isinstance(value, Secret):
        return "[secret]"
    if isinstance(value, dict):
        return " ".join(f"{key}={visible(item)}" for key, item in value.items())
    return " ".join(map(visible, value)) if isinstance(value, list) else str(value)


def test_the_contents_of_a_secret_are_always_secret(provider: Driver, namespace: str) -> None:
    inputs = provider.check(SECRET, secret(namespace))
    resource_id, state = provider.create(SECRET, inputs)
    preview = provider.preview(SECRET, {**inputs, "metadata": {"name": "y", "namespace": namespace}})
    _, read, read_inputs = provider.read(SECRET, resource_id, inputs, state)
    _, imported, imported_inputs = provider.read(SECRET, resource_id)
    for seen in (inputs, state, preview, read, read_inputs, imported, imported_inputs):
        assert seen["data"].value == {"password": ENCODED}
        assert PASSWORD not in visible(seen)
        assert ENCODED not in visible(seen)
    assert not provider.diff(SECRET, state, inputs).detailedDiff


def test_a_secret_input_is_secret_in_the_state_at_the_same_place(provider: Driver, namespace: str) -> None:
    metadata = {"name": "x", "namespace": namespace, "annotations": {"token": Secret(PASSWORD), "plain": "seen"}}
    inputs = {**config_map(namespace), "metadata": metadata, "data": Secret({"a": PASSWORD})}
    checked = provider.check(CONFIG_MAP, inputs)
    resource_id, state = provider.create(CONFIG_MAP, checked)
    _, read, read_inputs = provider.read(CONFIG_MAP, resource_id, checked, state)
    for seen in (checked, state, state["__inputs"], read, read_inputs):
        assert seen["metadata"]["annotations"]["token"] == Secret(PASSWORD)
        assert seen["metadata"]["annotations"]["plain"] == "seen"
        assert seen["data"] == Secret({"a": PASSWORD})
        assert PASSWORD not in visible(seen)


def test_a_list_with_a_secret_in_it_is_secret_as_a_whole(provider: Driver, namespace: str) -> None:
    """Source: the note on arrays in annotateSecrets: its items may change places."""
    env = [{"name": "TOKEN", "value": Secret(PASSWORD)}, {"name": "PLAIN", "value": "seen"}]
    inputs = never_ready(namespace, **NO_AWAIT)
    inputs["spec"]["containers"] = [{**CONTAINER, "env": env}]
    _, state = provider.create("kubernetes:core/v1:Pod", inputs)
    assert isinstance(state["spec"]["containers"], Secret)
    assert not has_secret(state["spec"]["dnsPolicy"])
    assert PASSWORD not in visible(state)


def test_errors_do_not_show_secrets(provider: Driver, namespace: str) -> None:
    inputs = config_map(namespace, labels={"token": Secret(f"{PASSWORD} !")})
    with pytest.raises(Failed) as failure:
        provider.create(CONFIG_MAP, inputs)
    assert "metadata.labels" in failure.value.message
    assert PASSWORD not in failure.value.message
    assert "[secret]" in failure.value.message


def test_a_body_that_cannot_be_parsed_is_not_quoted(provider: Driver, namespace: str) -> None:
    inputs = {**secret(namespace), "data": {"number": 5}}
    with pytest.raises(Failed) as failure:
        provider.create(SECRET, inputs)
    assert PASSWORD not in failure.value.message
    assert "Secret" in failure.value.message
