"""Opens a tunnel to a TensorBoard: that of the stack, or one that a pod shows as long as the command runs."""

from __future__ import annotations

import contextlib
import webbrowser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from tensorplane.cli import temporary_pod, tunnel
from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.training_jobs import reader_pod
from tensorplane.components.base.labels import COMPONENT, DOMAIN, NAME
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.driver.runs.job_set import JobSet
from tensorplane.workloads.tensorboard import manifest as tensorboard_manifest

_KIND = "tensorboard"
_MEMORY = "1Gi"
_MOST_SECONDS = 12 * 3600
"""A pod whose command was killed ends by itself."""


@dataclass(frozen=True)
class _Board:
    """A pod with a TensorBoard."""

    pod: str
    """Its path in the API."""
    url_path: str = ""
    """What of it to show: the end of the URL."""


def run(
    access: Access,
    name: str,
    console: Console,
    *,
    port: int | None = None,
    opens: bool = False,
    image: str | None = None,
) -> None:
    """Shows the address, and keeps the tunnel open until Ctrl-C. `image`: that of the pod for a job."""
    with contextlib.suppress(KeyboardInterrupt), opened(access, name, console, port=port, image=image) as (url, pod):
        console.print(Text.assemble(f"{name}: ", (url, "bold")), soft_wrap=True)
        console.print(Text("Ctrl-C closes it.", style="dim"))
        if opens:
            webbrowser.open(url)
        tunnel.keep(lambda: temporary_pod.runs(access.api, pod))
        raise UserError(f"{name}: its pod has ended; run the same command again")


@contextlib.contextmanager
def opened(
    access: Access, name: str, console: Console, *, port: int | None = None, image: str | None = None
) -> Iterator[tuple[str, str]]:
    """The address on this machine, as long as the context lasts, and the path of the pod in the API."""
    with (
        _board(access, name, image, console) as board,
        tunnel.opened(access.api, board.pod, tensorboard_manifest.PORT, port) as local,
    ):
        yield f"http://{tunnel.HOST}:{local}/{board.url_path}", board.pod


@contextlib.contextmanager
def _board(access: Access, name: str, image: str | None, console: Console) -> Iterator[_Board]:
    declared = access.declared.get(name)
    kind = declared.get("kind") if isinstance(declared, Mapping) else None
    if kind == _KIND:
        yield _Board(_of_stack(access, name))
        return
    if kind not in (None, "trainingJob"):
        raise UserError(f"{name}: is a {kind}; name a training job, or a workload of kind {_KIND}")
    pod = of_job(access.job(name), image)
    console.print(Text(f"Starting a pod for {pod['metadata']['namespace']}/{name} …", style="dim"))
    with temporary_pod.running(access.api, pod) as found:
        about = found["metadata"]
        run_filter = f"?runFilter={quote(about['annotations'][_RUN])}#timeseries"
        yield _Board(f"{temporary_pod.pods_of(about['namespace'])}/{about['name']}", run_filter)


_RUN = f"{DOMAIN}/run"


def _of_stack(access: Access, name: str) -> str:
    """The path of the pod of a declared TensorBoard, once it is ready."""
    path = temporary_pod.pods_of(access.namespace)
    there = [
        pod
        for pod in access.api.items(path, labelSelector=f"{NAME}={name},{COMPONENT}={_KIND}")
        if not pod["metadata"].get("deletionTimestamp") and pod["status"].get("phase") in ("Pending", "Running")
    ]
    if not there:
        deploy = command_lines.deploy(access.stack, access.context)
        raise UserError(f"{name}: is declared but has no pod in the cluster; deploy it with: {deploy}")
    newest = max(there, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    pod = f"{path}/{newest['metadata']['name']}"
    temporary_pod.ready(access.api, pod)
    return pod


def of_job(job_set: Object, image: str | None = None) -> Object:
    """A pod that shows the runs in the folder to which a job writes its event files. A UserError if it writes none."""
    folder = JobSet(job_set).value("TENSORBOARD_DIR")
    name = job_set["metadata"]["name"]
    if not folder:
        remedy = "set `tensorboard: {volume: …}` in its settings, or run it with --volume"
        raise UserError(f"{name}: writes no event files; {remedy}")
    parent, _, run_name = folder.rpartition("/")
    container = {"readinessProbe": tensorboard_manifest.readiness(), **({"image": image} if image else {})}
    pod = reader_pod.reading(job_set, folder, _KIND, tensorboard_manifest.command(parent), memory=_MEMORY, **container)
    pod["metadata"]["annotations"] |= {_RUN: run_name}
    pod["spec"]["activeDeadlineSeconds"] = _MOST_SECONDS
    return pod
