"""Which cluster a command is about: the caller's context first, else what the stack's file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded import target
from embedded.fault import Fault
from embedded.hosts import stack_settings
from embedded.paths import Instance, context_home
from embedded.target import Target


def _settings(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    (folder / "Pulumi.dev.yaml").write_text(text)
    made = stack_settings.StackSettings
    monkeypatch.setattr(target, "StackSettings", lambda name, home: made(name, home, project=folder))


def test_a_file_with_a_context_of_its_own_needs_no_flag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "config:\n  tensorplane:cluster: {kind: existing, context: mine, kubeconfig: /etc/k}\n"
    _settings(monkeypatch, tmp_path, text)
    found = Target.of("", Instance())
    assert (found.embedded, found.context, found.kubeconfig) == (False, "mine", Path("/etc/k"))
    assert found.home == context_home("mine")
    assert found.environment()["TENSORPLANE_CONTEXT"] == "", "the file itself names the cluster"


def test_the_callers_context_wins_and_reaches_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _settings(monkeypatch, tmp_path, "config:\n  tensorplane:cluster: {kind: existing, context: mine}\n")
    found = Target.of("kind-dev", Instance())
    assert found.home == context_home("kind-dev")
    assert found.environment()["TENSORPLANE_CONTEXT"] == "kind-dev"


@pytest.mark.parametrize(
    "text",
    ["", "config:\n", "[]", "config: 3\n", "config: {tensorplane:cluster: {kind: embedded}}", "config: {a: b}"],
)
def test_everything_else_is_the_embedded_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    _settings(monkeypatch, tmp_path, text)
    found = Target.of("", Instance())
    assert found.embedded
    assert found.home == Instance().stacks


@pytest.mark.parametrize("kind", ["eks", "gke", "aks"])
def test_a_cloud_needs_no_embedded_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    _settings(monkeypatch, tmp_path, f"config:\n  tensorplane:cluster: {{kind: {kind}}}\n")
    found = Target.of("", Instance())
    assert (found.cloud, found.embedded, found.context) == (kind, False, "")
    assert "KUBECONFIG" not in found.environment()


def test_no_stacks_state_is_in_the_folder_that_purge_deletes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _settings(monkeypatch, tmp_path, "config: {}\n")
    (tmp_path / "Pulumi.prod.yaml").write_text("config:\n  tensorplane:cluster: {kind: eks}\n")
    at = Instance()
    homes = [Target.of("", at).home, Target.of("", at, stack="prod").home, Target.of("kind-dev", at).home]
    assert not any(home.is_relative_to(at.home) for home in homes)
    assert homes[0] == homes[1], "plain `pulumi` of one shell finds both"


def test_a_clouds_state_is_where_plain_pulumi_keeps_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _settings(monkeypatch, tmp_path, "config:\n  tensorplane:cluster: {kind: existing, context: mine}\n")
    (tmp_path / "Pulumi.prod.yaml").write_text("config:\n  tensorplane:cluster: {kind: eks}\n")
    assert Target.of("", Instance(), stack="prod").home == context_home("mine"), "as `activate` names it"


def test_a_file_that_is_no_yaml_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _settings(monkeypatch, tmp_path, "config:\n  a: [1,\n  b: }\n")
    with pytest.raises(Fault) as raised:
        Target.of("", Instance())
    (line,) = raised.value.lines
    assert line.startswith("Pulumi.dev.yaml, line 3: ")
