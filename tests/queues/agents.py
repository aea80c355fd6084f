"""The stack's own programs on the queues' cluster: off, so that none interferes, but where a test asks for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tensorplane.components import versions
from tensorplane.components.base.labels import NAME
from tensorplane.core.gvk import GVK
from tests.queues.jobs import Jobs, Object
from tests.support.simulated import Simulated
from tests.support.waiting import eventually

_DEPLOYMENT = GVK("apps", "v1", "Deployment")
_STRATEGIC = "application/strategic-merge-patch+json"


def pods(jobs: Jobs, account: str) -> list[Object]:
    """The pods of the program with this service account, which its Deployment is named after."""
    return jobs.kube.items(f"/api/v1/namespaces/{jobs.stack}/pods", labelSelector=f"{NAME}={account}")


def stop(jobs: Jobs, account: str) -> None:
    """Ends the program, and waits until nothing is left of it."""
    _change(jobs, account, {"replicas": 0})
    eventually(lambda: not pods(jobs, account))


@contextmanager
def running(jobs: Jobs, fleet: Simulated, account: str, env: Mapping[str, str]) -> Iterator[None]:
    """The program with these variables until the end of the block."""
    fleet.load(versions.EMBEDDED_IMAGES.python)
    container = {"name": "main", "env": [{"name": name, "value": value} for name, value in env.items()]}
    _change(jobs, account, {"replicas": 1, "template": {"spec": {"containers": [container]}}})
    try:
        eventually(lambda: any(_is_ready(pod, env) for pod in pods(jobs, account)))
        yield
    finally:
        stop(jobs, account)


def _change(jobs: Jobs, account: str, spec: Object) -> None:
    jobs.api.patch(_DEPLOYMENT, account, jobs.stack, {"spec": spec}, manager="test", content_type=_STRATEGIC)


def _is_ready(pod: Object, env: Mapping[str, str]) -> bool:
    has = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return env.items() <= has.items() and conditions.get("Ready") == "True"
