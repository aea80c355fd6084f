"""Fixtures of the helm tests: a session with the API server, the resource, a chart, a release of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.core.errors import UserError
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import helm_process
from tensorplane.plugins.kubernetes.engine import Engine
from tensorplane.plugins.kubernetes.helm_release import ReleaseResource
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.settings import Settings
from tests.provider.helm_support import SETTINGS, Release


@pytest.fixture(scope="session")
def helm_is_there() -> None:
    try:
        helm_process.program()
    except UserError as fault:
        pytest.fail(f"helm tests cannot run: {fault}")


@pytest.fixture
def session(kubeconfig: dict[str, Any], helm_is_there: None) -> Session:
    session = Session(Engine(None))
    session.configure(Settings(kubeconfig=yaml.safe_dump(kubeconfig)))
    assert session.is_reachable, session.unreachable
    return session


@pytest.fixture
def helm(session: Session) -> ReleaseResource:
    return ReleaseResource(session)


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A chart of one ConfigMap; the tests add what they need."""
    folder = tmp_path / "tiny"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: tiny, version: 0.1.0, appVersion: '7'}")
    (folder / "values.yaml").write_text("{greeting: hello, size: 1}")
    (folder / "templates" / "settings.yaml").write_text(SETTINGS)
    return folder


@pytest.fixture
def release(helm: ReleaseResource, chart: Path, api: Objects, namespace: str) -> Release:
    """A release of the chart in the test's own namespace, which a test makes."""
    return Release(helm, chart, api, namespace)
