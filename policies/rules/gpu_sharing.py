"""Shared GPUs: workers that compute every step together wait for the slowest share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from stack_view import node_groups, placement, pods
from stack_view.finding import Finding
from stack_view.node_groups import Group
from stack_view.rule import Config, Rule, Severity, of_each
from stack_view.view import Resource, View, at, maps

_SHARED = (
    *("nvidia.com/device-plugin.config", "nvidia.com/gpu.sharing-strategy"),
    *("cloud.google.com/gke-gpu-sharing-strategy", "cloud.google.com/gke-max-shared-clients-per-gpu"),
)
# Slices of MIG are devices of their own.
_SLICE = "mig-"
_WORKERS = ("chief", "worker")


def _shared(group: Group) -> bool:
    given = [str(group.labels[key]) for key in _SHARED if key in group.labels]
    return any(not (value.startswith(_SLICE) or value == "none") for value in given)


def _synchronous(pod: pods.Pod) -> bool:
    """Whether TF_CONFIG names several workers and no parameter servers, as of a MultiWorkerMirroredStrategy."""
    for _, container in pod.containers():
        for variable in maps(container, "env"):
            if at(variable, "name") == "TF_CONFIG":
                cluster = _cluster(at(variable, "value"))
                return "ps" not in cluster and sum(len(cluster.get(role, ())) for role in _WORKERS) > 1
    return False


def _cluster(value: Any) -> dict[str, list[str]]:
    """The cluster of a TF_CONFIG. One that only the update knows may be of several workers."""
    return dict(json.loads(value).get("cluster") or {}) if isinstance(value, str) else {"worker": ["", ""]}


def _sharing(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    groups = node_groups.groups(view)
    shared = [each for each in groups if _shared(each)]
    for pod in pods.of(resource):
        if pod.parts and _synchronous(pod):
            problem = (
                f"the workers of `{pod.dotted_path}` compute each step together on parts of GPUs, by their annotations"
            )
            yield Finding(problem, "request whole GPUs in `resources.limits`")
            continue
        found = [each.name for each in shared if placement.takes(each, pod.spec, groups)]
        if pod.gpus and found and _synchronous(pod):
            problem = (
                f"the workers of `{pod.dotted_path}` compute each step together "
                f"and may get shares of the GPUs of {found[0]}"
            )
            yield Finding(
                problem, "choose another accelerator, or require nodes without nvidia.com/device-plugin.config"
            )


POLICIES = [
    Rule(
        of_each(_sharing),
        name="gpu-sharing-strategy",
        description="Workers of one synchronous training get no shares of GPUs (time-slicing, MPS); MIG is allowed.",
        remedy="Choose an accelerator that is not shared.",
        severity=Severity.HIGH,
        tags=["gpu", "sharing"],
    ),
]
