"""One running cluster for all tests of the cluster, and a pod with a shell in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tests.cluster import shell
from tests.support import cluster_fixture


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """The `test` cluster in any state: a test may have stopped it."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state")) as running:
        yield running


@pytest.fixture
def instance(shared: Instance) -> Instance:
    """The same, running when the test begins."""
    cluster.start(shared, Step("cluster"))
    return shared


@pytest.fixture
def kube(instance: Instance) -> Kube:
    """Reads the cluster."""
    return Kube.of(instance.kubeconfig)


@pytest.fixture
def api(kube: Kube) -> Objects:
    """Writes to the cluster."""
    return Objects(kube)


@pytest.fixture
def shell_pod(instance: Instance, api: Objects) -> shell.Pod:
    """A pod that serves a page and runs commands. There is one, which the first test makes."""
    shell.load_image(instance, Step("shell image"))
    return shell.Pod(instance, api).created()
