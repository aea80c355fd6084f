"""The machine's own kubeconfig, found and merged as kubectl does it.

Source: "Organizing Cluster Access Using kubeconfig Files" in Kubernetes' documentation, its rules 1 to 5, and
"client-go credential plugins" in its page about authentication.
"""

from __future__ import annotations

import base64
import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.provider.driver import Failed, configured

NAMESPACE = "kubernetes:core/v1:Namespace"
DEFAULT = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
NOWHERE = {"server": "https://127.0.0.1:1"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home folder, from which nothing of this machine's kubeconfig is seen."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def write(file: Path, config: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(config))
    return file


def assert_it_reaches_the_cluster(**settings: str) -> None:
    with configured(None, **settings) as provider:
        assert provider.read(NAMESPACE, "default", DEFAULT)[0] == "default"


def why_not(**settings: str) -> str:
    """The one line that says why the cluster cannot be reached."""
    with (
        configured(None, **settings) as provider,
        pytest.raises(Failed, match="the Kubernetes cluster cannot be reached") as failure,
    ):
        provider.read(NAMESPACE, "default", DEFAULT)
    assert len(failure.value.message.splitlines()) == 1
    return failure.value.message


def test_the_users_kubeconfig_is_found(kubeconfig: dict[str, Any], home: Path) -> None:
    write(home / ".kube" / "config", kubeconfig)
    assert_it_reaches_the_cluster()


def test_a_file_beside_the_kubeconfig_may_be_named_by_a_relative_path(kubeconfig: dict[str, Any], home: Path) -> None:
    config = copy.deepcopy(kubeconfig)
    authority = config["clusters"][0]["cluster"].pop("certificate-authority-data")
    config["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
    write(home / ".kube" / "config", config)
    (home / ".kube" / "ca.crt").write_bytes(base64.b64decode(authority))
    assert_it_reaches_the_cluster()


def test_several_files_are_one_and_the_first_decides(
    kubeconfig: dict[str, Any], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = {key: kubeconfig[key] for key in ("apiVersion", "kind")}
    users = write(home / "users", {**kind, "users": kubeconfig["users"], "current-context": "tests"})
    empty = home / "empty"
    empty.touch()
    rest = write(home / "rest", {**kind, "clusters": kubeconfig["clusters"], "contexts": kubeconfig["contexts"]})
    other = {
        **kind,
        "clusters": [{"name": "tests", "cluster": NOWHERE}],
        "contexts": [{"name": "elsewhere", "context": {"cluster": "tests", "user": "tests"}}],
        "users": [{"name": "tests", "user": {"token": "of another cluster"}}],
        "current-context": "elsewhere",
    }
    files = [home / "is-not-there", empty, users, rest, write(home / "other", other)]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    assert_it_reaches_the_cluster()


def test_a_context_is_chosen_by_its_name(kubeconfig: dict[str, Any], home: Path) -> None:
    config = copy.deepcopy(kubeconfig)
    config["clusters"].append({"name": "elsewhere", "cluster": NOWHERE})
    config["contexts"].append({"name": "elsewhere", "context": {"cluster": "elsewhere", "user": "tests"}})
    config["current-context"] = "elsewhere"
    write(home / ".kube" / "config", config)
    assert_it_reaches_the_cluster(context="tests")
    assert "https://127.0.0.1:1" in why_not()
    assert "nowhere" in why_not(context="nowhere")


PLUGIN = """#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/asked"
test -n "$CREDENTIAL" || { echo "log in first" >&2; exit 1; }
cat <<END
{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "$CREDENTIAL"}}
END
"""


def with_plugin(kubeconfig: dict[str, Any], folder: Path, credential: str) -> dict[str, Any]:
    """The kubeconfig whose user is told by a program that lies in `folder`."""
    plugin = folder / "bin" / "plugin"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(PLUGIN)
    plugin.chmod(0o755)
    config = copy.deepcopy(kubeconfig)
    config["users"][0]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./bin/plugin",
            "env": [{"name": "CREDENTIAL", "value": credential}],
            "interactiveMode": "Never",
        }
    }
    return config


def test_an_exec_plugin_gives_the_credentials(kubeconfig: dict[str, Any], home: Path) -> None:
    token = kubeconfig["users"][0]["user"]["token"]
    write(home / ".kube" / "config", with_plugin(kubeconfig, home / ".kube", token))
    assert_it_reaches_the_cluster()
    assert json.loads((home / ".kube" / "bin" / "asked").read_text())["kind"] == "ExecCredential"


def test_an_exec_plugin_that_fails_is_named(kubeconfig: dict[str, Any], home: Path) -> None:
    write(home / ".kube" / "config", with_plugin(kubeconfig, home / ".kube", ""))
    assert f"its exec plugin {home}/.kube/bin/plugin returned no credentials" in why_not()


@pytest.mark.parametrize(
    "text", ["users: {", "- a", "clusters: [a]", "clusters: {a: b}", "kind: Pod", "clusters: [{name: a}]"]
)
def test_a_file_that_is_no_kubeconfig_is_named(home: Path, text: str) -> None:
    file = home / ".kube" / "config"
    file.parent.mkdir()
    file.write_text(text)
    assert f"kubeconfig: {file}: it is not a kubeconfig" in why_not()


def test_no_kubeconfig_at_all_is_said(home: Path) -> None:
    assert f"{home}/.kube/config does not exist" in why_not()
