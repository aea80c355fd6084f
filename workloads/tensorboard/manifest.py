"""The pod of a TensorBoard."""

from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.pods.objects import Identity
from tensorplane.workloads.tensorboard.settings import BoardSettings

PORT = 6006
GRACE_SECONDS = 5
"""It only reads, so nothing is lost when it is killed."""
_ROOT = "/logs"
"""Mount path of the volume."""
_ANSWERS = f"import socket; socket.create_connection(('127.0.0.1', {PORT}), 2)"


def command(folder: str) -> Sequence[str]:
    """The command that shows the runs of a folder.

    TensorBoard has no login, so it listens inside the pod only: who may open a tunnel to the pod sees it, and other
    pods do not.
    """
    return ["python3", "-m", "tensorboard.main", "--logdir", folder, "--host", "127.0.0.1", "--port", str(PORT)]


def readiness() -> Mapping[str, Any]:
    """The probe that runs inside the pod, because the kubelet cannot reach the server from outside."""
    return {
        "exec": {"command": ["python3", "-I", "-S", "-c", _ANSWERS]},
        "periodSeconds": 2,
        "timeoutSeconds": 5,
        "failureThreshold": 3,
    }


def pods(
    owner: Identity, settings: BoardSettings, image: str, *, logs: Mountable, placement: Mapping[str, Any]
) -> dict[str, Any]:
    """The template of the pod. `logs`: the volume with the event files; `placement`: node selection."""
    container = pod.Container(
        image=image,
        resources=settings.resources,
        command=command(f"{_ROOT}/{settings.logs.path}"),
        ports={"http": PORT},
        volumes=[logs.at(_ROOT, read_only=True)],
        readiness=readiness(),
    )
    return pod.template(owner.name, owner.labels, container, grace_seconds=GRACE_SECONDS, placement=placement)
