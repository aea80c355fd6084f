"""Starts a notebook's job if none runs, waits for it in its queue, and opens a tunnel to it."""

from __future__ import annotations

import base64
import contextlib
import html
import secrets
import tempfile
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tensorplane.cli import temporary_pod, tunnel
from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.run import create, submission
from tensorplane.cli.commands.run.plan import Planned
from tensorplane.cli.commands.run.submission import size_text
from tensorplane.cli.training_jobs import find, jobset_api
from tensorplane.components.base.labels import labels
from tensorplane.components.cost import pods as cost
from tensorplane.core.errors import UserError
from tensorplane.driver.runs import failures
from tensorplane.stack import ResolvedStack
from tensorplane.stack_file.nearest import did_you_mean
from tensorplane.workloads.notebook import manifest as notebook_manifest
from tensorplane.workloads.notebook.workload import NotebookArgs
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.training_job.manifest import plan
from tensorplane.workloads.training_job.platform_context import job_context

_START_SECONDS = 120.0
"""How long JupyterLab may take to listen once its pod runs."""
_LOOK_SECONDS = 0.5


def run(
    access: Access,
    resolved: ResolvedStack,
    name: str,
    console: Console,
    *,
    port: int | None = None,
    opens: bool = False,
) -> None:
    """Shows the address, and keeps the tunnel open until Ctrl-C."""
    try:
        with opened(access, resolved, name, console, port=port) as (url, path):
            console.print(Text.assemble(f"{name}: ", (url, "bold")), soft_wrap=True)
            console.print(Text("Ctrl-C closes the tunnel; the notebook runs on until it is idle.", style="dim"))
            with _in_browser(url) if opens else contextlib.nullcontext():
                tunnel.keep(lambda: (found := access.api.get(path)) is not None and not jobset_api.outcome(found))
        console.print(f"{name}: has ended. Start it again with: {access.command(f'notebook {name}')}")
    except KeyboardInterrupt:
        console.print(Text(f"\n{name} runs on. Stop it with: {access.command(f'cancel {name}')}", style="dim"))


@contextlib.contextmanager
def _in_browser(url: str) -> Iterator[None]:
    """Opens the address in a browser. A page leads there: everybody on this machine sees the arguments of processes."""
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        page = Path(folder) / "open.html"
        page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(url)}">')
        webbrowser.open(page.as_uri())
        yield


@contextlib.contextmanager
def opened(
    access: Access, resolved: ResolvedStack, name: str, console: Console, *, port: int | None = None
) -> Iterator[tuple[str, str]]:
    """The address on this machine with the notebook's token, as long as the context lasts, and the path of its JobSet
    in the API."""
    job_set = _started(access, resolved, name, console)
    submission.until_admitted(access, job_set, console)
    pod = _pod(access, job_set)
    with tunnel.opened(access.api, pod, notebook_manifest.PORT, port) as local:
        url = f"http://{tunnel.HOST}:{local}"
        _listens(access, job_set, url)
        yield f"{url}/lab?token={_token(access, name)}", jobset_api.path(job_set)


def check_readable(name: str, encrypted: Sequence[str]) -> None:
    """A UserError if settings of the notebook are encrypted. `encrypted`: the keys of those of the stack."""
    own = [key for key in encrypted if key.startswith(f"tensorplane:workloads.{name}.")]
    if own:
        remedy = "use a key of an existing Secret, {secret: NAME, key: KEY}"
        raise UserError(*(f"{key}: is encrypted, and a notebook starts without Pulumi; {remedy}" for key in own))


def planned(resolved: ResolvedStack, name: str) -> Planned:
    """The objects of a notebook's job. A UserError if the stack declares no such notebook."""
    args = resolved.config.workloads.get(name)
    if not isinstance(args, NotebookArgs):
        names = [each for each, one in resolved.config.workloads.items() if isinstance(one, NotebookArgs)]
        have = f"{', '.join(names) or 'none'}{did_you_mean(name, names)}"
        raise UserError(f"{name}: the stack declares no such notebook; it has {have}")
    image = args.image or args.default_image(resolved.config.cluster.images)
    if not isinstance(image, str):
        raise UserError(f"{name}: its image is a value that another resource produces; name it in the settings")
    job = notebook_manifest.job(name, args)
    pods = pod_sets.of(job)
    manifest = plan(job, job_context(name, job, resolved.platform), image=image)
    return Planned(
        manifest, resolved.config.namespace_name, 1, sum(one.gpus for one in pods), cost.of(pods, resolved.fleet)
    )


