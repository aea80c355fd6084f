"""The programs of examples/python on the real engine: a first update, a second one, and what commands know of them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tensorplane.core.paths import PROJECT
from tensorplane.driver import program_settings
from tests.hosts.engine import Engine, Project
from tests.recorded import provider

EXAMPLES = PROJECT / "examples" / "python"
_NIGHTLY = pytest.mark.nightly("an engine run; told without the engine")


@pytest.mark.parametrize(
    ("name", "queues"),
    [
        ("two-jobs", {"research"}),
        pytest.param("one-sweep", {"research"}, marks=_NIGHTLY),
        pytest.param("own-components", {"vision", "speech"}, marks=_NIGHTLY),
    ],
)
def test_an_example_deploys_and_stays(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, queues: set[str]
) -> None:
    folder, state = tmp_path / name, tmp_path / "state"
    shutil.copytree(EXAMPLES / name, folder)
    state.mkdir()
    with provider.serving() as served:
        environment = engine.environment(state, **served, PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION="true")
        # As after activating the environment that has tensorplane.
        environment["PATH"] = os.pathsep.join(
            (environment["PATH"].split(os.pathsep)[0], f"{sys.prefix}/bin", os.defpath)
        )
        project = Project(folder, environment).started()
        assert "created" in project.run("up", "--yes", "--skip-preview")
        second = project.run("up", "--yes", "--skip-preview")
        assert "unchanged" in second
        assert not {"created", "updated", "replaced", "deleted"} & {*second.replace(",", " ").split()}, second
        for variable in ("PULUMI_BACKEND_URL", "PULUMI_HOME", "PULUMI_CONFIG_PASSPHRASE", "PATH"):
            monkeypatch.setenv(variable, environment[variable])
        program_settings.recorded.cache_clear()
        found = program_settings.recorded(folder, "dev")
    assert found is not None
    assert found.section("queues").keys() == queues
