"""Labels and tags: who owns what, and who pays for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN
from stack_view.finding import Finding
from stack_view.rule import Config, Rule, Severity, of_each
from stack_view.schemas import words
from stack_view.view import Resource, View, at, known

_LABELLED = frozenset(
    {
        *(("apps", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet")),
        *(("batch", kind) for kind in ("Job", "CronJob")),
        *(("core", "Pod"), ("jobset.x-k8s.io", "JobSet")),
    }
)
# What costs most: clusters, machines, stores. With the key of their tags.
_TAGGED: Mapping[str, str] = {
    **dict.fromkeys(("aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup", "aws:s3/bucket:Bucket"), "tags"),
    **dict.fromkeys(("aws:efs/fileSystem:FileSystem", "aws:fsx/lustreFileSystem:LustreFileSystem"), "tags"),
    "gcp:container/cluster:Cluster": "resourceLabels",
    **dict.fromkeys(("gcp:storage/bucket:Bucket", "gcp:filestore/instance:Instance"), "labels"),
    **dict.fromkeys(("azure-native:containerservice:ManagedCluster", "azure-native:storage:StorageAccount"), "tags"),
}
_PROVIDERS: Mapping[str, tuple[str, str]] = {
    "aws": ("pulumi:providers:aws", "defaultTags"),
    "gcp": ("pulumi:providers:gcp", "defaultLabels"),
}


def _labels(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    manifest = resource.manifest
    if manifest is None or manifest.type not in _LABELLED or manifest.is_patch:
        return
    given = known(manifest.body, "metadata", "labels") or {}
    if missing := [key for key in config["labels"] if not given.get(key)]:
        problem = f"the label {' and '.join(missing)} is missing"
        yield Finding(problem, f"add it to `metadata.labels`, or take it off `labels` in {view.config}")


def _tags(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    key = _TAGGED.get(resource.type)
    if key is None:
        return
    given = {*(known(resource.body, key) or {}), *_by_default(resource, view)}
    if missing := [tag for tag in config["tags"] if tag not in given]:
        problem = f"the tag {' and '.join(missing)} is missing, so nobody knows whose it is and who pays"
        yield Finding(problem, f"add it to `{key}`, or take it off `tags` in {view.config}")


def _by_default(resource: Resource, view: View) -> Iterator[str]:
    """Tags that the provider gives to all its resources."""
    token, key = _PROVIDERS.get(resource.type.partition(":")[0], ("", ""))
    for provider in view.of(token):
        value = _read(provider.body.get(key))
        yield from at(value, "tags") or value


def _read(value: Any) -> Mapping[str, Any]:
    """A provider's setting, which the engine has as JSON."""
    if value is UNKNOWN:
        return {}
    return dict(json.loads(value) if isinstance(value, str) else value or {})


POLICIES = [
    Rule(
        of_each(_labels),
        name="required-labels",
        description="Workloads have the labels in `labels`.",
        remedy="Add the label.",
        severity=Severity.LOW,
        tags=["labels"],
        config={"labels": words("app.kubernetes.io/name")},
    ),
    Rule(
        of_each(_tags),
        name="required-tags",
        description="Clusters, node groups and stores of clouds have the tags in `tags`, such as their team.",
        remedy="Add the tag, in the settings of the cluster or of the provider.",
        severity=Severity.MEDIUM,
        tags=["labels", "cost"],
        config={"tags": words()},
    ),
]