def _started(access: Access, resolved: ResolvedStack, name: str, console: Console) -> Object:
    """The notebook's JobSet: the one that has not ended, or a new one."""
    wanted = planned(resolved, name)
    # Teams have jobs of their own, whose names may be the same.
    own = [one for one in access.job_sets() if one["metadata"]["namespace"] == access.namespace]
    running = [one for one in own if not (jobset_api.outcome(one) or one["metadata"].get("deletionTimestamp"))]
    if found := find.newest(running, access.namespace, name):
        if found["metadata"]["name"] != wanted.run:
            stop = access.command(f"cancel {name}")
            console.print(f"{name}: runs with other settings; to start it with these, stop it first: {stop}")
        if access.api.get(_secret(access, name)) is None:  # the command that started it was interrupted
            _keep_token(access, name, found)
        return found
    path = jobset_api.path(wanted.manifest.job_set)
    # One that was idle, or has failed, is there until it is started again.
    access.api.delete(path, propagationPolicy="Foreground")
    job_set = create.submit(access.api, wanted).job_set
    _keep_token(access, name, job_set)
    console.print(Text(f"{wanted.run}: {size_text(wanted)}"))
    return job_set


def _keep_token(access: Access, name: str, job_set: Object) -> None:
    """A new token for each start, deleted with the JobSet. The pod waits for it."""
    token = base64.b64encode(secrets.token_urlsafe(32).encode()).decode()
    secret = notebook_manifest.token_secret(name)
    thing = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret, "namespace": access.namespace, "labels": labels(name, "notebook")},
        "data": {notebook_manifest.TOKEN_KEY: token},
    }
    access.api.apply(_secret(access, name), create.owned(thing, job_set), jobset_api.CLI_MANAGER)


def _token(access: Access, name: str) -> str:
    found = access.api.get(_secret(access, name))
    if found is None:
        raise UserError(
            f"{name}: its token is gone; stop it with `{access.command(f'cancel {name}')}`, and start it again"
        )
    return base64.b64decode(found["data"][notebook_manifest.TOKEN_KEY]).decode()


def _secret(access: Access, name: str) -> str:
    return f"/api/v1/namespaces/{access.namespace}/secrets/{notebook_manifest.token_secret(name)}"


def _pod(access: Access, job_set: Object) -> str:
    """The path of the pod, once its container runs."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        _check_goes_on(access, job_set)
        for pod in jobset_api.pods(access.api, job_set):
            path = f"{temporary_pod.pods_of(access.namespace)}/{pod['metadata']['name']}"
            if not pod["metadata"].get("deletionTimestamp"):
                temporary_pod.ready(access.api, path)
                return path
        time.sleep(_LOOK_SECONDS)
    raise UserError(f"{job_set['metadata']['name']}: has no pod after {_START_SECONDS:.0f} s")


def _listens(access: Access, job_set: Object, url: str) -> None:
    """Waits until JupyterLab answers."""
    # The tunnel ends on this machine, whatever the user's proxies are.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        try:
            with direct.open(f"{url}/api", timeout=10):
                return
        except (OSError, urllib.error.URLError, ValueError):
            _check_goes_on(access, job_set)
            time.sleep(_LOOK_SECONDS)
    raise UserError(f"{job_set['metadata']['name']}: JupyterLab does not answer after {_START_SECONDS:.0f} s")


def _check_goes_on(access: Access, job_set: Object) -> None:
    """A UserError with the reason if the notebook has ended."""
    current = access.api.get(jobset_api.path(job_set))
    name = job_set["metadata"]["name"]
    if current is None:
        raise UserError(f"{name}: was deleted")
    if jobset_api.outcome(current):
        raise UserError(f"{name}: has ended", *failures.first_failure(jobset_api.pods(access.api, job_set)))
