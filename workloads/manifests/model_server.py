"""The pods of a model server."""

from collections.abc import Mapping
from typing import Any

from workloads.manifests import pod
from workloads.manifests.mounts import Mountable
from workloads.manifests.objects import Identity
from workloads.manifests.streams import InPod
from workloads.settings.model_server import ServerSettings

GRACE_SECONDS = 30
"""Seconds for a server that gets SIGTERM to answer the requests that it has accepted, before SIGKILL."""
GRPC_PORT = 8500
REST_PORT = 8501
_ROOT = "/models"
"""Mount path of the model's volume."""


def pods(
    owner: Identity,
    settings: ServerSettings,
    image: str,
    *,
    models: Mountable,
    of_streams: InPod,
    placement: Mapping[str, Any],
) -> dict[str, Any]:
    """The template of the server's pods. `models`: the volume with the models; `placement`: node selection."""
    # The image appends the model's name.
    base_path = f"{_ROOT}/{settings.model.path}".rpartition("/")[0]
    container = pod.Container(
        image=image,
        resources=settings.resources,
        env=[
            *pod.variables({"MODEL_NAME": settings.model_name, "MODEL_BASE_PATH": base_path}),
            *of_streams.env,
        ],
        ports={"grpc": GRPC_PORT, "rest": REST_PORT},
        volumes=[models.at(_ROOT, read_only=True)],
        secrets=of_streams.secrets,
        # Ready once a version is loaded. No liveness probe: a server without a model must not be restarted.
        readiness={
            "httpGet": {"path": f"/v1/models/{settings.model_name}/metadata", "port": "rest"},
            "periodSeconds": 2,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        },
    )
    labels = {**owner.labels, **of_streams.labels}
    return pod.template(owner.name, labels, container, grace_seconds=GRACE_SECONDS, placement=placement)
