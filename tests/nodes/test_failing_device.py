"""A device that fails on a real node: the gang that has it saves and moves, and no pod gets it again."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.nodes import steps
from tests.nodes.pods import Pods
from tests.nodes.trained import Trained
from tests.support import cluster_fixture
from tests.support.device_plugin import DevicePlugin
from tests.support.nodes import RealNode
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("minutes on two nodes; test_leaving_nodes.py of the unit tests has the rest")
GPU = "nvidia.com/gpu"
ENDLESS = 10**9
_RESTARTS = 2
"""After the device has failed."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """The stack, whose job does not end."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True, nodes=2) as instance:
        made = Trained.on(instance, tmp_path_factory.mktemp("dev"))
        made.start(0, ENDLESS)
        yield made


@pytest.fixture
def plugins(trained: Trained) -> Iterator[Mapping[str, DevicePlugin]]:
    """By device: two of each node."""
    with contextlib.ExitStack() as running:
        found: dict[str, DevicePlugin] = {}
        for number in (1, 2):
            devices = [f"GPU-{number}-{letter}" for letter in "ab"]
            plugin = running.enter_context(DevicePlugin.on(RealNode(trained.instance, number), GPU, devices))
            found |= dict.fromkeys(devices, plugin)
        yield found


def _give_gpus(trained: Trained, kubectl: Pods) -> None:
    """Let each worker of the run have a device. The stack's file refuses GPUs on this kind of cluster."""
    quota = {"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/2/nominalQuota", "value": "2"}
    kubectl.kubectl("patch", f"clusterqueue/{kubectl.namespace}-training", "--type=json", "-p", json.dumps([quota]))
    hard = {"op": "replace", "path": "/spec/hard/requests.nvidia.com~1gpu", "value": "4"}
    kubectl.kubectl("patch", "resourcequota/gpus", "--type=json", "-p", json.dumps([hard]))
    job_set = trained.job_set()
    kubectl.kubectl("delete", f"jobset/{trained.run}", "--cascade=foreground")
    template = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    for kind, found in template["metadata"].items():
        # What Kueue has set, nobody else may.
        template["metadata"][kind] = {key: value for key, value in found.items() if not key.startswith("kueue.")}
    template["spec"]["containers"][0]["resources"]["limits"][GPU] = "1"
    metadata = {key: job_set["metadata"][key] for key in ("name", "namespace", "labels")}
    kubectl.apply({**job_set, "metadata": metadata, "status": None})


def _devices(pod: Mapping[str, Any]) -> list[str]:
    """Those that a pod has."""
    return [
        device["resourceID"]
        for container in pod["status"].get("containerStatuses") or ()
        for resource in container.get("allocatedResourcesStatus") or ()
        for device in resource.get("resources") or ()
    ]


def _given(trained: Trained, *, but: set[str]) -> dict[str, str]:
    """The device of each pod of the gang, by its uid; empty while one is missing, or one of the others is there."""
    pods = [each for each in trained.pods() if each["metadata"]["uid"] not in but]
    found = {each["metadata"]["uid"]: device for each in pods for device in _devices(each)}
    return found if len(pods) == len(trained.pods()) == len(found) == 2 else {}


def _moved(trained: Trained, former: Mapping[str, str], broken: str) -> dict[str, str]:
    """The devices of the next gang, none of which is the broken one. It trains."""
    given = eventually(lambda: _given(trained, but=set(former)))
    assert broken not in given.values()
    eventually(lambda: trained.step() > 0)
    return given


def test_a_gang_leaves_a_device_that_fails_and_nothing_gets_it_again(
    trained: Trained, plugins: Mapping[str, DevicePlugin]
) -> None:
    assert trained.outputs
    kubectl = Pods(trained.instance, trained.outputs.namespace)
    _give_gpus(trained, kubectl)
    given = eventually(lambda: _given(trained, but=set()))
    eventually(lambda: trained.step() > 0)
    broken = sorted(given.values())[0]
    plugins[broken].set_health(broken, healthy=False)
    given = _moved(trained, given, broken)
    for _ in range(_RESTARTS):
        kubectl.evict(trained.pods()[0]["metadata"]["name"])
        given = _moved(trained, given, broken)
    told = kubectl.field("events", ".items[?(@.reason=='DeviceUnhealthy')].message")
    node = {f"GPU-{number}": RealNode(trained.instance, number).name for number in (1, 2)}[broken[: len("GPU-1")]]
    assert told == f"evicted: {GPU} {broken} of node {node} is unhealthy"
    assert trained.job_set()["status"].get("restartsCountTowardsMax", 0) == 0
    steps.check(trained.logs())
