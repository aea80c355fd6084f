"""What is missing becomes tasks, what is there is found, and nothing is asked for twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.embedded.environment import project_environment
from tensorplane.toolchain import go_module, launchers, python_packages, tasks, tools
from tensorplane.toolchain.go_module import GoModule
from tests.toolchain.stand_in_program import script


@pytest.fixture(autouse=True)
def fresh_pins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if this environment had the packages of these pins, and the user no plugin of Pulumi's."""
    monkeypatch.setattr(python_packages, "is_missing", lambda _: False)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))


def _finish(module: GoModule) -> None:
    for program in module.programs:
        module.path(program).parent.mkdir(parents=True, exist_ok=True)
        script(module.path(program), "echo v3.246.0")


def test_a_bare_machine_gets_everything(own_cache: Path, only_on_path: Callable[..., Path]) -> None:
    only_on_path()
    wanted = {task.name: task.after for task in tasks(cluster=True, pulumi=True)}
    assert wanted == {
        "debian packages": (),
        "go": (),
        "kubernetes": ("go",),
        "containerd": ("go",),
        "pulumi": (),
    }


def test_simulated_nodes_are_built_where_they_are_wanted(own_cache: Path, only_on_path: Callable[..., Path]) -> None:
    only_on_path()
    usual, wanted = (
        {task.name: task.after for task in tasks(cluster=True, pulumi=False, simulated_nodes=simulated)}
        for simulated in (False, True)
    )
    assert {name: after for name, after in wanted.items() if name not in usual} == {
        "kwok": ("go",),
        "gpu charts": ("go",),
    }
    for module in (go_module.kubernetes(), go_module.containerd()):
        _finish(module)
    left = [task.name for task in tasks(cluster=True, pulumi=False, simulated_nodes=True)]
    assert left == ["debian packages", "go", "kwok", "gpu charts"]
    assert [task.name for task in tasks(cluster=True, pulumi=False)] == ["debian packages"]
    assert [task.name for task in tasks(cluster=True, pulumi=False, controllers=["metrics-server", "keda"])] == [
        "debian packages",
        "go",
        "keda",
        "metrics-server",
    ]


def test_an_existing_cluster_needs_the_cli_and_helm_alone(own_cache: Path, only_on_path: Callable[..., Path]) -> None:
    only_on_path()
    assert [task.name for task in tasks(cluster=False, pulumi=True)] == ["pulumi", "helm"]
    assert tasks(cluster=False, pulumi=False) == []


def test_pulumis_own_plugin_makes_helm_needless(own_cache: Path, only_on_path: Callable[..., Path]) -> None:
    only_on_path()
    (Path(os.environ["PULUMI_HOME"]) / "plugins" / "resource-kubernetes-v4.34.2").mkdir(parents=True)
    assert [task.name for task in tasks(cluster=False, pulumi=True)] == ["pulumi"]


@pytest.mark.parametrize(("version", "wanted"), [("v3.19.2+g1", ["pulumi"]), ("v4.0.0+g1", ["pulumi", "helm"])])
def test_the_users_own_helm_is_used_where_its_flags_are_those_of_helm_3(
    own_cache: Path, only_on_path: Callable[..., Path], tmp_path: Path, version: str, wanted: list[str]
) -> None:
    only_on_path(script(tmp_path / "helm", f"echo {version}"))
    assert [task.name for task in tasks(cluster=False, pulumi=True)] == wanted


def test_a_plugin_that_can_be_downloaded_is_not_followed_by_a_build_of_helm(
    own_cache: Path, only_on_path: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    only_on_path()

    def download(folder: Path, *, pulumi: Path | None) -> list[str]:
        (Path(os.environ["PULUMI_HOME"]) / "plugins" / "resource-kubernetes-v4.34.2").mkdir(parents=True)
        return []

    monkeypatch.setattr(launchers, "install", download)
    (task,) = (task for task in tasks(cluster=False, pulumi=True) if task.name == "helm")
    task.run(Step("helm"))
    assert not go_module.helm().is_built


def test_what_is_there_is_found_and_asked_for_no_more(own_cache: Path, only_on_path: Callable[..., Path]) -> None:
    only_on_path(*(Path("/bin/true").with_name(name) for name in ("mount", "tar")))
    for module in (go_module.kubernetes(), go_module.containerd(), go_module.pulumi()):
        _finish(module)
    assert [task.name for task in tasks(cluster=True, pulumi=True)] == ["debian packages"]
    assert tasks(cluster=False, pulumi=True) == []
    assert tools().path("helm") == go_module.kubernetes().path("helm")
    assert tools().path("ctr") == go_module.containerd().path("ctr")
    assert tools().path("mount").name == "mount"
    assert tools().path("pulumi") == go_module.pulumi().path("pulumi")


def test_an_absent_program_is_a_fault_that_names_it(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pulumi is taken from PATH where it is there.
    monkeypatch.setenv("PATH", str(own_cache))
    with pytest.raises(UserError, match="kubelet: not installed yet; run `make up`"):
        tools().path("kubelet")
    # A preview of any stack needs it, and `make up` deploys one.
    with pytest.raises(UserError, match="pulumi: not installed yet; run `make tools`"):
        tools().path("pulumi")
    with pytest.raises(UserError, match="charts of Kueue and JobSet: not downloaded yet"):
        _ = tools().charts
    with pytest.raises(UserError, match="chart of NVIDIA's device plugin: not downloaded yet"):
        _ = tools().gpu_charts


def test_the_projects_environment_finds_the_cli_and_the_state(
    own_cache: Path, only_on_path: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_on_path()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    _finish(go_module.pulumi())
    variables = project_environment()
    home = tmp_path / "state" / "tensorplane" / "dev"
    assert str(go_module.pulumi().folder / "bin") in variables["PATH"].split(":")
    assert variables["KUBECONFIG"] == str(home / "kubeconfig")
    assert variables["PULUMI_BACKEND_URL"] == f"file://{home.with_name('stacks')}/pulumi?metadata=skip"
