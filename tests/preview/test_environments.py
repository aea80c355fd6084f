"""Environments and examples of clouds, previewed by the real engine without plugins and credentials.

`make test` previews production as a pull request changes it, and checks what all ask for without an engine
(test_sdk_types.py). The nightly run previews all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane import toolchain
from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.engine import Preview, opened
from tensorplane.core.paths import PROJECT
from tensorplane.driver.stack_settings import StackSettings, read
from tensorplane.plugins.hosts import stand_ins
from tensorplane.toolchain.pulumi_environment import pulumi_environment
from tests.hosts.engine import Engine
from tests.preview.conftest import PACKAGES
from tests.support import repository
from tests.support.waiting import eventually

_PACKAGE = {"eks": "aws", "gke": "gcp", "aks": "azure-native"}


def _kind(file: Path) -> str:
    cluster = read(file).section("cluster")
    return str(cluster.get("kind")) if isinstance(cluster, dict) else ""


STACKS = {
    file.stem.removeprefix("Pulumi."): file
    for file in sorted([*PROJECT.glob("Pulumi.*.yaml"), *(PROJECT / "examples").glob("*.yaml")])
    if _kind(file) in _PACKAGE
}

WHOLE = pytest.mark.nightly("what a stack asks for is told without an engine: 40 s of engine each")


def _project(folder: Path, name: str, file: Path) -> Path:
    """This project with `file` as the settings of a stack `name`."""
    folder.mkdir()
    for entry in PROJECT.iterdir():
        if not entry.name.startswith(".") or entry.name == ".venv":
            (folder / entry.name).symlink_to(entry)
    (folder / f"Pulumi.{name}.yaml").unlink(missing_ok=True)
    (folder / f"Pulumi.{name}.yaml").symlink_to(file)
    return folder


@WHOLE
@pytest.mark.parametrize("name", STACKS)
def test_it_keeps_to_the_types_of_its_clouds_sdk(name: str, engine: Engine, tmp_path: Path) -> None:
    settings = StackSettings(name, tmp_path / "home", _project(tmp_path / "project", name, STACKS[name]))
    path = os.pathsep.join([str(engine.programs), os.environ["PATH"]])
    environment = {**pulumi_environment(tmp_path / "state", given={}), "PULUMI_HOME": str(tmp_path / "pulumi")}
    with stand_ins.on_path(PACKAGES, path) as with_stand_ins:
        preview = Preview(
            settings,
            toolchain.tools().path("pulumi"),
            {**environment, "PATH": with_stand_ins, "TENSORPLANE_CONTEXT": ""},
            stand_ins=PACKAGES,
            stays=False,
        )
        found = preview.run()
    assert found.errors == (), render.markdown(found)
    assert found.warnings == ()
    # How many GPUs an example may ask for is up to who takes it: it has no quota here.
    assert not found.failed or (found.violates_policy and STACKS[name].parent != PROJECT), render.markdown(found)
    refusals = {verdict.policy: verdict.messages for verdict in found.policy_results if verdict.level == "mandatory"}
    assert refusals.keys() <= {"gpu-quota"}, refusals
    assert all(message.startswith("The workloads request") for message in refusals.get("gpu-quota", ())), refusals
    package = _PACKAGE[_kind(STACKS[name])]
    assert [stood_in for stood_in, _ in found.stand_ins] == [package], "one cloud, and no other's SDK"
    assert sum(change.type.startswith(f"{package}:") for change in found.changes) > 10
    assert found.count("create") == len(found.changes)


def test_they_are_of_every_cloud() -> None:
    assert {_kind(file) for file in STACKS.values()} == _PACKAGE.keys()


def test_a_stack_that_is_deployed_is_compared_with_its_own_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is none, with an empty one that is gone afterwards."""
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct")
    with opened("prod", "") as fresh:
        assert not fresh.stays
        assert fresh.environment["PULUMI_BACKEND_URL"] == f"file://{fresh.settings.home}/pulumi?metadata=skip"
        assert "PULUMI_CONFIG_PASSPHRASE_FILE" not in fresh.environment, "the user's own reads what is encrypted"
        assert fresh.stand_ins.keys() == PACKAGES.keys()
    assert not fresh.settings.home.exists()
    kept = {**fresh.environment, "PULUMI_BACKEND_URL": f"file://{tmp_path}"}
    StackSettings("prod", tmp_path / "home").make_stack(fresh.pulumi, kept, select=False)
    with opened("prod", "") as deployed:
        assert deployed.stays
        assert deployed.environment["PULUMI_BACKEND_URL"] == f"file://{tmp_path}"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that has the home and the temporary files of a machine on which nothing of a stack ever ran."""
    for name in [name for name in os.environ if name.startswith(("PULUMI_", "AWS_", "KUBE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")))
    for name, folder in {"HOME": "home", "XDG_STATE_HOME": "state", "TMPDIR": "tmp"}.items():
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    return tmp_path


def _leaves_nothing(machine: Path) -> None:
    # Stand-ins end a moment after the engine that has started them.
    eventually(lambda: not list((machine / "tmp").iterdir()), about=lambda: list((machine / "tmp").iterdir()))
    assert [path for path in (machine / "state").rglob("*") if "prod" in path.name] == []


def _limits(report: str) -> list[str]:
    """What a report says about its own limits."""
    return [line for line in report.splitlines() if line.startswith("> ")]


CHECKED = "Checked against the SDK's types, not by the cloud (aws: "


@WHOLE
def test_the_command_asks_for_nothing_and_leaves_nothing(machine: Path) -> None:
    """`make preview STACK=prod` on a machine on which nothing of it ever ran."""
    report = machine / "report.md"
    command = [sys.executable, "-m", "tensorplane.cli", "preview", "--stack", "prod", "--report", str(report)]
    done = subprocess.run(command, cwd=PROJECT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(CHECKED)
    assert _limits(report.read_text())[0].startswith(f"> {CHECKED}")
    _leaves_nothing(machine)


@pytest.fixture
def fork(tmp_path: Path, machine: Path) -> repository.Clone:
    """A clone of this project, as CI has it for a pull request from a fork: without the state and credentials."""
    return repository.Clone(tmp_path / "fork", repository.remote(tmp_path, {}))


def _compared(fork: repository.Clone, change: str | None) -> tuple[subprocess.CompletedProcess[str], str]:
    """`make preview STACK=prod BASE=origin/main` of a branch that gives the environment this file, and its report."""
    fork.git("switch", "-q", "-c", "topic")
    fork.commit("change", {"Pulumi.prod.yaml": change})
    done = fork.tensorplane("preview", "--stack", "prod", "--base", "origin/main")
    return done, (fork.folder / "preview.md").read_text()


def test_a_branch_is_compared_with_its_merge_base_where_the_state_is_out_of_reach(
    fork: repository.Clone, machine: Path
) -> None:
    settings = (fork.folder / "Pulumi.prod.yaml").read_text()
    assert "perNode: 8, max: 4," in settings
    done, report = _compared(fork, settings.replace("perNode: 8, max: 4,", "perNode: 8, max: 8,"))
    assert done.returncode == 1, done.stdout + done.stderr
    base = fork.git("rev-parse", "origin/main")[:10]
    compared, *others = _limits(report)
    assert compared.startswith(f"> Compared with commit {base}, the merge base")
    assert any(CHECKED in each for each in others), others
    assert "- node group **new**: 4 more h100-80gb nodes at most (4 → 8), +$220.16/h at most" in report
    assert "**A policy refuses this update:** 6 to update (" in report
    assert re.search(r"^\*\*Policies:\*\* \d+ judged, [1-9]\d* refuses?", report, re.MULTILINE)
    assert "**Interrupts:** nothing." in report
    assert "- **fleet-cost** (mandatory): the node groups cost about 454.58 USD" in report
    assert "| update | aws:eks/nodeGroup:NodeGroup **new** | `scalingConfig.maxSize`: `4` → `8` |" in report
    assert not any(line.startswith(("| create", "| delete", "| replace")) for line in report.splitlines())
    _leaves_nothing(machine)


def test_a_change_of_the_code_is_compared_with_the_code_of_the_merge_base(fork: repository.Clone) -> None:
    fork.git("switch", "-q", "-c", "topic")
    code = (fork.folder / "components/namespace/component.py").read_text()
    fork.commit("change", {"components/namespace/component.py": code.replace('"allow-dns"', '"permit-dns"')})
    fork.tensorplane("preview", "--stack", "prod", "--base", "origin/main")
    report = (fork.folder / "preview.md").read_text()
    changed = [line for line in report.splitlines() if "NetworkPolicy" in line and line.startswith("| ")]
    assert sorted(line.split(" | ")[0] for line in changed) == ["| create", "| delete"], changed


@WHOLE
def test_a_branch_that_removes_an_environment_is_told_what_that_deletes(fork: repository.Clone) -> None:
    done, report = _compared(fork, None)
    assert "**Merging this deletes nothing.** It removes the environment's file" in report, done.stderr
    assert "- node group **new** is deleted: 4 fewer nodes at most (p5.48xlarge, 8 h100-80gb each)" in report
    assert {line.split(" | ")[0] for line in report.splitlines() if "eks/cluster" in line} == {"| delete"}
