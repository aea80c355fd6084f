"""The pods of a stack: every pod spec in its Kubernetes objects, also in those of operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from gpu_usage import accelerators, fractions, pods
from gpu_usage.manifest import Manifest, Path, dotted, part

from stack_view import argo
from stack_view.view import Resource, known, maps

LISTS = ("containers", "initContainers", "ephemeralContainers")
_NO_PODS = frozenset({("core", "ConfigMap"), ("core", "Secret"), ("apiextensions.k8s.io", "CustomResourceDefinition")})
_OWNERS = frozenset(
    {
        *(("apps", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")),
        *(("batch", kind) for kind in ("Job", "CronJob")),
        *(("core", kind) for kind in ("Pod", "PodTemplate", "ReplicationController")),
        ("jobset.x-k8s.io", "JobSet"),
    }
)
"""Kinds whose pods are what they are for: an unknown spec hides them."""


@dataclass(frozen=True)
class Pod:
    """One pod spec inside an object."""

    resource: Resource
    manifest: Manifest
    path: Path
    spec: Mapping[str, Any]

    @property
    def dotted_path(self) -> str:
        """Its path in the object, for messages."""
        return dotted(self.path) or "the object"

    def containers(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Its containers of all lists, with their paths."""
        for key in LISTS:
            for one in maps(self.spec, key):
                yield f"{self.dotted_path}.{key}[{one.get('name', '')}]", one

    @property
    def gpus(self) -> int:
        """Accelerators that one such pod requests, each container's sum; claims and shown devices are gpu-quota's."""
        return self.parts + sum(
            accelerators.requested(part(one, "resources", self.path), (*self.path, "resources"))
            for _, one in self.containers()
        )

    @property
    def parts(self) -> int:
        """GPUs of which its annotations request a part."""
        return fractions.requested(self.annotations, (*self.path, "metadata", "annotations"))

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """Those of the pod: beside its spec, or of a template of Argo with those for all templates."""
        if self.manifest.type in argo.KINDS:
            owners = [part(self.spec, key) for key in ("podMetadata", "metadata")]
        else:
            owners = [part(_at(self.manifest.body, self.path[:-1]), "metadata")]
        return {key: value for owner in owners for key, value in part(owner, "annotations").items()}


def _at(value: Any, path: Path) -> Mapping[str, Any]:
    """The map at a path; empty if a list is there."""
    for step in path:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value if isinstance(value, dict) else {}


# Most rules ask for the pods of every object.
@lru_cache(maxsize=20_000)
def of(resource: Resource) -> list[Pod]:
    """The pods of an object. Raises UncountableError if the object hides them behind an unknown value."""
    return list(_of(resource))


def _of(resource: Resource) -> Iterator[Pod]:
    manifest = resource.manifest
    if manifest is None or manifest.type in _NO_PODS:
        return
    if manifest.type in argo.KINDS:
        yield from (Pod(resource, manifest, path, spec) for path, spec in argo.pods(manifest))
        return
    if manifest.type in _OWNERS:
        _refuse_hidden(manifest.body)
    yield from _in(resource, manifest, manifest.body, ())


def _refuse_hidden(body: Mapping[str, Any]) -> None:
    known(body, "spec", "template", "spec")
    known(body, "spec", "jobTemplate", "spec", "template", "spec")
    for job in maps(body, "spec", "replicatedJobs"):
        known(job, "template", "spec", "template", "spec")


def _in(resource: Resource, manifest: Manifest, value: Any, path: Path) -> Iterator[Pod]:
    if isinstance(value, dict):
        if pods.is_pod(value):
            yield Pod(resource, manifest, path, value)
        for key, inner in value.items():
            yield from _in(resource, manifest, inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _in(resource, manifest, inner, (*path, str(index)))
