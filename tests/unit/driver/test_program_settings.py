"""Commands know a stack that a program in Python declares by what its last update recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli import stack_config
from tensorplane.cli.commands.check import command as check
from tensorplane.cli.commands.tiers import command as tiers
from tensorplane.components.base import outputs
from tensorplane.core.errors import UserError
from tensorplane.driver import program_settings
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.embedded.instance import Instance

_TREE: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "lab"},
    "controllers": {"jobset": "chart"},
    "namespace": "tensorplane-ml",
    "queues": {"research": {"cpus": 8, "memoryGib": 32}},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose program has declared a stack `dev`, and that has no file for it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    program_settings.recorded.cache_clear()
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: lab\nruntime: python\n")
    state = Instance.current().stacks / "pulumi" / ".pulumi" / "stacks" / "lab" / "dev.json"
    state.parent.mkdir(parents=True)
    of_stack = {"type": "pulumi:pulumi:Stack", "outputs": {outputs.SETTINGS_KEY: json.dumps(_TREE)}}
    state.write_text(json.dumps({"checkpoint": {"latest": {"resources": [{"type": "a"}, of_stack]}}}))
    return folder


def test_a_recorded_stack_has_its_sections(project: Path) -> None:
    settings = StackSettings("dev", project, project)
    assert settings.section("queues") == _TREE["queues"]
    assert settings.namespace == "tensorplane-ml"
    assert settings.source() == project / "Pulumi.dev.yaml"


def test_the_file_comes_first_if_it_has_settings(project: Path) -> None:
    (project / "Pulumi.dev.yaml").write_text("config:\n  lab:x: 1\n")
    settings = StackSettings("dev", project, project)
    assert settings.section("queues") == _TREE["queues"], "another program's settings"
    (project / "Pulumi.dev.yaml").write_text("config:\n  tensorplane:queues: {own: {cpus: 1}}\n")
    assert settings.section("queues") == {"own": {"cpus": 1}}


@pytest.mark.parametrize("text", ["", "encryptionsalt: v1:abc=\n", "config:\n  lab:x: 1\n"])
def test_a_file_that_pulumi_writes_leaves_the_settings_to_the_program(project: Path, text: str) -> None:
    if text:
        (project / "Pulumi.dev.yaml").write_text(text)
    settings = StackSettings("dev", project / "home", project)
    assert settings.section("queues") == _TREE["queues"]
    settings.refresh()
    assert settings.file.exists()


@pytest.mark.parametrize("text", ["tensorplane:volumes: {a: {sizeGib: 1}}\n", "[]\n", "config: []\n"])
def test_a_broken_file_is_not_taken_for_one_of_a_program(project: Path, text: str) -> None:
    (project / "Pulumi.dev.yaml").write_text(text)
    with pytest.raises(UserError, match=r"^Pulumi\.dev\.yaml: "):
        check.run(project / "Pulumi.dev.yaml")


def test_tiers_are_those_of_the_program(project: Path) -> None:
    queues = tiers.registered(stack_config.load(project / "Pulumi.dev.yaml"))
    assert list(queues) == ["research"]


def test_what_a_program_declares_is_not_checked_as_a_file(project: Path) -> None:
    """Its last settings may be refused by now, and the program be mended."""
    said = check.run(project / "Pulumi.dev.yaml")
    assert said == "Pulumi.dev.yaml: no settings of tensorplane; those that a program declares are checked when it runs"


def test_what_other_resources_produce_is_unknown(project: Path) -> None:
    state = next(Instance.current().stacks.rglob("dev.json"))
    tree = {**_TREE, "cluster": {"kind": "existing", "context": "lab", "kubeconfig": {"secure": ""}}}
    found = json.loads(state.read_text())
    found["checkpoint"]["latest"]["resources"][1]["outputs"][outputs.SETTINGS_KEY] = json.dumps(tree)
    state.write_text(json.dumps(found))
    assert stack_config.encrypted(project / "Pulumi.dev.yaml") == ["tensorplane:cluster.kubeconfig"]
