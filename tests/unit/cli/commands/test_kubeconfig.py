"""`tensorplane kubeconfig`: which clusters it has one for, and that nobody else reads what it writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import pytest
import yaml

from tensorplane.cli import __main__ as tensorplane
from tensorplane.cli import options
from tensorplane.cli.commands import kubeconfig
from tensorplane.core.errors import UserError
from tensorplane.driver import cloud_kubeconfig
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.embedded.instance import Instance


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder of states."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("TENSORPLANE_INSTANCE", raising=False)
    monkeypatch.delenv("TENSORPLANE_CONTEXT", raising=False)


def test_a_cloud_stack_has_that_of_its_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_kubeconfig, "get_kubeconfig", lambda stack, environment: f"of {stack}")
    assert kubeconfig.kubeconfig("prod", "") == "of prod"


def test_a_stack_on_the_embedded_cluster_has_that_of_the_cluster() -> None:
    with pytest.raises(UserError, match="the embedded cluster was never started; start it with: make up"):
        kubeconfig.kubeconfig("dev", "")
    Instance().home.mkdir(parents=True)
    Instance().kubeconfig.write_text("of the cluster")
    assert kubeconfig.kubeconfig("dev", "") == "of the cluster"


def test_a_context_of_the_users_needs_none() -> None:
    with pytest.raises(
        UserError, match=r"^stack dev: your kubeconfig has its cluster already; use: kubectl --context mine"
    ):
        kubeconfig.kubeconfig("dev", "mine")


def test_a_written_file_is_private_and_replaced_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kubeconfig, "kubeconfig", lambda stack, context: f"of {stack}")
    file = tmp_path / "access"
    for before in (None, "of prod", "of another"):
        if before:
            file.write_text(before)
            file.chmod(0o644)
        monkeypatch.setattr(sys, "argv", ["tensorplane", "kubeconfig", "--stack", "prod", "--output", str(file)])
        assert tensorplane.main() == 0
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("of prod", 0o600)
        assert capsys.readouterr().out.endswith(f"use it with: export KUBECONFIG={file}\n")


def test_a_place_that_takes_no_file_is_one_line(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none" / "access"):
        with pytest.raises(UserError, match="choose another"):
            kubeconfig.write("text", place)


def test_a_pipe_gets_it_and_a_terminal_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kubeconfig, "kubeconfig", lambda stack, context: "text")
    monkeypatch.setattr(sys, "argv", ["tensorplane", "kubeconfig"])
    assert tensorplane.main() == 0
    assert capsys.readouterr().out == "text\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert tensorplane.main() == 1
    assert capsys.readouterr().err.startswith("--output: missing, and credentials are not printed to a terminal")


LOGIN = {"exec": {"command": "aws", "args": ["eks", "get-token", "--cluster-name", "prod"]}}
OF_CLOUD = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "prod",
    "clusters": [{"name": "prod", "cluster": {"server": "https://api.example"}}],
    "users": [{"name": "prod", "user": LOGIN}],
    "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "prod"}}],
}
TEAMS = """
config:
  tensorplane:cluster: {kind: eks, region: us-west-2}
  tensorplane:namespace: ml
  tensorplane:teams:
    vision: {namespace: pictures, members: ["user:arn:aws:iam::123456789012:role/vision"]}
    speech: {}
"""


@pytest.fixture
def teams(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack on a cloud's cluster, with teams."""
    sections = yaml.safe_load(TEAMS)["config"]
    monkeypatch.setattr(StackSettings, "source", lambda self: None)
    monkeypatch.setattr(StackSettings, "section", lambda self, name: sections.get(f"tensorplane:{name}", {}))
    monkeypatch.setattr(StackSettings, "namespace", "ml")
    monkeypatch.setattr(cloud_kubeconfig, "get_kubeconfig", lambda stack, environment: json.dumps(OF_CLOUD))


@pytest.mark.usefixtures("teams")
def test_members_on_a_cloud_log_in_by_themselves_and_are_in_their_namespace() -> None:
    found = yaml.safe_load(kubeconfig.of_team("prod", "vision", ""))
    (context,) = found["contexts"]
    assert context["name"] == "prod-vision"
    assert context["context"].items() >= {"cluster": "prod", "user": "prod", "namespace": "pictures"}.items()
    assert found["current-context"] == "prod-vision"
    assert (found["users"], found["clusters"]) == (OF_CLOUD["users"], OF_CLOUD["clusters"])


@pytest.mark.usefixtures("teams")
def test_a_team_without_members_and_a_context_of_the_users_have_none() -> None:
    with pytest.raises(UserError, match=r"^--team: team speech has no members; name them in tensorplane:teams\."):
        kubeconfig.of_team("prod", "speech", "")
    with pytest.raises(UserError, match="give them a kubeconfig of the cluster whose context has namespace pictures"):
        kubeconfig.of_team("prod", "vision", "mine")


@pytest.mark.usefixtures("teams")
@pytest.mark.parametrize(
    ("given", "team"),
    [("", "vision"), ("--team speech", "speech"), ("--stack dev", None), ("--stack dev --team speech", "speech")],
)
def test_a_members_kubeconfig_names_the_team_unless_the_command_does(
    given: str, team: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "access").write_text(kubeconfig.of_team("prod", "vision", ""))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "access"))
    assert _team(given) == team


@pytest.mark.parametrize("text", [None, json.dumps(OF_CLOUD), "{"])
def test_another_kubeconfig_or_none_names_no_team(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text:
        (tmp_path / "access").write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "access"))
    assert _team("") is None


def _team(given: str) -> str | None:
    """The team that a command is about."""
    found: list[str | None] = []

    @click.command()
    @options.stack_option
    @options.team_option
    def command(stack: str, team: str | None) -> None:
        found.append(team)

    command.main(given.split(), standalone_mode=False)
    return found[0]
