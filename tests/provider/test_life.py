"""The life of an object through the provider, against a real API server.

Source of the semantics: Create, Read, Update and Delete in provider/pkg/provider/provider.go and
provider/pkg/await/await.go of pulumi-kubernetes v4.32, unless a test names another.
"""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tests.provider.driver import CONFIG_MAP, Driver, Failed, configured
from tests.provider.objects import config_map

CM = GVK("", "v1", "ConfigMap")


def test_create_update_read_delete(provider: Driver, api: Objects, namespace: str) -> None:
    inputs = provider.check(CONFIG_MAP, config_map(namespace, {"a": "1"}))
    resource_id, state = provider.create(CONFIG_MAP, inputs)
    assert resource_id == f"{namespace}/settings"
    assert state["data"] == {"a": "1"}
    assert state["metadata"]["uid"]
    assert state["__inputs"] == inputs

    news = provider.check(CONFIG_MAP, config_map(namespace, {"a": "2", "b": "3"}), inputs)
    state = provider.update(CONFIG_MAP, state, news)
    assert api.get(CM, "settings", namespace)["data"] == {"a": "2", "b": "3"}

    news = provider.check(CONFIG_MAP, config_map(namespace, {"b": "3"}), news)
    state = provider.update(CONFIG_MAP, state, news)
    assert api.get(CM, "settings", namespace)["data"] == {"b": "3"}, "a removed input is removed from the object"

    assert provider.read(CONFIG_MAP, resource_id, news, state) == (resource_id, state, news)
    provider.delete(CONFIG_MAP, resource_id, state)
    assert provider.read(CONFIG_MAP, resource_id, news, state) == ("", {}, {}), "gone: an empty id"
    provider.delete(CONFIG_MAP, resource_id, state)  # a success, as for pulumi-kubernetes


def test_a_refresh_shows_drift_in_the_inputs(provider: Driver, api: Objects, namespace: str) -> None:
    inputs = config_map(namespace, {"a": "1"})
    resource_id, state = provider.create(CONFIG_MAP, inputs)
    api.patch(CM, "settings", namespace, {"data": {"a": "drifted", "new": "x"}}, manager="someone")
    _, state, read = provider.read(CONFIG_MAP, resource_id, inputs, state)
    assert read["data"] == {"a": "drifted"}, "only what the program says is compared"
    difference = provider.diff(CONFIG_MAP, state, inputs)
    assert set(difference.detailedDiff) == {"data.a"}


def test_a_read_keeps_the_version_that_the_object_was_created_with(provider: Driver, namespace: str) -> None:
    inputs = config_map(namespace, {"a": "1"})
    resource_id, state = provider.create(CONFIG_MAP, inputs)
    _, state, _ = provider.read(CONFIG_MAP, resource_id, inputs, {**state, "__initialApiVersion": "v1beta1"})
    assert state["__initialApiVersion"] == "v1beta1"


def test_updating_what_is_gone_says_what_to_do(provider: Driver, api: Objects, namespace: str) -> None:
    _, state = provider.create(CONFIG_MAP, config_map(namespace, {"a": "1"}))
    api.delete(CM, "settings", namespace)
    with pytest.raises(
        Failed, match="settings no longer exists in the cluster; create it again with `pulumi up --refresh`"
    ):
        provider.update(CONFIG_MAP, state, config_map(namespace, {"a": "1"}, labels={"b": "c"}))


def test_creating_what_exists_fails_and_says_what_to_do(provider: Driver, api: Objects, namespace: str) -> None:
    api.create(config_map(namespace, {"mine": "yes"}), manager="someone")
    with pytest.raises(Failed) as failure:
        provider.create(CONFIG_MAP, config_map(namespace, {"a": "1"}))
    assert failure.value.state is None
    assert "already exists" in failure.value.message
    assert "upsertExistingObjects" in failure.value.message
    assert len(failure.value.message.splitlines()) == 1
    assert api.get(CM, "settings", namespace)["data"] == {"mine": "yes"}


def test_upsert_existing_objects_takes_them_over(kubeconfig: dict[str, Any], api: Objects, namespace: str) -> None:
    """Source: the documentation of the Provider's input upsertExistingObjects."""
    api.create(config_map(namespace, {"mine": "yes"}), manager="someone")
    with configured(kubeconfig, upsertExistingObjects="true") as provider:
        _, state = provider.create(CONFIG_MAP, config_map(namespace, {"a": "1"}))
    assert state["data"] == {"mine": "yes", "a": "1"}


def test_import_by_id_gives_inputs_without_what_the_server_fills_in(
    provider: Driver, api: Objects, namespace: str
) -> None:
    api.create(config_map(namespace, {"a": "1"}, labels={"app": "x"}), manager="someone")
    resource_id, state, inputs = provider.read(CONFIG_MAP, f"{namespace}/settings")
    assert resource_id == f"{namespace}/settings"
    assert inputs == config_map(namespace, {"a": "1"}, labels={"app": "x"})
    assert provider.diff(CONFIG_MAP, state, inputs).changes == 1, "DIFF_NONE"


