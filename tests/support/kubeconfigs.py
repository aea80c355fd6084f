"""Kubeconfigs as tests need them: of one cluster, one user, and the context that is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kubeconfig(server: str, user: Mapping[str, Any], *, authority: str = "", name: str = "tests") -> dict[str, Any]:
    """One whose current context is `name`. `authority`: the certificate of the server's authority, in base64."""
    cluster = {"server": server} | ({"certificate-authority-data": authority} if authority else {})
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": dict(user)}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
