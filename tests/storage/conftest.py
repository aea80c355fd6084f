"""One running cluster with the CSI driver for all tests of volumes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.core.step import Step
from tensorplane.embedded.instance import Instance
from tests.cluster import shell
from tests.storage.claims import Claims
from tests.storage.declared import Declared
from tests.support import cluster_fixture


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """The `test` cluster with the driver, running when the first test begins."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), storage=True) as running:
        shell.load_image(running, Step("shell image"))
        yield running


@pytest.fixture(scope="package")
def claims(instance: Instance) -> Claims:
    """Makes claims, snapshots and pods in the cluster."""
    return Claims(instance)


@pytest.fixture
def declared(claims: Claims, tmp_path: Path) -> Iterator[Declared]:
    """A stack of the test's own."""
    with Declared.own(claims, tmp_path) as made:
        yield made
