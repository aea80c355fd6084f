"""Checks of StorageClass names on a new cluster."""

from tensorplane.components.base.problems import did_you_mean
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.stack_file.nearest import nearest

_OF_STACKS = ("tensorplane-files", "tensorplane-embedded")
"""All classes with a fixed name that stacks create on any kind of cluster."""


def find_problem(name: str, cluster: ClusterArgs) -> str | None:
    """Problem of a class that the cluster cannot have; None if it has it or may have it."""
    classes = cluster.storage_classes
    if classes is None or name in classes:
        return None
    if not any(near.startswith("tensorplane-") for near in nearest(name, (*classes, *_OF_STACKS))):
        return None
    have = ", ".join(sorted(classes))
    return f"the cluster has no StorageClass {name!r}; choose one of {have}{did_you_mean(name, classes)}"


def note(name: str, cluster: ClusterArgs) -> str | None:
    """Note about a class that neither stack nor cloud creates; None if they create it, or it is unknown."""
    classes = cluster.storage_classes
    if classes is None or name in classes:
        return None
    near = did_you_mean(name, classes)
    return (
        f"neither this stack nor the cloud creates StorageClass {name!r}{near}; the volume is Pending until it exists"
    )
