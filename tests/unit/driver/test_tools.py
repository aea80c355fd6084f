"""A preview that cannot ask its cloud gets what this cloud publishes about values; no other preview gets anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.driver import tools
from tensorplane.driver.target import Target
from tensorplane.embedded.instance import Instance
from tensorplane.plugins.hosts.stand_ins import CLOUDS, Cloud
from tensorplane.toolchain import python_packages


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without plugins, credentials and models."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path))
    monkeypatch.setattr(Cloud, "has_credentials", lambda *_: False)
    monkeypatch.setattr(python_packages, "is_missing", bool)


def installed(cloud: str, context: str = "") -> list[Path]:
    """The requirements that a preview of a stack on this kind of cluster installs."""
    tasks = tools._models(Target(context, Instance("dev"), cloud=cloud))
    return [path for task in tasks for path in task.run.keywords["requirements"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("cloud", "package"), [("eks", "aws"), ("gke", "gcp"), ("aks", "azure-native")])
def test_the_model_of_the_stacks_cloud_is_installed(cloud: str, package: str) -> None:
    assert installed(cloud) == [python_packages.MODELS[package]]
    assert python_packages.MODELS[package].exists()


def test_other_stacks_need_none() -> None:
    assert installed("") == []
    assert installed("", context="kind-dev") == []
    assert installed("kubed") == [], "the settings' check names the unknown kind"


def test_a_cloud_that_the_preview_can_ask_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cloud, "unreachable", lambda *_: "")
    assert installed("eks") == []


def test_every_cloud_has_a_model() -> None:
    assert python_packages.MODELS.keys() == {cloud.package for cloud in CLOUDS}
