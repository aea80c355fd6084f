"""MirrorMaker 2 in Kafka Connect, one process, with the connectors that a KafkaMirrorMaker2 of Strimzi comes to."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.stream.broker import JAVA
from tests.support.ports import free_ports

_CLASSES = {"sourceConnector": "MirrorSourceConnector", "checkpointConnector": "MirrorCheckpointConnector"}


def _connectors(spec: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """As Strimzi makes them: each connector's own settings, both clusters, and which topics and groups."""
    (mirror,) = spec["mirrors"]
    clusters = {"source": mirror["source"], "target": spec["target"]}
    ends = {f"{end}.cluster.alias": cluster["alias"] for end, cluster in clusters.items()}
    ends |= {f"{end}.cluster.bootstrap.servers": cluster["bootstrapServers"] for end, cluster in clusters.items()}
    for part, name in _CLASSES.items():
        declared = mirror[part]
        yield (
            part,
            {
                "name": name,
                "connector.class": f"org.apache.kafka.connect.mirror.{name}",
                "tasks.max": declared["tasksMax"],
                "topics": mirror["topicsPattern"],
                "groups": mirror["groupsPattern"],
                **ends,
                **declared["config"],
            },
        )


@contextmanager
def running(jars: Path, folder: Path, spec: Mapping[str, Any]) -> Iterator[Path]:
    """Its log; it is ended afterwards."""
    (port,) = free_ports(1)
    bytes_as_they_are = "org.apache.kafka.connect.converters.ByteArrayConverter"
    worker = {
        "bootstrap.servers": spec["target"]["bootstrapServers"],
        "key.converter": bytes_as_they_are,
        "value.converter": bytes_as_they_are,
        "offset.storage.file.filename": folder / "offsets",
        "listeners": f"HTTP://127.0.0.1:{port}",
        "plugin.discovery": "service_load",
    }
    files = [_written(folder / "worker.properties", worker)]
    files += [_written(folder / f"{part}.properties", settings) for part, settings in _connectors(spec)]
    log = folder / "mirror-maker.txt"
    with log.open("w") as output:
        command = [*JAVA, "-cp", f"{jars}/*", "org.apache.kafka.connect.cli.ConnectStandalone", *map(str, files)]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield log
        finally:
            process.kill()
            process.wait()


def _written(file: Path, settings: Mapping[str, Any]) -> Path:
    lines = (f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items())
    file.write_text("\n".join(lines))
    return file
