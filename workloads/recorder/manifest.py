"""The pod of a recorder."""

import json
from collections.abc import Mapping
from typing import Any

from tensorplane.workloads.pipeline.stage_pods import Stored
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.files import Bundle
from tensorplane.workloads.pods.objects import Identity
from tensorplane.workloads.pods.streams import Client, in_pod
from tensorplane.workloads.recorder.settings import RecorderSettings
from tensorplane.workloads.scorer.manifest import INPUT, METRICS_PORT

COMPONENT_VALUE = "recording"
"""Value of the component label of objects of recorders."""
GRACE_SECONDS = 30
"""Seconds for a recorder that gets SIGTERM while it commits."""


def pods(
    owner: Identity,
    settings: RecorderSettings,
    image: str,
    *,
    dataset: Stored,
    code: Bundle,
    stream: Client,
    placement: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> dict[str, Any]:
    """The template of the pod. `code`: the library that it mounts; `placement`: node selection."""
    of_stream = in_pod({INPUT: stream})
    recorder_spec = {
        "name": owner.name,
        "stream": settings.input.stream,
        "topic": settings.input.topic,
        "branch": settings.branch,
        "root": dataset.root,
        "window": settings.window.limits,
        "layout": settings.layout,
        "lost": settings.lost,
        "rules": {**dataset.rules, "dataset": settings.dataset, "others": dataset.roots_of_others},
    }
    variables = {
        "PYTHONPATH": pod.IMPORTED,
        "RECORDER": json.dumps(recorder_spec, sort_keys=True),
        "TENSORPLANE_METRICS_PORT": str(METRICS_PORT),
    }
    container = pod.Container(
        image=image,
        resources=settings.resources,
        command=["python3", "-m", "tensorplane.record"],
        env=[*pod.variables(variables), *of_stream.env],
        ports={"metrics": METRICS_PORT},
        volumes=[dataset.mount(read_only=False)],
        files={pod.LIBRARY: code},
        secrets=of_stream.secrets,
    )
    return pod.template(
        owner.name,
        {**owner.labels, **of_stream.labels},
        container,
        grace_seconds=GRACE_SECONDS,
        placement=placement,
        annotations=annotations,
    )
