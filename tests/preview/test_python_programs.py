"""The programs of examples/python on the real engine: a first update, a second one, and what commands know of them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tensorplane.core.paths import PROJECT
from tensorplane.driver import program_settings
from tests.hosts.engine import Engine, Project
from tests.recorded import provider

EXAMPLES = PROJECT / "examples" / "python"
_NIGHTLY = pytest.mark.nightly("an engine run; told without the engine")


@contextmanager
def _environment(engine: Engine, state: Path) -> Iterator[dict[str, str]]:
    """What the CLI runs with while a provider stands in for the cluster's."""
    state.mkdir()
    with provider.serving() as served:
        environment = engine.environment(state, **served, PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION="true")
        # As after activating the environment that has tensorplane.
        path = (environment["PATH"].split(os.pathsep)[0], f"{sys.prefix}/bin", os.defpath)
        yield {**environment, "PATH": os.pathsep.join(path)}


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
    folder = tmp_path / name
    shutil.copytree(EXAMPLES / name, folder)
    with _environment(engine, tmp_path / "state") as environment:
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


_FAULTY = """
import pulumi

import tensorplane.pulumi as tp

platform = tp.Stack("ml", tp.settings("tensorplane.yaml"))
job = {"platform": platform, "strategy": tp.Single(), "script": "train.py", "queue": "research"}
first = tp.TrainingJob("first", **{**job, "queue": "reserch"})
tp.TrainingJob("second", **job, grace_seconds="x")
pulumi.export("set", first.outputs["jobSet"])
"""


@pytest.mark.nightly("an engine run; told without the engine")
def test_the_engine_shows_the_faults_of_all_workloads(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "faulty"
    shutil.copytree(EXAMPLES / "two-jobs", folder)
    (folder / "__main__.py").write_text(_FAULTY)
    with _environment(engine, tmp_path / "state") as environment:
        shown = Project(folder, environment).started().run("preview", fails=True)
    assert "TrainingJob first, argument queue: no queue is named 'reserch'" in shown
    assert "TrainingJob second, argument grace_seconds: invalid value 'x'" in shown
    assert "Traceback" not in shown
