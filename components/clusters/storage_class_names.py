"""Names of StorageClasses that a new cluster does not come with: mistyped ones of this stack, and all others."""

from components.base.faults import did_you_mean
from components.clusters.settings import ClusterArgs
from stack_file.nearest import nearest

_OF_STACKS = ("tensorplane-files", "tensorplane-embedded")
"""Every class of a fixed name that a stack makes, on one kind of cluster or another."""


def fault(name: str, cluster: ClusterArgs) -> str | None:
    """Why no cluster of these settings will ever have the class; None where it has it, or may."""
    classes = cluster.storage_classes
    if classes is None or name in classes:
        return None
    if not any(near.startswith("tensorplane-") for near in nearest(name, (*classes, *_OF_STACKS))):
        return None
    have = ", ".join(sorted(classes))
    return f"the cluster has no StorageClass {name!r}; choose one of {have}{did_you_mean(name, classes)}"


def note(name: str, cluster: ClusterArgs) -> str | None:
    """What to know of a class that somebody else has to make; None where it comes with the cluster, or is unknown."""
    classes = cluster.storage_classes
    if classes is None or name in classes:
        return None
    near = did_you_mean(name, classes)
    return (
        f"neither this stack nor the cloud creates StorageClass {name!r}{near}; the volume is Pending until it exists"
    )
