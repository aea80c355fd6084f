"""Which cluster a command is about: the caller's context first, else what the stack's file says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tensorplane.core.errors import UserError
from tensorplane.core.paths import context_home
from tensorplane.driver import cloud_kubeconfig, stack_settings, target
from tensorplane.driver.target import Target
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tensorplane.toolchain.pulumi_environment import pulumi_environment
from tests.support.ports import refusing


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of states: the user's own is on this machine, and other clusters may run beside the tests."""
    for name in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def _settings(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    (folder / "Pulumi.dev.yaml").write_text(text)
    made = stack_settings.StackSettings
    monkeypatch.setattr(target, "StackSettings", lambda name, home: made(name, home, project=folder))


def test_a_file_with_a_context_of_its_own_needs_no_flag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "config:\n  tensorplane:cluster: {kind: existing, context: mine, kubeconfig: /etc/k}\n"
    _settings(monkeypatch, tmp_path, text)
    found = Target.of("", Instance())
    assert (found.embedded, found.context, found.kubeconfig) == (False, "mine", Path("/etc/k"))
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


CLOUD = "config:\n  tensorplane:cluster: {kind: eks}\n"


def _keeps(home: Path, stack: str) -> None:
    """Make a home have the state of a stack."""
    folder = home / "pulumi" / ".pulumi" / "stacks" / "tensorplane"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stack}.json").write_text("{}")


@pytest.mark.parametrize("kind", ["eks", "gke", "aks"])
def test_a_cloud_needs_no_embedded_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    _settings(monkeypatch, tmp_path, f"config:\n  tensorplane:cluster: {{kind: {kind}}}\n")
    found = Target.of("", Instance())
    assert (found.cloud, found.embedded, found.context) == (kind, False, "")
    assert "KUBECONFIG" not in found.environment()


def test_an_unlisted_kind_of_cluster_is_created_by_its_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _settings(monkeypatch, tmp_path, "config:\n  tensorplane:cluster: {kind: toy}\n")
    found = Target.of("", Instance())
    assert (found.cloud, found.embedded) == ("toy", False)


@pytest.mark.parametrize(
    "dev", ["config: {}\n", "config:\n  tensorplane:cluster: {kind: existing, context: mine}\n", CLOUD]
)
@pytest.mark.parametrize("prod", [CLOUD, "config:\n  tensorplane:cluster: {kind: existing, context: mine}\n"])
def test_a_stacks_home_is_the_same_whatever_dev_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state: Path, dev: str, prod: str
) -> None:
    _settings(monkeypatch, tmp_path, dev)
    (tmp_path / "Pulumi.prod.yaml").write_text(prod)
    _keeps(context_home("mine"), "dev")
    found = Target.of("", Instance(), stack="prod")
    assert found.home == Instance().stacks, "where plain `pulumi` of an activated shell keeps it"
    assert not found.home.is_relative_to(Instance().home), "`make purge` deletes that"


def test_a_context_that_was_named_first_and_written_down_later_keeps_its_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state: Path
) -> None:
    _settings(monkeypatch, tmp_path, "config:\n  tensorplane:cluster: {kind: existing, context: mine}\n")
    assert Target.of("", Instance()).home == Instance().stacks
    _keeps(Target.of("mine", Instance()).home, "dev")
    assert Target.of("", Instance()).home == context_home("mine")


def test_an_activated_shell_does_not_mix_the_states_of_two_clusters(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state: Path
) -> None:
    _settings(monkeypatch, tmp_path, "config: {}\n")
    for name, value in pulumi_environment(Instance().stacks, given={}).items():
        monkeypatch.setenv(name, value)
    found = Target.of("kind-dev", Instance())
    home = context_home("kind-dev")
    assert found.environment()["PULUMI_BACKEND_URL"] == f"file://{home}/pulumi?metadata=skip"
    assert found.environment()["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(home / "passphrase")
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://states")
    assert found.environment()["PULUMI_BACKEND_URL"] == "s3://states", "the user's own stays"


def test_a_file_that_is_no_yaml_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _settings(monkeypatch, tmp_path, "config:\n  a: [1,\n  b: }\n")
    with pytest.raises(UserError) as raised:
        Target.of("", Instance())
    (line,) = raised.value.lines
    assert line.startswith("Pulumi.dev.yaml, line 3: ")


def _kubeconfig(server: str) -> str:
    cluster = {"name": "c", "cluster": {"server": server}}
    context = {"name": "mine", "context": {"cluster": "c", "user": "u"}}
    parts = {"clusters": [cluster], "contexts": [context], "users": [{"name": "u", "user": {}}]}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "mine", **parts})


