"""A notebook: it waits in its queue, only its token opens it, cells run, files stay, and it gives back its quota."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from rich.console import Console
from websocket import create_connection

from tensorplane import images, stack
from tensorplane.cli.access import Access
from tensorplane.cli.commands import cancel
from tensorplane.cli.commands.notebook import command as notebook_command
from tensorplane.cli.kueue.objects import condition
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base.settings import Settings
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.images import package_layer, package_resolution
from tensorplane.stack import ResolvedStack
from tensorplane.stack_file import package_lock
from tests.e2e.conftest import Deployed
from tests.support.rendering import settings_of
from tests.support.waiting import PATIENT_SECONDS, eventually

pytestmark = pytest.mark.nightly(
    "an image with JupyterLab, and an idle minute; told by workloads/kinds/test_notebook.py"
)

NAMESPACE = "tensorplane-dev"
_IDLE_MINUTES = 1
CELL = """
import os
import tensorflow as tf
open("written.txt", "w").write("kept")
print(int(tf.constant(41) + 1), os.getcwd())
"""


@pytest.fixture(scope="module")
def resolved(deployed: Deployed) -> ResolvedStack:
    """The dev stack with a notebook, whose packages are in an image as `make up` builds it."""
    step = Step("packages")
    locked = package_resolution.resolve(["jupyterlab==4.6.6"], package_lock.pins(), step)
    for task in images.tasks(packages=[locked]):
        if task.name.startswith("image packages"):
            task.run(step)
    cluster.load_images(deployed.instance, step, packages=[locked])
    tree = dict(settings_of(PROJECT / "Pulumi.dev.yaml").tree)
    notebook = {
        "kind": "notebook",
        "image": package_layer.image(locked).name,
        "volumes": {"models": "/models"},
        "folder": {"volume": "models", "path": "notebooks"},
        "queue": "training",
        "resources": {"cpus": 0.2, "memoryGib": 1},
        "idleMinutes": _IDLE_MINUTES,
    }
    tree["namespace"] = NAMESPACE
    tree["workloads"] = {**tree["workloads"], "desk": notebook}
    return stack.load(Settings(tree))


@pytest.fixture
def access(deployed: Deployed) -> Iterator[Access]:
    """To the stack, until nothing of the notebook is left."""
    yield Access(deployed.kube, NAMESPACE, stack="dev", declared={"desk": {"kind": "notebook"}})
    eventually(lambda: not _pods(deployed.kube))
    eventually(lambda: not _held(deployed.kube))


def _pods(kube: Kube) -> list[dict[str, Any]]:
    return kube.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector="app.kubernetes.io/name=desk")


def _call(url: str, path: str, token: str = "", method: str = "GET") -> Any:
    headers = {"Authorization": f"token {token}"} if token else {}
    request = urllib.request.Request(f"{url}{path}", headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENT_SECONDS) as answer:
        return json.load(answer)


def _run(url: str, token: str, code: str) -> str:
    """What a cell prints in a new kernel."""
    kernel = _call(url, "/api/kernels", token, "POST")["id"]
    channels = create_connection(
        f"ws{url.removeprefix('http')}/api/kernels/{kernel}/channels?token={token}", timeout=PATIENT_SECONDS
    )
    try:
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "session": "s",
            "username": "u",
            "version": "5",
        }
        content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        channels.send(json.dumps(message))
        printed = ""
        while True:
            got = json.loads(channels.recv())
            if got["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            if got["msg_type"] == "stream" and got["content"]["name"] == "stdout":
                printed += got["content"]["text"]
            if got["msg_type"] == "error":
                raise AssertionError(got["content"])
            if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                return printed
    finally:
        channels.close()
        _delete(url, f"/api/kernels/{kernel}", token)


def _delete(url: str, path: str, token: str) -> None:
    request = urllib.request.Request(f"{url}{path}", headers={"Authorization": f"token {token}"}, method="DELETE")
    urllib.request.urlopen(request, timeout=PATIENT_SECONDS).close()


def _ended(access: Access) -> list[str]:
    found = [one for one in access.job_sets() if one["metadata"]["name"].startswith("desk-")]
    return [jobset_api.outcome(one) for one in found]


def _held(kube: Kube) -> list[str]:
    """The runs of the notebook that hold quota."""
    works = kube.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/workloads")
    holding = [
        one for one in works if (one.get("status") or {}).get("admission") and not condition(one, "Finished").holds
    ]
    names = [one["metadata"]["ownerReferences"][0]["name"] for one in holding]
    return [name for name in names if name.startswith("desk-")]


def test_a_notebook_runs_cells_until_it_is_cancelled(
    deployed: Deployed, access: Access, resolved: ResolvedStack
) -> None:
    with notebook_command.opened(access, resolved, "desk", Console(quiet=True)) as (address, _):
        url, token = _parts(address)
        with pytest.raises(urllib.error.HTTPError) as refused:
            _call(url, "/api/contents")
        assert refused.value.code == 403
        page = urllib.request.urlopen(address, timeout=PATIENT_SECONDS).read().decode()
        (script,) = re.findall(r'src="(/static/lab/main\.\w+\.js[^"]*)"', page)
        assert len(urllib.request.urlopen(f"{url}{script}", timeout=PATIENT_SECONDS).read()) > 10_000, (
            "the page has its program"
        )
        assert _run(url, token, CELL) == "42 /models/notebooks\n"
        assert "written.txt" in [each["name"] for each in _call(url, "/api/contents", token)["content"]]
        (pod,) = _pods(deployed.kube)
        log = deployed.kube.text(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}/log")
        assert "http://127.0.0.1:8888/lab" in log
        assert token not in log
        assert token not in json.dumps([pod, *access.job_sets()])
    assert len(_held(deployed.kube)) == 1, "it runs on without a tunnel"
    with notebook_command.opened(access, resolved, "desk", Console(quiet=True)) as (again, _):
        assert _parts(again)[1] == token, "the same notebook"
    assert "cancelled; its pods have 10 s to save and end" in cancel.cancel("desk", "dev", None, "")
    eventually(lambda: not _held(deployed.kube))
    secret = f"/api/v1/namespaces/{NAMESPACE}/secrets/desk-token"
    eventually(lambda: deployed.kube.get(secret) is None)


def test_an_idle_notebook_gives_back_its_quota_and_starts_again_with_its_files(
    deployed: Deployed, access: Access, resolved: ResolvedStack
) -> None:
    with notebook_command.opened(access, resolved, "desk", Console(quiet=True)) as (address, _):
        url, token = _parts(address)
        began = time.monotonic()
        assert _run(url, token, "open('idle.txt', 'w').write('kept')") == ""
    eventually(lambda: _ended(access) == ["finished"], about=lambda: _ended(access))
    assert time.monotonic() - began >= _IDLE_MINUTES * 60
    eventually(lambda: not _held(deployed.kube))
    with notebook_command.opened(access, resolved, "desk", Console(quiet=True)) as (address, _):
        again, other = _parts(address)
        assert other != token, "another start has another token"
        assert _run(again, other, "print(open('idle.txt').read())") == "kept\n"
    cancel.cancel("desk", "dev", None, "")


def _parts(address: str) -> tuple[str, str]:
    """Where JupyterLab answers, and its token."""
    parts = urlsplit(address)
    return f"http://{parts.netloc}", parse_qs(parts.query)["token"][0]
