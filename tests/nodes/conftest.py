"""One running cluster of two real nodes, with volumes and pods with BusyBox on either."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.embedded.instance import Instance
from tests.cluster import shell
from tests.nodes.pods import Pods
from tests.support import cluster_fixture
from tests.support.nodes import RealNode


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """Its second node is `tensorplane-2`."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), storage=True, nodes=2) as running:
        shell.load_image(running, Step("shell image"))
        yield running


@pytest.fixture(scope="package")
def kube(instance: Instance) -> Kube:
    """Reads the cluster."""
    return Kube.of(instance.kubeconfig)


@pytest.fixture
def second(instance: Instance, kube: Kube) -> Iterator[RealNode]:
    """The second node, ready; what a test cut is mended."""
    node = RealNode(instance, 2)
    node.until(kube, ready=True)
    yield node
    node.mend()


@pytest.fixture
def pods(instance: Instance) -> Iterator[Pods]:
    """Makes pods and what they use, in a namespace of the test's own."""
    with Pods.own(instance) as made:
        yield made
