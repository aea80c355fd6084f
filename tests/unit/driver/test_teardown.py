"""`make purge`: it deletes the embedded cluster and the stacks on it, and says so; a cloud's stack stays."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tensorplane.driver import teardown
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance

_CLAIM = {"type": "kubernetes:core/v1:PersistentVolumeClaim", "id": "tensorplane-dev/models"}


def _state(kind: str | None, *more: dict[str, Any]) -> str:
    resources = [{"type": "pulumi:pulumi:Stack"}, *more]
    if kind:
        resources.append({"type": "tensorplane:index:Cluster", "inputs": {"kind": kind}})
    return json.dumps({"version": 3, "checkpoint": {"latest": {"resources": resources}}})


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    """A stopped cluster with stacks on it and in clouds, all kept as this version keeps them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    instance = Instance()
    pulumi = instance.stacks / "pulumi" / ".pulumi"
    states = {"dev": _state("embedded", _CLAIM), "prod": _state("eks"), "new": _state(None), "odd": "{"}
    for name, text in states.items():
        for file in (f"stacks/tensorplane/{name}.json", f"stacks/tensorplane/{name}.json.bak"):
            (pulumi / file).parent.mkdir(parents=True, exist_ok=True)
            (pulumi / file).write_text(text)
        (pulumi / "history" / "tensorplane" / name).mkdir(parents=True)
        (pulumi / "backups" / "tensorplane" / name).mkdir(parents=True)
    (instance.stacks / "passphrase").write_text("secret")
    instance.home.mkdir()
    monkeypatch.setattr(cluster, "stop", lambda instance: None)
    monkeypatch.setattr(cluster, "remove", lambda instance: instance.home.rmdir())
    return instance


def test_what_is_not_on_the_cluster_stays(instance: Instance, capsys: pytest.CaptureFixture[str]) -> None:
    teardown.purge(instance, confirmed=True)
    assert not instance.home.exists()
    pulumi = instance.stacks / "pulumi" / ".pulumi"
    assert {path.stem for path in (pulumi / "stacks" / "tensorplane").glob("*.json")} == {"prod", "new", "odd"}
    assert {path.name for path in (pulumi / "history" / "tensorplane").iterdir()} == {"prod", "new", "odd"}
    assert not list(pulumi.glob("**/dev*"))
    assert (instance.stacks / "passphrase").read_text() == "secret", "it reads what is encrypted in settings"
    assert "Deleted." in capsys.readouterr().out


def test_projects_with_stacks_of_one_name_are_told_apart(instance: Instance) -> None:
    states, settings = instance.stacks / "pulumi/.pulumi/stacks", instance.stacks / "settings"
    for name, text in {"vision": _state("embedded"), "speech": _state("eks")}.items():
        for folder in (states / name, settings / name):
            folder.mkdir(parents=True)
        (states / name / "dev.json").write_text(text)
        (settings / name / "Pulumi.dev.yaml").write_text("")
    described = "\n".join(teardown.describe_purge(instance, teardown.list_stacks(instance.stacks)))
    assert "stacks   dev, vision/dev: Pulumi's state" in described
    assert "stacks   new, odd, prod, speech/dev; and" in described
    teardown.purge(instance, confirmed=True)
    assert not (states / "vision/dev.json").exists()
    assert (states / "speech/dev.json").exists()
    assert [path.parent.name for path in settings.glob("*/Pulumi.dev.yaml")] == ["speech"]


def test_it_lists_what_goes_before_anything_goes(instance: Instance, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=r"Nothing was deleted. Confirm with: tensorplane purge --yes"):
        teardown.purge(instance, confirmed=False)  # nobody can answer
    said = capsys.readouterr().out.splitlines()
    assert str(instance.home) in said[1]
    assert said[2].split() == ["volumes", "tensorplane-dev/models"]
    assert said[3].startswith("  stacks   dev: ")
    assert said[5].startswith("  stacks   new, odd, prod; ")
    assert instance.home.exists()


@pytest.mark.parametrize(("typed", "goes"), [("dev", True), ("yes", False), ("", False)])
def test_it_asks_for_the_name(instance: Instance, monkeypatch: pytest.MonkeyPatch, typed: str, goes: bool) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: typed)
    if goes:
        teardown.purge(instance, confirmed=False)
    else:
        with pytest.raises(UserError):
            teardown.purge(instance, confirmed=False)
    assert instance.home.exists() != goes
