"""Fixtures of the provider's tests: a real API server, a namespace per test, a provider driven as the engine does."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import kubeconfig as kubeconfigs
from tests.provider import control_plane
from tests.provider.driver import Process, started


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """An administrator's kubeconfig of a cluster that lives as long as the session."""
    with control_plane.running(tmp_path_factory.mktemp("control-plane")) as config:
        yield config


@pytest.fixture(scope="session")
def api(kubeconfig: dict[str, Any]) -> Objects:
    return Objects(Kube(kubeconfigs.connect(kubeconfig)))


@pytest.fixture
def namespace(api: Objects) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"test-{secrets.token_hex(4)}"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="tests")
    yield name
    api.delete(GVK("", "v1", "Namespace"), name)


@pytest.fixture(scope="session")
def provider(kubeconfig: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A provider process that the tests share; those that cancel it or configure it otherwise have one of their own."""
    with started(tmp_path_factory.mktemp("pulumi-home")) as driver:
        driver.configure(yaml.safe_dump(kubeconfig))
        yield driver