def test_a_conflict_names_field_and_owner_in_one_line(provider: Driver, api: Objects, namespace: str) -> None:
    """Source: the how-to guide "Managing resources with server-side apply", "Handle field conflicts"."""
    inputs = config_map(namespace, {"a": "1"})
    _, state = provider.create(CONFIG_MAP, inputs)
    other = config_map(namespace, {"b": "theirs"})
    api.apply(other, manager="other-controller")
    news = config_map(namespace, {"a": "1", "b": "ours"})
    with pytest.raises(Failed) as failure:
        provider.update(CONFIG_MAP, state, news)
    message = failure.value.message
    assert 'data.b: owned by field manager "other-controller"' in message
    assert "patchForce" in message
    assert len(message.splitlines()) == 1
    assert failure.value.state is not None, "the next update tries again"

    forced = config_map(namespace, {"a": "1", "b": "ours"}, annotations={"pulumi.com/patchForce": "true"})
    provider.update(CONFIG_MAP, state, forced)
    assert api.get(CM, "settings", namespace)["data"]["b"] == "ours"


def test_the_first_update_takes_over_what_creation_wrote(provider: Driver, api: Objects, namespace: str) -> None:
    """Source: fixCSAFieldManagers in await.go: creation is a plain POST, updates are applies."""
    inputs = config_map(namespace, {"a": "1"})
    _, state = provider.create(CONFIG_MAP, inputs)
    created = api.get(CM, "settings", namespace)["metadata"]["managedFields"]
    assert [(e["manager"], e["operation"]) for e in created] == [("pulumi-kubernetes", "Update")]
    state = provider.update(CONFIG_MAP, state, config_map(namespace, {"b": "2"}))
    updated = api.get(CM, "settings", namespace)["metadata"]["managedFields"]
    assert [(e["manager"], e["operation"]) for e in updated] == [(state["__fieldManager"], "Apply")]
    assert state["__fieldManager"].startswith("pulumi-kubernetes-")


def test_ignored_fields_keep_their_live_value(provider: Driver, api: Objects, namespace: str) -> None:
    """Source: handleSSAIgnoreFields in await.go."""
    inputs = config_map(namespace, {"a": "1", "replicas": "1"})
    _, state = provider.create(CONFIG_MAP, inputs)
    api.apply(config_map(namespace, {"replicas": "5"}), manager="autoscaler", force=True)
    news = config_map(namespace, {"a": "2", "replicas": "1"})
    assert "data.replicas" not in provider.diff(CONFIG_MAP, state, news, ignore=("data.replicas",)).detailedDiff
    provider.update(CONFIG_MAP, state, news, ignore=("data.replicas",))
    assert api.get(CM, "settings", namespace)["data"] == {"a": "2", "replicas": "5"}


def test_unknown_fields_are_refused_one_per_line(provider: Driver, namespace: str) -> None:
    """Source: Kubernetes, "Field validation" (fieldValidation=Strict)."""
    inputs = {**config_map(namespace, {"a": "1"}), "dta": {"x": "y"}, "immutabel": True}
    with pytest.raises(Failed) as failure:
        provider.create(CONFIG_MAP, inputs)
    assert failure.value.message.splitlines() == [
        f"ConfigMap {namespace}/settings was not created:",
        '  unknown field "dta"',
        '  unknown field "immutabel"',
    ]


def test_invalid_values_are_refused_one_per_line(provider: Driver, namespace: str) -> None:
    inputs = config_map(namespace, {"bad key!": "1"}, labels={"-": "x"})
    with pytest.raises(Failed) as failure:
        provider.create(CONFIG_MAP, inputs)
    lines = failure.value.message.splitlines()
    assert any(line.startswith("  metadata.labels: Invalid value") for line in lines), lines
    assert any(line.startswith("  data[bad key!]: Invalid value") for line in lines), lines


def test_deletion_propagation_follows_the_annotation(provider: Driver, api: Objects, namespace: str) -> None:
    """Source: DeletionPropagation in provider/pkg/metadata/overrides.go: foreground unless the annotation says so."""
    for policy, survives in (("orphan", True), ("", False)):
        annotations = {"pulumi.com/deletionPropagationPolicy": policy} if policy else {}
        name = f"owner-{policy or 'default'}"
        resource_id, state = provider.create(CONFIG_MAP, config_map(namespace, {}, name, annotations=annotations))
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": state["metadata"]["uid"]}
        owner["blockOwnerDeletion"] = True
        api.create(config_map(namespace, {}, f"{name}-child", ownerReferences=[owner]), manager="tests")
        provider.delete(CONFIG_MAP, resource_id, state)
        with pytest.raises(ApiError, match="not found"):
            api.get(CM, name, namespace)
        if survives:
            assert api.get(CM, f"{name}-child", namespace)
        else:
            with pytest.raises(ApiError, match="not found"):
                api.get(CM, f"{name}-child", namespace)


def test_a_patch_resource_manages_its_fields_only(provider: Driver, api: Objects, namespace: str) -> None:
    """Source: the documentation of ConfigMapPatch, and ssa.Relinquish for its deletion."""
    token = "kubernetes:core/v1:ConfigMapPatch"
    api.create(config_map(namespace, {"mine": "yes"}), manager="someone")
    inputs = provider.check(token, config_map(namespace, {"added": "1"}))
    resource_id, state = provider.create(token, inputs)
    assert api.get(CM, "settings", namespace)["data"] == {"mine": "yes", "added": "1"}
    provider.delete(token, resource_id, state)
    assert api.get(CM, "settings", namespace)["data"] == {"mine": "yes"}
