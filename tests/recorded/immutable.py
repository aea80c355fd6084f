"""Immutable fields for which pulumi-kubernetes does not replace the object: an update that changes one fails."""

from __future__ import annotations

from tensorplane.plugins.kubernetes.force_new import Path

_JOB_SET = "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"
WHOLE = frozenset({_JOB_SET})
"""Types of which every field counts as immutable: a changed JobSet ends the run."""

_FIELDS = {
    "kubernetes:core/v1:PersistentVolume": ("spec.nodeAffinity",),
    "kubernetes:core/v1:PersistentVolumeClaim": ("spec.dataSource", "spec.dataSourceRef", "spec.volumeMode"),
    "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue": ("spec.clusterQueue",),
    "kubernetes:kueue.x-k8s.io/v1beta2:Topology": ("spec",),
    "kubernetes:storage.k8s.io/v1:StorageClass": ("reclaimPolicy", "volumeBindingMode"),
}


def paths(token: str) -> list[Path]:
    """The paths of a type's fields."""
    return [tuple(text.split(".")) for text in _FIELDS.get(token, ())]


def is_touched(token: str, path: str) -> bool:
    """Whether a change at a property's path is refused."""
    return token in WHOLE or any(f"{path}.".startswith(f"{text}.") for text in _FIELDS.get(token, ()))
