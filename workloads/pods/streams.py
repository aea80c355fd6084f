"""Streams of a workload: how the settings name them, and the variables, files and labels of its pods."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import model_validator

from tensorplane.components.base.model import In, Model, Name, refuse_all_but
from tensorplane.workloads.pods import pod


class StreamUseArgs(Model):
    """How a workload uses a stream: it reads in a consumer group, or it writes."""

    group: Name | None = None
    """Consumer group in which the workload reads."""
    producer: Name | None = None
    """Producer as which the workload writes."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.group is None) == (self.producer is None):
            refuse_all_but("exactly one of group and producer")
        return self

    @property
    def client(self) -> str:
        """Name of the consumer group or producer."""
        return str(self.group or self.producer)


VARIABLE = "STREAMS"
"""Variable for `runtime/tensorplane/declared_streams.py`."""


@dataclass(frozen=True)
class Client:
    """How a workload reaches one stream. Passwords and keys are in files of secrets, never in the pod's spec."""

    bootstrap: In[str]
    topics: Sequence[str]
    settings: Mapping[str, str]
    """Settings of librdkafka, with paths below `folder`."""
    group: str | None = None
    """The consumer group; None for a producer."""
    password_file: str | None = None
    secrets: Mapping[str, pod.SecretFiles] = field(default_factory=dict)
    """Files of secrets by the folder in which they appear."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of pods that NetworkPolicies allow to reach the brokers."""


@dataclass(frozen=True)
class InPod:
    """Variables, files and labels of pods for the streams of a workload."""

    env: list[dict[str, str]] = field(default_factory=list)
    secrets: Mapping[str, pod.SecretFiles] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


def folder(stream: str) -> str:
    """Folder of a stream's Secrets in the pods."""
    return f"/opt/tensorplane/streams/{stream}"


def in_pod(clients: Mapping[str, Client]) -> InPod:
    """Variables, files and labels for these streams, by name."""
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
