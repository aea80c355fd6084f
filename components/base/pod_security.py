"""What Pod Security `restricted` asks of pods, as manifests, and the user that they all are."""

from typing import Any

USER = 65532
"""User and group of every container, and of what volumes hold: the one that distroless images call nonroot."""


def pod() -> dict[str, Any]:
    """The security context of a pod that runs as this user and group, whose volumes are the group's to write."""
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
