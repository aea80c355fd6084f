"""What Check makes of a program's inputs: names, namespaces, refusals.

Source of the semantics: Check in provider/pkg/provider/provider.go and provider/pkg/metadata/naming.go of
pulumi-kubernetes v4.32.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from tensorplane.plugins.kubernetes.values import UNKNOWN, Properties
from tests.provider.driver import CONFIG_MAP, CheckFailed, Driver, configured

AUTONAMED = "pulumi.com/autonamed"


def unnamed(**metadata: Any) -> Properties:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


def refused(provider: Driver, token: str, news: Properties) -> str:
    with pytest.raises(CheckFailed) as failure:
        provider.check(token, news)
    return str(failure.value)


def test_an_object_without_a_name_gets_one_and_is_marked(provider: Driver) -> None:
    metadata = provider.check(CONFIG_MAP, unnamed(), name="settings")["metadata"]
    assert re.fullmatch(r"settings-[0-9a-f]{8}", metadata["name"])
    assert metadata["annotations"] == {AUTONAMED: "true"}
    assert provider.check(CONFIG_MAP, unnamed(), name="settings")["metadata"]["name"] != metadata["name"]


def test_the_name_follows_from_the_engines_seed(provider: Driver) -> None:
    first, second = (
        provider.check(CONFIG_MAP, unnamed(), name="settings", randomSeed=b"seed")["metadata"]["name"] for _ in "12"
    )
    assert first == second
    other = provider.check(CONFIG_MAP, unnamed(), name="settings", randomSeed=b"other")["metadata"]["name"]
    assert other != first


def test_the_name_stays_in_later_updates(provider: Driver) -> None:
    olds = provider.check(CONFIG_MAP, unnamed())
    assert provider.check(CONFIG_MAP, unnamed(labels={"a": "b"}), olds)["metadata"]["name"] == olds["metadata"]["name"]


def test_the_engines_autonaming_is_followed(provider: Driver) -> None:
    """Source: the autonaming settings of pulumi's stack configuration (pulumi:autonaming)."""
    options = provider_pb2.CheckRequest.AutonamingOptions
    proposed = options(proposed_name="chosen", mode=options.PROPOSE)
    assert provider.check(CONFIG_MAP, unnamed(), autonaming=proposed)["metadata"]["name"] == "chosen"
    with pytest.raises(CheckFailed, match=r"autonaming is disabled.*metadata\.name"):
        provider.check(CONFIG_MAP, unnamed(), autonaming=options(mode=options.DISABLE))


def test_a_given_name_is_kept_and_not_marked(provider: Driver) -> None:
    assert provider.check(CONFIG_MAP, unnamed(name="mine"))["metadata"] == {"name": "mine"}


def test_what_is_not_known_yet_stays_unknown(provider: Driver) -> None:
    news = unnamed(name=UNKNOWN, labels={"a": UNKNOWN})
    news["data"] = UNKNOWN
    assert provider.check(CONFIG_MAP, news) == news


def test_the_providers_namespace_is_the_default(kubeconfig: dict[str, Any]) -> None:
    with configured(kubeconfig, namespace="team") as provider:
        assert provider.check(CONFIG_MAP, unnamed(name="x"))["metadata"]["namespace"] == "team"
        assert provider.check(CONFIG_MAP, unnamed(name="x", namespace="y"))["metadata"]["namespace"] == "y"
        cluster_wide = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
        assert "namespace" not in provider.check("kubernetes:core/v1:Namespace", cluster_wide)["metadata"]


def test_a_kind_without_its_crd_is_taken_to_be_namespaced(kubeconfig: dict[str, Any]) -> None:
    """Source: the comment on IsNoNamespaceInfoErr in Check; a CRD checked before says better."""
    thing = {"apiVersion": "later.example/v1", "kind": "Thing", "metadata": {"name": "x"}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.later.example"},
        "spec": {"group": "later.example", "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"}},
    }
    with configured(kubeconfig, namespace="team") as provider:
        token = "kubernetes:later.example/v1:Thing"
        assert provider.check(token, thing)["metadata"]["namespace"] == "team"
        provider.check("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", crd)
        assert "namespace" not in provider.check(token, thing)["metadata"]


def test_lists_are_refused(provider: Driver) -> None:
    news = {"apiVersion": "v1", "kind": "ConfigMapList", "items": []}
    assert "declare its items" in refused(provider, "kubernetes:core/v1:ConfigMapList", news)


def test_generate_name_is_refused(provider: Driver) -> None:
    assert "generateName is not supported" in refused(provider, CONFIG_MAP, unnamed(generateName="x-"))


def test_a_patch_must_name_its_object(provider: Driver) -> None:
    assert "metadata.name" in refused(provider, "kubernetes:core/v1:ConfigMapPatch", unnamed())


def test_a_malformed_wait_is_refused_before_anything_is_made(provider: Driver) -> None:
    news = unnamed(name="x", annotations={"pulumi.com/waitFor": "ready please"})
    assert "ready please" in refused(provider, CONFIG_MAP, news)


def test_secret_texts_become_data_and_stay_secret(provider: Driver) -> None:
    """Source: normalizeSecret in provider/pkg/clients/unstructured.go."""
    news = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"password": "hunter2"}}
    checked = provider.check("kubernetes:core/v1:Secret", news)
    assert checked["data"].value == {"password": "aHVudGVyMg=="}
    assert "stringData" not in checked
