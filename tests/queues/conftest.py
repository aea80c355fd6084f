"""One cluster with a simulated fleet of three GPU generations, the real Kueue and JobSet, and a stack's queues."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes import config as kubeconfig

from components import versions
from embedded import linked_project, up
from embedded.cluster import processes
from embedded.cluster.image_store import ImageStore
from embedded.cluster.places import Places
from embedded.kube import Kube
from embedded.progress import Step
from embedded.provider.api import Api
from stack import StackConfig
from tests import cluster_fixture
from tests.cluster.conftest import eventually
from tests.queues.jobs import Jobs
from tests.queues.random_jobs import SETTINGS, settings_of_fleet


@pytest.fixture(scope="session")
def settings() -> StackConfig:
    """What `fleet.yaml` says."""
    return settings_of_fleet()


@pytest.fixture(scope="package")
def jobs(tmp_path_factory: pytest.TempPathFactory, settings: StackConfig) -> Iterator[Jobs]:
    """The stack of `fleet.yaml` after `pulumi up`, with nothing in its queues."""
    folder = tmp_path_factory.mktemp("queues")
    with cluster_fixture.running(folder / "state", simulated_nodes=True, storage=True) as instance:
        alive = processes.find(instance)
        assert alive
        images = [f"{chart.image}:{chart.image_tag}" for chart in (versions.JOBSET, versions.KUEUE)]
        ImageStore(Places(instance), alive).load(images, Step("images"))
        stack = linked_project.with_settings(up.open_stack(up.Target("", instance)), folder, SETTINGS.read_text())
        stack.prepare(Step("pulumi up"))
        stack.up(Step("pulumi up"))
        api = Api(kubeconfig.new_client_from_config(str(instance.kubeconfig)))
        made = Jobs(Kube.of(instance.kubeconfig), api, settings)
        made.clear()
        eventually(made.are_gone, 60)
        yield made


@pytest.fixture
def queues(jobs: Jobs) -> Iterator[Jobs]:
    """The same, empty again afterwards."""
    yield jobs
    jobs.clear()
    eventually(jobs.are_gone, 60)
