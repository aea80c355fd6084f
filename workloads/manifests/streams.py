"""What the pods of a workload get of its streams."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workloads.manifests import pod

VARIABLE = "STREAMS"
"""What `runtime/tensorplane/declared_streams.py` reads."""


@dataclass(frozen=True)
class Client:
    """How a workload reaches one stream. Passwords and keys are in files of secrets, never in the pod's spec."""

    bootstrap: str
    topics: Sequence[str]
    settings: Mapping[str, str]
    """Settings of librdkafka, with paths below `folder`."""
    group: str | None = None
    """The consumer group that it reads in; None where it writes."""
    password_file: str | None = None
    secrets: Mapping[str, pod.SecretFiles] = field(default_factory=dict)
    """Files of secrets by the folder in which they appear."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """By which the namespace's policies let the pods out to the brokers."""


@dataclass(frozen=True)
class InPod:
    """What the pods of a workload get of its streams."""

    env: list[dict[str, str]] = field(default_factory=list)
    secrets: Mapping[str, pod.SecretFiles] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


def folder(stream: str) -> str:
    """Where pods find the secrets of a stream."""
    return f"/opt/tensorplane/streams/{stream}"


def in_pod(clients: Mapping[str, Client]) -> InPod:
    """What the pods get of these streams, by the streams' names."""
    if not clients:
        return InPod()
    variable = json.dumps({name: _variable(client) for name, client in clients.items()}, sort_keys=True)
    in_order = [clients[name] for name in sorted(clients)]
    return InPod(
        pod.variables({VARIABLE: variable}),
        {at: files for client in in_order for at, files in client.secrets.items()},
        {key: value for client in in_order for key, value in client.labels.items()},
    )


def _variable(client: Client) -> dict[str, Any]:
    return {
        "bootstrap": client.bootstrap,
        "topics": list(client.topics),
        "settings": dict(client.settings),
        **({"group": client.group} if client.group else {}),
        **({"passwordFile": client.password_file} if client.password_file else {}),
    }
