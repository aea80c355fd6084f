"""One cluster with a simulated fleet of three GPU generations, the real Kueue and JobSet, and a stack's queues."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tensorplane.components import versions
from tensorplane.components.queues import quota_return, usage
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.step import Step
from tensorplane.stack import StackConfig
from tests.queues import agents
from tests.queues.docs_job import example, pod
from tests.queues.jobs import Jobs
from tests.queues.random_jobs import SETTINGS, settings_of_fleet
from tests.support import counts, simulated
from tests.support.simulated import Simulated
from tests.support.waiting import eventually


@pytest.fixture(scope="session")
def settings() -> StackConfig:
    """What `fleet.yaml` says."""
    return settings_of_fleet()


@pytest.fixture(scope="package")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    """The cluster with the fleet's nodes, and the images of what gangs and queues need."""
    images = [f"{chart.image}:{chart.image_tag}" for chart in (versions.JOBSET, versions.KUEUE)]
    # The stacks of random mutants have kinds of the CSI driver.
    with simulated.cluster(tmp_path_factory.mktemp("fleet"), images, storage=bool(counts.shard())) as made:
        yield made


@pytest.fixture(scope="package")
def jobs(fleet: Simulated, settings: StackConfig) -> Jobs:
    """The stack of `fleet.yaml` after `pulumi up`, with nothing in its queues and its policies in force."""
    fleet.stack(SETTINGS.read_text()).up(Step("pulumi up"))
    kubeconfig_file = fleet.instance.kubeconfig
    api = Objects(Kube.of(kubeconfig_file))
    made = Jobs(Kube.of(kubeconfig_file), api, settings)
    for account in (quota_return.ACCOUNT, usage.ACCOUNT):
        agents.stop(made, account)
    eventually(lambda: "create a JobSet with the label" in made.refusal(example(labels={})))
    eventually(lambda: "Kueue did not admit this pod" in made.refusal(pod(example())))
    made.clear()
    eventually(made.are_gone)
    return made


@pytest.fixture
def queues(jobs: Jobs) -> Iterator[Jobs]:
    """The same, empty again afterwards."""
    yield jobs
    jobs.clear()
    eventually(jobs.are_gone)
