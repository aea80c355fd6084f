"""One running cluster for all tests of the cluster, and a pod with a shell in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from kubernetes import config

from embedded.kube import Kube
from embedded.paths import Instance
from embedded.progress import Step
from embedded.provider.api import Api
from tests import cluster_fixture
from tests.cluster import shell


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """The `test` cluster, running when the first test begins."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state")) as running:
        yield running


@pytest.fixture
def kube(instance: Instance) -> Kube:
    """Reads the cluster."""
    return Kube.of(instance.kubeconfig)


@pytest.fixture
def api(instance: Instance) -> Api:
    """Writes to the cluster."""
    return Api(config.new_client_from_config(str(instance.kubeconfig)))


@pytest.fixture(scope="package")
def shell_pod(instance: Instance) -> shell.Pod:
    """A pod that serves a page and runs commands, made once."""
    shell.load_image(instance, Step("shell image"))
    return shell.Pod(instance, Api(config.new_client_from_config(str(instance.kubeconfig)))).created()


def eventually(condition: Callable[[], object], seconds: float) -> None:
    """Fails unless the condition holds before the time is up."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.1)
