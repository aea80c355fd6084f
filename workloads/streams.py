"""Streams that a workload reads or writes: settings, their checks, and what its pods get of them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import model_validator

from components.faults import Fault, Key, did_you_mean, unknown_name
from components.model import Model, Name, refuse
from components.stream import Stream
from components.stream.access import client_label
from components.volume import VolumeArgs
from workloads import pod

VARIABLE = "STREAMS"
"""What `runtime/declared_streams.py` reads."""
_FOLDER = "/opt/tensorplane/streams"


class StreamUseArgs(Model):
    """How a workload takes part in a stream: it reads in a consumer group, or it writes."""

    group: Name | None = None
    """The consumer group of the stream in whose name it reads."""
    producer: Name | None = None
    """The producer of the stream as which it writes."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.group is None) == (self.producer is None):
            refuse("exactly one of group and producer")
        return self

    @property
    def client(self) -> str:
        """The group's or the producer's name."""
        return str(self.group or self.producer)


@dataclass(frozen=True)
class InPod:
    """What the pods of a workload get of its streams."""

    env: list[dict[str, str]] = field(default_factory=list)
    secrets: Mapping[str, pod.SecretFiles] = field(default_factory=dict)
    """Files of secrets by the folder in which they appear."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """By which the namespace's policies let them out to the brokers."""


def check(uses: Mapping[str, StreamUseArgs], at: Key, declared: Mapping[str, VolumeArgs | None]) -> Iterator[Fault]:
    """Names that nobody declares: of volumes with a stream, of its groups, of its producers."""
    for name, use in uses.items():
        if name not in declared:
            yield unknown_name((*at, name), "volume", name, declared)
            continue
        volume = declared[name]
        if volume is None:
            continue
        if volume.stream is None:
            streams = sorted(one for one, args in declared.items() if args and args.stream)
            listed = f"those that have one: {', '.join(streams)}" if streams else "and no other has one"
            reason = f"volume {name} has no stream, {listed}{did_you_mean(name, streams)}"
            yield Fault((*at, name), reason, given=(("volumes",),))
            continue
        key, known = ("group", volume.stream.groups) if use.group else ("producer", volume.stream.producers)
        if use.client not in known:
            fault = unknown_name((*at, name, key), key, use.client, known)
            yield Fault(fault.path, fault.reason, given=(("volumes", name),))


def in_pod(uses: Mapping[str, StreamUseArgs], streams: Mapping[str, Stream]) -> InPod:
    """What the pods get. Passwords and keys are in files of secrets, never in the pod's spec."""
    told: dict[str, Any] = {}
    secrets: dict[str, pod.SecretFiles] = {}
    labels: dict[str, str] = {}
    for name, use in sorted(uses.items()):
        stream, folder = streams[name], f"{_FOLDER}/{name}"
        access = stream.access[use.client]
        told[name] = {
            "bootstrap": access.bootstrap,
            "topics": stream.topics_of(use.client),
            "settings": access.settings(folder),
            **({"group": use.group} if use.group else {}),
            **({"passwordFile": file} if (file := access.password_file(folder)) else {}),
        }
        secrets |= {at: pod.SecretFiles(secret, keys) for at, (secret, keys) in access.secrets(folder).items()}
        labels |= client_label(name)
    return InPod(pod.variables({VARIABLE: json.dumps(told, sort_keys=True)}) if told else [], secrets, labels)
