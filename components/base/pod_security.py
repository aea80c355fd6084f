"""Security contexts for Pod Security level `restricted`, as manifests, and the user of all pods."""

from typing import Any

USER = 65532
"""User and group of every container and of files on volumes; `nonroot` in distroless images."""


def pod() -> dict[str, Any]:
    """The security context of a pod with this user and group, whose volumes the group can write to."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container() -> dict[str, Any]:
    """The security context of each of its containers."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
