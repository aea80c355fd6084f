"""Kubeconfig files with their certificates inside, so that one file is all a client needs."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from tensorplane.embedded.cluster import pki
from tensorplane.embedded.instance import Instance


def server(instance: Instance) -> str:
    """The API server's address, the same for the host and for everything in the cluster."""
    return f"https://{instance.node_ip}:6443"


def of_member(instance: Instance, keys: Path, team: str, group: str, namespace: str) -> bytes:
    """The kubeconfig of a team's members: a certificate for the team's group, and its namespace."""
    user = f"team-{team}"
    pki.ensure(keys, [*pki.leaves(instance), pki.Leaf(user, "ca", f"member of {group}", group)])
    return render(instance, keys, user, namespace)


def render(instance: Instance, keys: Path, user: str, namespace: str | None = None) -> bytes:
    """The kubeconfig of one of `pki.leaves`. `namespace`: that of requests that name none."""
    name = instance.namespace
    inside = {"namespace": namespace} if namespace else {}
    pem = keys / f"{user}.pem"
    authority = _text((keys / "ca.crt").read_bytes())
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server(instance), "certificate-authority-data": authority}}],
        "users": [
            {
                "name": f"{name}-{user}",
                "user": {
                    "client-certificate-data": _text(pki.certificate(pem)),
                    "client-key-data": _text(pki.private_key(pem)),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-{user}", **inside}}],
        "current-context": name,
    }
    return yaml.safe_dump(content, sort_keys=False).encode()


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