@pytest.fixture
def away(tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig of a cluster that does not answer."""
    with refusing() as port:
        (tmp_path / "kubeconfig").write_text(_kubeconfig(f"http://127.0.0.1:{port}"))
        yield tmp_path / "kubeconfig"


def _says(monkeypatch: pytest.MonkeyPatch, outputs: str) -> None:
    """The stack's outputs, or why `pulumi` does not tell them."""

    def called(argv: list[str], *_: object) -> str:
        assert argv[1:] == ["stack", "output", "--json", "--show-secrets", "--stack", "prod"]
        if outputs.startswith("{"):
            return outputs
        raise UserError(outputs)

    monkeypatch.setattr(cloud_kubeconfig, "call", called)
    monkeypatch.setattr("tensorplane.driver.cloud_kubeconfig.toolchain.tools", lambda: SimpleNamespace(path=Path))


def test_a_clouds_stack_is_asked_in_its_own_cluster(monkeypatch: pytest.MonkeyPatch, away: Path, state: Path) -> None:
    """Whatever cluster the machine's kubeconfig leads to."""
    monkeypatch.setenv("KUBECONFIG", str(away))
    with refusing() as port:
        _says(monkeypatch, json.dumps({"kubeconfig": _kubeconfig(f"http://127.0.0.1:{port}")}))
        line = rf"^stack prod: .*127\.0\.0\.1:{port}: .* Look with: tensorplane kubeconfig --stack prod"
        with pytest.raises(UserError, match=line):
            Target("", Instance(), cloud="eks", stack="prod").answering_api()


@pytest.mark.parametrize("outputs", ["{}", "pulumi stack output: error: no stack named 'prod' found"])
def test_a_clouds_stack_that_was_never_deployed_is_one_line(
    monkeypatch: pytest.MonkeyPatch, state: Path, outputs: str
) -> None:
    _says(monkeypatch, outputs)
    with pytest.raises(
        UserError, match=r"^stack prod: its cluster does not exist yet; create it with: make up STACK=prod$"
    ):
        Target("", Instance(), cloud="eks", stack="prod").api()


def test_an_unreadable_state_is_reported_with_pulumis_message(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    _says(monkeypatch, "pulumi stack output: incorrect passphrase")
    with pytest.raises(UserError, match="incorrect passphrase"):
        Target("", Instance(), cloud="eks", stack="prod").api()


def test_only_the_embedded_cluster_is_started_by_make_up(monkeypatch: pytest.MonkeyPatch, away: Path) -> None:
    monkeypatch.setattr(cluster, "is_running", lambda _: False)  # whatever runs on this machine
    own = Target("mine", Instance(), away)
    with pytest.raises(
        UserError, match=r"^context mine: The cluster does not answer .* Look with: kubectl cluster-info$"
    ):
        own.answering_api()
    with pytest.raises(UserError, match=r"The embedded cluster is stopped; start it with: make up"):
        Target("", Instance()).answering_api()


def test_a_workload_stack_is_on_the_cluster_of_its_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    platform = "config: {tensorplane:cluster: {kind: existing, context: mine}, tensorplane:namespace: ml}"
    _settings(monkeypatch, tmp_path, platform)
    own = "config: {platform: dev, workloads: {search: {kind: trainingJob}}}"
    (tmp_path / "Pulumi.vision.yaml").write_text(own)
    found = Target.of("", Instance(), stack="vision")
    assert (found.context, found.stack) == ("mine", "vision")
    settings = stack_settings.StackSettings("vision", tmp_path, project=tmp_path)
    assert settings.namespace == "ml"
    assert settings.of_platform.name == "dev"
    assert settings.section("workloads") == {"search": {"kind": "trainingJob"}}
    assert settings.section("volumes") == {}


def test_its_kubeconfig_is_that_of_the_stack_which_has_the_cluster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _settings(monkeypatch, tmp_path, "config: {tensorplane:cluster: {kind: eks}}")
    (tmp_path / "Pulumi.vision.yaml").write_text("config: {platform: dev}")
    asked: list[str] = []

    def of_stack(name: str, environment: object) -> str:
        asked.append(name)
        return "{}"

    monkeypatch.setattr(cloud_kubeconfig, "get_kubeconfig", of_stack)
    found = Target.of("", Instance(), stack="vision")
    assert found.cloud == "eks"
    with pytest.raises(UserError):
        found.api()
    assert asked == ["dev"]
