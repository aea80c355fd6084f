"""Pods with GPUs in namespaces that no stack manages, from recorded answers of an API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import stack
from cli.commands.check import guard
from components.base.settings import Settings

GPUS = {"containers": [{"name": "main", "resources": {"limits": {"amd.com/gpu": "2"}}}]}
OVERHEAD = {"containers": [{"name": "main"}], "overhead": {"nvidia.com/gpu": "1"}}
CLAIM = {"containers": [{"name": "main"}], "resourceClaims": [{"name": "eight"}]}
PLAIN = {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "0"}}}]}


class Cluster:
    """Answers as the API server does. `pods`: their specs, by namespace and name."""

    def __init__(self, pods: Mapping[str, Any], action: str | None) -> None:
        self._pods, self._action = pods, action

    def items(self, path: str) -> list[dict[str, Any]]:
        assert path == "/api/v1/pods"
        found = [(*key.split("/"), spec) for key, spec in self._pods.items()]
        return [{"metadata": {"namespace": space, "name": name}, "spec": spec} for space, name, spec in found]

    def metadata(self, path: str) -> list[dict[str, Any]]:
        assert path == "/api/v1/namespaces"
        labels = {"kueue": {"app.kubernetes.io/part-of": "tensorplane"}, "free": {"tensorplane.dev/gpus": "allowed"}}
        return [{"metadata": {"name": name, "labels": each}} for name, each in labels.items()]

    def get(self, path: str) -> dict[str, Any] | None:
        assert path.endswith("/validatingadmissionpolicybindings/lab-gpus-in-other-namespaces")
        return {"spec": {"validationActions": [self._action]}} if self._action else None


def told(pods: Mapping[str, Any], action: str | None = None, asked: str | None = None) -> list[str]:
    tree = {"namespace": "lab", **({"gpusInOtherNamespaces": asked} if asked else {})}
    cluster: Any = Cluster(pods, action)
    return [
        str(note).removeprefix("tensorplane:gpusInOtherNamespaces: ")
        for note in guard.notes(stack.load(Settings(tree)), cluster)
    ]


@pytest.mark.parametrize("spec", [GPUS, OVERHEAD, CLAIM])
def test_pods_that_would_be_refused_are_listed(spec: Any) -> None:
    pods = {"default/a": spec, "lab/own": spec, "kueue/other": spec, "free/allowed": spec, "default/plain": PLAIN}
    remedy = "run them in a queue, or label their namespaces tensorplane.dev/gpus=allowed"
    expected = [f"deny refuses pods that run now when they start again: 1 pod with GPUs there (default/a); {remedy}"]
    assert told(pods, "Deny") == told(pods, "Warn", "deny") == told(pods, None, "deny") == expected


def test_where_nothing_is_refused_is_said() -> None:
    remedy = "set it to deny, warn or allow"
    many = {f"default/{index}": GPUS for index in range(7)}
    listed = ": 7 pods with GPUs there (default/0, default/1, default/2, default/3, default/4 and 2 more)"
    assert told({}, "Warn") == [f"pods with GPUs in namespaces that no stack manages are only warned about; {remedy}"]
    assert told(many) == [f"pods with GPUs in namespaces that no stack manages are let in{listed}; {remedy}"]


@pytest.mark.parametrize(("action", "asked"), [("Deny", None), (None, "allow"), ("Warn", "deny")])
def test_what_was_decided_is_not_told(action: str | None, asked: str | None) -> None:
    assert told({"default/plain": PLAIN}, action, asked) == []
