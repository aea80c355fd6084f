"""One cluster with a simulated fleet of three GPU generations, the real Kueue and JobSet, and a stack's queues."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes import config as kubeconfig

from components import versions
from driver import linked_project
from driver.deploy import open_stack
from driver.kube import Kube
from driver.target import Target
from embedded.cluster import processes
from embedded.cluster.image_store import ImageStore
from embedded.cluster.places import Places
from embedded.paths import Instance
from embedded.provider.api import Api
from embedded.step import Step
from stack import StackConfig
from tests.queues.jobs import Jobs
from tests.queues.random_jobs import SETTINGS, settings_of_fleet
from tests.support import cluster_fixture
from tests.support.waiting import eventually


@pytest.fixture(scope="session")
def settings() -> StackConfig:
    """What `fleet.yaml` says."""
    return settings_of_fleet()


@pytest.fixture(scope="package")
def fleet_instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """The cluster with the fleet's nodes, and the images of what gangs and queues need."""
    folder = tmp_path_factory.mktemp("fleet")
    with cluster_fixture.running(folder / "state", simulated_nodes=True, storage=True) as instance:
        alive = processes.find(instance)
        assert alive
        images = [f"{chart.image}:{chart.image_tag}" for chart in (versions.JOBSET, versions.KUEUE)]
        ImageStore(Places(instance), alive).load(images, Step("images"))
        yield instance


@pytest.fixture(scope="package")
def jobs(tmp_path_factory: pytest.TempPathFactory, fleet_instance: Instance, settings: StackConfig) -> Jobs:
    """The stack of `fleet.yaml` after `pulumi up`, with nothing in its queues."""
    folder = tmp_path_factory.mktemp("queues")
    opened = open_stack(Target("", fleet_instance))
    stack = linked_project.with_settings(opened, folder, SETTINGS.read_text())
    stack.prepare(Step("pulumi up"))
    stack.up(Step("pulumi up"))
    api = Api(kubeconfig.new_client_from_config(str(fleet_instance.kubeconfig)))
    made = Jobs(Kube.of(fleet_instance.kubeconfig), api, settings)
    made.clear()
    eventually(made.are_gone)
    return made


@pytest.fixture
def queues(jobs: Jobs) -> Iterator[Jobs]:
    """The same, empty again afterwards."""
    yield jobs
    jobs.clear()
    eventually(jobs.are_gone)
