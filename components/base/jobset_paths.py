"""Paths of JobSets in Kubernetes' API."""

from tensorplane.components import versions

JOB_SETS = f"/apis/{versions.JOBSET_API}"
"""The API's group."""


def in_namespace(namespace: str) -> str:
    """The JobSets of a namespace."""
    return f"{JOB_SETS}/namespaces/{namespace}/jobsets"


def of(namespace: str, name: str) -> str:
    """One JobSet."""
    return f"{in_namespace(namespace)}/{name}"
