"""One folder with the CLI and our launchers for all tests of the hosts."""

from __future__ import annotations

import pytest

from tests.hosts.engine import Engine, Project


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The real CLI over our hosts."""
    return Engine.at(tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="module")
def project(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with an empty stack, shared by the tests of one module, which each give it their program."""
    return engine.project(tmp_path_factory.mktemp("project") / "tiny").started()
