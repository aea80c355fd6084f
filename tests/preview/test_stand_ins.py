"""A stand-in serves where a plugin or credentials are missing: it previews, no more, and passes with the preview."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from tensorplane.plugins.hosts import stand_ins
from tensorplane.plugins.hosts.stand_ins import CLOUDS, Cloud
from tensorplane.plugins.preview.sdk import Sdk
from tensorplane.plugins.preview.servicer import Servicer
from tensorplane.toolchain import pulumi_plugins

ADDON = "aws:eks/addon:Addon"
URN = f"urn:pulumi:dev::tiny::{ADDON}::dns"
IDENTITY = "aws:index/getCallerIdentity:getCallerIdentity"
CLOUD = {cloud.package: cloud for cloud in CLOUDS}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a machine without plugins and credentials."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi"))
    return {"HOME": str(tmp_path)}


def _install(tmp_path: Path, package: str) -> None:
    (tmp_path / "pulumi" / "plugins" / f"resource-{package}-v1.0.0").mkdir(parents=True)


def test_without_plugins_every_cloud_has_one(machine: dict[str, str]) -> None:
    assert stand_ins.needed(machine) == dict.fromkeys(CLOUD, "Pulumi's plugin is not installed")


def test_a_plugin_without_credentials_is_stood_in_for(machine: dict[str, str], tmp_path: Path) -> None:
    _install(tmp_path, "gcp")
    assert stand_ins.needed(machine)["gcp"] == "there are no credentials"


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.package)
def test_the_real_one_serves_where_it_can(cloud: Cloud, machine: dict[str, str], tmp_path: Path) -> None:
    _install(tmp_path, cloud.package)
    for variable in cloud.variables:
        assert cloud.package not in stand_ins.needed({**machine, variable: "given"})
    assert cloud.package in stand_ins.needed(machine)
    for _, place, file in cloud.files:
        credentials = tmp_path / place / file
        credentials.parent.mkdir(parents=True, exist_ok=True)
        credentials.write_text("")
    assert cloud.package not in stand_ins.needed(machine)


def test_a_variable_may_name_the_file_itself(machine: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    assert CLOUD["aws"].has_credentials({**machine, "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "mine")})


def test_launchers_pass_with_the_preview() -> None:
    with stand_ins.on_path(["aws", "azure-native"], os.environ["PATH"]) as path:
        found = [shutil.which(f"pulumi-resource-{package}", path=path) for package in ("aws", "azure-native")]
        assert all(launcher and pulumi_plugins.is_ours(Path(launcher)) for launcher in found)
        assert shutil.which("pulumi-resource-aws") is None, "the PATH of everything else has none"
    assert not any(launcher and Path(launcher).exists() for launcher in found)


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    """The stand-in for AWS, as the engine asks it."""
    server = grpc.server(ThreadPoolExecutor(1))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(Sdk("aws"), None), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield provider_pb2_grpc.ResourceProviderStub(channel)
    server.stop(None).wait()


@pytest.mark.parametrize(
    ("method", "asked", "what"),
    [
        ("Create", provider_pb2.CreateRequest(urn=URN), f"create {ADDON} dns"),
        ("Update", provider_pb2.UpdateRequest(urn=URN), f"update {ADDON} dns"),
        ("Read", provider_pb2.ReadRequest(urn=URN), f"read {ADDON} dns"),
        ("Delete", provider_pb2.DeleteRequest(urn=URN), f"delete {ADDON} dns"),
        ("Invoke", provider_pb2.InvokeRequest(tok=IDENTITY), f"call {IDENTITY}"),
        ("Call", provider_pb2.CallRequest(tok=IDENTITY), f"call {IDENTITY}"),
        ("Construct", provider_pb2.ConstructRequest(type=ADDON), f"construct {ADDON}"),
    ],
)
def test_what_is_not_a_preview_is_refused(served: Any, method: str, asked: Any, what: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        getattr(served, method)(asked)
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert refused.value.details().startswith(f"cannot {what}: this stand-in for the aws provider only previews; ")
