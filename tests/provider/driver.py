"""Drives the provider over gRPC the way the engine does, and plays the engine for its log."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import yaml
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2_grpc, provider_pb2, provider_pb2_grpc, status_pb2

from tensorplane.core.paths import PROJECT
from tensorplane.plugins.kubernetes.servicer import Servicer
from tensorplane.plugins.kubernetes.values import Properties, decode, encode
from tests.support.waiting import PATIENT_SECONDS

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
SECRET = "kubernetes:core/v1:Secret"


def urn(token: str, name: str = "thing") -> str:
    return f"urn:pulumi:test::tests::{token}::{name}"


class Failed(Exception):
    """An operation that the provider refused; `state` is there when the object was made nevertheless."""

    def __init__(self, error: grpc.RpcError) -> None:
        super().__init__(error.details())
        self.message: str = error.details()
        self.state: Properties | None = None
        self.resource_id = ""
        self.reasons: list[str] = []
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                detail = provider_pb2.ErrorResourceInitFailed()
                status_pb2.Status.FromString(value).details[0].Unpack(detail)
                self.state, self.resource_id = decode(detail.properties), detail.id
                self.reasons = list(detail.reasons)


class RecordingEngine(engine_pb2_grpc.EngineServicer):
    """Keeps what the provider says."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.on_log: Callable[[str], object] = str
        """Called with each message, while the provider waits for the answer."""

    def Log(self, request: Any, context: Any) -> Any:  # noqa: N802 - gRPC's name
        self.said.append(request)
        self.on_log(request.message)
        return empty_pb2.Empty()

    def texts(self, *, ephemeral: bool) -> list[str]:
        return [message.message for message in self.said if message.ephemeral == ephemeral]


class Driver:
    """A provider and the engine that it talks to."""

    def __init__(self, channel: grpc.Channel, engine: RecordingEngine) -> None:
        self.stub = provider_pb2_grpc.ResourceProviderStub(channel)
        self.engine = engine

    def configure(self, kubeconfig: str, **settings: str) -> Any:
        variables = {f"kubernetes:config:{key}": value for key, value in settings.items()}
        variables["kubernetes:config:kubeconfig"] = kubeconfig
        request = provider_pb2.ConfigureRequest(variables=variables, acceptSecrets=True, acceptResources=True)
        return self._call(self.stub.Configure, request)

    def check(self, token: str, news: Properties, olds: Properties | None = None, **more: Any) -> Properties:
        """Checked inputs; a failure is raised."""
        name = more.pop("name", "thing")
        request = provider_pb2.CheckRequest(urn=urn(token, name), olds=encode(olds or {}), news=encode(news), **more)
        response = self._call(self.stub.Check, request)
        if response.failures:
            raise CheckFailed([failure.reason for failure in response.failures])
        return decode(response.inputs)

    def diff(self, token: str, state: Properties, news: Properties, *, ignore: tuple[str, ...] = ()) -> Any:
        request = provider_pb2.DiffRequest(
            urn=urn(token), id="x", olds=encode(state), news=encode(news), ignoreChanges=ignore
        )
        return self._call(self.stub.Diff, request)

    def create(self, token: str, inputs: Properties, *, timeout: float = 0) -> tuple[str, Properties]:
        request = provider_pb2.CreateRequest(urn=urn(token), properties=encode(inputs), timeout=timeout)
        response = self._call(self.stub.Create, request)
        return response.id, decode(response.properties)

    def preview(self, token: str, inputs: Properties) -> Properties:
        request = provider_pb2.CreateRequest(urn=urn(token), properties=encode(inputs), preview=True)
        response = self._call(self.stub.Create, request)
        assert response.id == ""
        return decode(response.properties)

    def update(
        self, token: str, state: Properties, news: Properties, *, preview: bool = False, ignore: tuple[str, ...] = ()
    ) -> Properties:
        request = provider_pb2.UpdateRequest(
            urn=urn(token), id="x", olds=encode(state), news=encode(news), preview=preview, ignoreChanges=ignore
        )
        return decode(self._call(self.stub.Update, request).properties)

    def read(
        self, token: str, resource_id: str, inputs: Properties | None = None, state: Properties | None = None
    ) -> tuple[str, Properties, Properties]:
        request = provider_pb2.ReadRequest(
            urn=urn(token), id=resource_id, inputs=encode(inputs or {}), properties=encode(state or {})
        )
        response = self._call(self.stub.Read, request)
        return response.id, decode(response.properties), decode(response.inputs)

    def delete(self, token: str, resource_id: str, state: Properties, *, timeout: float = 0) -> None:
        request = provider_pb2.DeleteRequest(urn=urn(token), id=resource_id, properties=encode(state), timeout=timeout)
        self._call(self.stub.Delete, request)

    def cancel(self) -> None:
        self._call(self.stub.Cancel, empty_pb2.Empty())

    def _call(self, method: Any, request: Any) -> Any:
        try:
            return method(request, timeout=PATIENT_SECONDS)
        except grpc.RpcError as error:
            raise Failed(error) from None


class CheckFailed(Exception):
    """Inputs that `Check` refused, a reason each."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = reasons


class Process(Driver):
    """A provider that is a process of its own."""

    def __init__(self, channel: grpc.Channel, engine: RecordingEngine, process: subprocess.Popen[str]) -> None:
        super().__init__(channel, engine)
        self.process = process


@contextlib.contextmanager
def started(home: Path) -> Iterator[Process]:
    """A provider process of its own, not configured yet; `home` stands for a user without Pulumi's plugins."""
    engine = RecordingEngine()
    with _serving(lambda server: engine_pb2_grpc.add_EngineServicer_to_server(engine, server)) as address:
        command = [sys.executable, "-m", "tensorplane.plugins.kubernetes", address]
        environment = {**os.environ, "PULUMI_HOME": str(home)}
        process = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                yield Process(channel, engine, process)
        finally:
            process.terminate()
            process.wait(PATIENT_SECONDS)
            process.stdout.close()


@contextlib.contextmanager
def configured(kubeconfig: Mapping[str, Any] | None = None, **settings: str) -> Iterator[Driver]:
    """A provider in this process, which is there at once; without a kubeconfig, it looks for the machine's own."""
    engine = RecordingEngine()
    with _serving(lambda server: engine_pb2_grpc.add_EngineServicer_to_server(engine, server)) as address:
        servicer = Servicer(address)
        with (
            _serving(
                lambda server: provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
            ) as served,
            grpc.insecure_channel(served) as channel,
        ):
            driver = Driver(channel, engine)
            driver.configure(yaml.safe_dump(dict(kubeconfig)) if kubeconfig else "", **settings)
            yield driver


@contextlib.contextmanager
def _serving(add: Callable[[grpc.Server], None]) -> Iterator[str]:
    """The address of a gRPC server with one service."""
    server = grpc.server(futures.ThreadPoolExecutor(8))
    add(server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield address
    finally:
        server.stop(None).wait()
