"""The provider as a process: how it starts, when it refuses to, how it ends; and its configuration."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from tensorplane.core.paths import PROJECT
from tensorplane.plugins.kubernetes.values import UNKNOWN, Properties, Secret, encode
from tests.provider.driver import Driver, Failed, configured, started, urn
from tests.support.processes import is_alive
from tests.support.waiting import PATIENT_SECONDS, eventually

PROVIDER = "urn:pulumi:test::tests::pulumi:providers:kubernetes::cluster"
DEFAULT = "urn:pulumi:test::tests::pulumi:providers:kubernetes::default_4_34_2"


def run(home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tensorplane.plugins.kubernetes", "127.0.0.1:1"]
    environment = {**os.environ, "PULUMI_HOME": str(home)}
    return subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=PATIENT_SECONDS
    )


def test_it_steps_aside_for_the_official_plugin(tmp_path: Path) -> None:
    plugin = tmp_path / "plugins" / "resource-kubernetes-v4.34.2"
    plugin.mkdir(parents=True)
    refused = run(tmp_path)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr.splitlines() == [
        f"embedded Kubernetes provider: not started, because Pulumi's own plugin is installed in {plugin}"
    ]


def test_an_unfinished_download_of_the_official_plugin_does_not_count(tmp_path: Path) -> None:
    """Source: pulumi's workspace plugins: `<folder>.partial` stands beside a folder until it is complete."""
    (tmp_path / "plugins" / "resource-kubernetes-v4.34.2").mkdir(parents=True)
    (tmp_path / "plugins" / "resource-kubernetes-v4.34.2.partial").touch()
    with started(tmp_path) as provider:
        assert provider.stub.GetPluginInfo(empty_pb2.Empty()).version == "4.34.2"


def test_it_answers_what_the_engine_asks_first(tmp_path: Path) -> None:
    with started(tmp_path) as provider:
        handshake = provider.stub.Handshake(provider_pb2.ProviderHandshakeRequest(engine_address="127.0.0.1:1"))
        schema = provider.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema
    assert handshake.accept_secrets
    assert not handshake.accept_outputs
    assert yaml.safe_load(schema) == {"name": "kubernetes", "version": "4.34.2"}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_the_engine_says_so(tmp_path: Path, how: signal.Signals) -> None:
    """Source: TerminateProcessGroup in pulumi's sdk/go/common/util/cmdutil: SIGINT, and SIGKILL some seconds later."""
    with started(tmp_path) as provider:
        provider.process.send_signal(how)
        assert provider.process.wait(PATIENT_SECONDS) == 0


KILLED_ENGINE = """
import os, subprocess, sys
argv = [sys.executable, "-m", "tensorplane.plugins.kubernetes", "127.0.0.1:1"]
provider = subprocess.Popen(argv, stdout=subprocess.PIPE)
provider.stdout.readline()
print(provider.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_it_ends_when_the_engine_was_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "PULUMI_HOME": str(tmp_path)}
    command = [sys.executable, "-c", KILLED_ENGINE]
    engine = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=PATIENT_SECONDS
    )
    assert engine.returncode == -signal.SIGKILL
    pid = int(engine.stdout)
    eventually(lambda: not is_alive(pid))


def test_unsupported_settings_are_refused_in_one_line(kubeconfig: dict[str, Any]) -> None:
    for setting, value in {"enableServerSideApply": "false", "renderYamlToDirectory": "out"}.items():
        with pytest.raises(Failed, match=setting) as failure, configured(kubeconfig, **{setting: value}):
            pass
        assert len(failure.value.message.splitlines()) == 1


def test_no_key_stays_on_disk(kubeconfig: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with started(tmp_path) as provider:
        provider.configure(yaml.safe_dump(kubeconfig))
        assert list(folder.rglob("*")) == []


def config_problems(provider: Driver, news: Properties, which: str = PROVIDER) -> list[str]:
    request = provider_pb2.CheckRequest(urn=which, news=encode(news))
    return [failure.reason for failure in provider.stub.CheckConfig(request).failures]


def test_strict_mode_wants_an_explicit_provider(provider: Driver) -> None:
    """Source: CheckConfig in provider.go."""
    assert config_problems(provider, {"strictMode": "true", "kubeconfig": "k", "context": "c"}) == []
    assert config_problems(provider, {"strictMode": "true"}, DEFAULT) == [
        "strict mode prohibits default provider",
        'strict mode requires Provider "kubeconfig" argument',
        'strict mode requires Provider "context" argument',
    ]


def replaced(provider: Driver, olds: Properties, news: Properties) -> list[str]:
    request = provider_pb2.DiffRequest(urn=urn("pulumi:providers:kubernetes"), olds=encode(olds), news=encode(news))
    return list(provider.stub.DiffConfig(request).replaces)


def test_only_another_cluster_replaces_what_is_in_it(provider: Driver, kubeconfig: dict[str, Any]) -> None:
    """Source: DiffConfig in provider.go."""
    same = Secret(yaml.safe_dump(kubeconfig))
    other_user = {**kubeconfig, "users": [{"name": "tests", "user": {"token": "rotated"}}]}
    moved = {**kubeconfig, "clusters": [{"name": "tests", "cluster": {"server": "https://elsewhere"}}]}
    assert replaced(provider, {"kubeconfig": same}, {"kubeconfig": same}) == []
    assert replaced(provider, {"kubeconfig": same}, {"kubeconfig": yaml.safe_dump(other_user)}) == []
    assert replaced(provider, {"kubeconfig": same}, {"kubeconfig": yaml.safe_dump(moved)}) == ["kubeconfig"]
    assert replaced(provider, {"kubeconfig": same}, {"kubeconfig": UNKNOWN}) == ["kubeconfig"]
    assert replaced(provider, {"namespace": "a"}, {"namespace": "b"}) == []
    named = {"clusterIdentifier": "prod"}
    assert replaced(provider, {"kubeconfig": same, **named}, {"kubeconfig": yaml.safe_dump(moved), **named}) == []
    assert replaced(provider, {"kubeconfig": same, **named}, {"kubeconfig": UNKNOWN, **named}) == []
    assert replaced(provider, named, {"clusterIdentifier": "other"}) == ["clusterIdentifier"]
    assert replaced(provider, named, {"clusterIdentifier": UNKNOWN}) == ["clusterIdentifier"]


def test_a_kubeconfig_that_the_update_will_make_is_no_fault(provider: Driver) -> None:
    """Source: CheckConfig in provider.go; the engine asks no more of a provider whose inputs it does not know yet."""
    assert config_problems(provider, {"kubeconfig": UNKNOWN, "clusterIdentifier": Secret(UNKNOWN)}) == []
