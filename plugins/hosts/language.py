"""The Python language host: answers the Pulumi engine's LanguageRuntime calls and runs programs and policy packs."""

from __future__ import annotations

import functools
import json
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import LanguageRuntimeServicer, language_pb2, plugin_pb2

from tensorplane.core.errors import UserError
from tensorplane.plugins.hosts.child import Child, Children
from tensorplane.plugins.hosts.inside.program import EXIT_ERROR_SHOWN
from tensorplane.plugins.hosts.virtualenv import Interpreter, installation, interpreter
from tensorplane.toolchain import pulumi_plugins

VERSION = "0.1.0"
_PROGRAM = Path(__file__).parent / "inside" / "program.py"
_CHUNK = 1 << 16

Handler = TypeVar("Handler", bound=Callable[..., Any])


def _errors_are_answers(handler: Handler) -> Handler:
    """Turns a UserError into the call's error, which the CLI shows unchanged."""

    @functools.wraps(handler)
    def call(self: LanguageHost, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return handler(self, request, context)
        except UserError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "\n".join(error.lines))

    return call  # type: ignore[return-value]


class LanguageHost(LanguageRuntimeServicer):
    """One host serves one CLI process; the CLI starts it and ends it."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._children = Children()

    def close(self) -> None:
        """Ends every running program."""
        self._children.end()

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        self._engine = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        return plugin_pb2.PluginInfo(version=VERSION)

    @_errors_are_answers
    def GetRequiredPackages(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        found = pulumi_plugins.present(_interpreter(request.info).plugins())
        return language_pb2.GetRequiredPackagesResponse(
            packages=[
                plugin_pb2.PackageDependency(
                    name=plugin["name"], kind="resource", version=plugin["version"], server=plugin.get("server", "")
                )
                for plugin in found
            ]
        )

    @_errors_are_answers
    def GetProgramDependencies(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        packages = _interpreter(request.info).packages(transitive=request.transitiveDependencies)
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[language_pb2.DependencyInfo(name=p["name"], version=p["version"]) for p in packages]
        )

    @_errors_are_answers
    def About(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        python = _interpreter(request.info)
        return language_pb2.AboutResponse(
            executable=str(python.python), version=python.version(), metadata={"host": "tensorplane embedded"}
        )

    @_errors_are_answers
    def Run(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        python = _interpreter(request.info)
        child = self._start(
            context,
            python,
            ["-u", str(_PROGRAM)],
            cwd=request.pwd or request.info.program_directory,
            env=python.environment(os.environ),
        )
        child.send(json.dumps(_settings(request, self._engine)))
        code = child.wait()
        self._children.remove(child)
        if child.stopped:
            return language_pb2.RunResponse(error="the program was interrupted")
        return _outcome(code)

    @_errors_are_answers
    def RunPlugin(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        folder = request.info.program_directory
        if request.kind == "analyzer":
            # A pack runs in its own folder, which is its last argument.
            python = _interpreter(request.info, "PulumiPolicy.yaml")
            arguments, cwd = ["-u", *_policy_runner(request), folder], folder
        else:
            python = _interpreter(request.info, "PulumiPlugin.yaml")
            arguments, cwd = ["-u", folder, *request.args], request.pwd
        environment = dict(entry.split("=", 1) for entry in request.env) or os.environ
        child = self._start(context, python, arguments, cwd=cwd, env=python.environment(environment), capture=True)
        child.send("")
        return self._report(child)

    @_errors_are_answers
    def InstallDependencies(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        root = Path(request.info.root_directory)
        steps = installation(root, json_format.MessageToDict(request.info.options))
        return self._install(root, steps, context)

    def _install(
        self, root: Path, steps: list[tuple[Interpreter, list[str]]], context: grpc.ServicerContext
    ) -> Iterator[Any]:
        for python, arguments in steps:
            environment = python.environment(os.environ)
            child = self._start(context, python, arguments, cwd=str(root), env=environment, capture=True)
            child.send("")
            for part in self._report(child):
                if not part.HasField("exitcode"):
                    yield language_pb2.InstallDependenciesResponse(stdout=part.stdout, stderr=part.stderr)
                elif part.exitcode:
                    what = f"python {' '.join(arguments)}: exit status {part.exitcode}"
                    context.abort(grpc.StatusCode.FAILED_PRECONDITION, what)

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        self._children.stop()
        return empty_pb2.Empty()

    def _start(self, context: grpc.ServicerContext, python: Interpreter, arguments: list[str], **options: Any) -> Child:
        child = Child(python.python, arguments, **options)
        self._children.add(child)
        # The engine ends the call when it is done with the program, or when it dies.
        if not context.add_callback(child.stop):
            child.stop()
        return child

    def _report(self, child: Child) -> Iterator[Any]:
        """The child's output as it arrives, then its exit status."""
        parts: queue.Queue[Any] = queue.Queue()
        streams = {"stdout": child.process.stdout, "stderr": child.process.stderr}
        for name, stream in streams.items():
            threading.Thread(target=_read, args=(stream, name, parts), daemon=True).start()
        for _ in streams:
            while part := parts.get():
                yield language_pb2.RunPluginResponse(**part)
        yield language_pb2.RunPluginResponse(exitcode=child.wait())
        self._children.remove(child)


def _interpreter(info: Any, file: str = "Pulumi.yaml") -> Interpreter:
    return interpreter(Path(info.root_directory), json_format.MessageToDict(info.options), file=file)


def _policy_runner(request: Any) -> list[str]:
    """Arguments that make Python run a policy pack with the SDK; none if it needs nothing of it."""
    is_standalone = json_format.MessageToDict(request.info.options).get("standalone")
    return [] if is_standalone else ["-m", "pulumi.policy", *request.args]


def _settings(request: Any, engine: str) -> dict[str, Any]:
    root, program = request.info.root_directory, request.info.program_directory
    return {
        "program": os.path.normpath(Path(program) / request.info.entry_point),
        "arguments": list(request.args),
        "config": dict(request.config),
        "secret_keys": list(request.configSecretKeys),
        "remedy": f"install it with: python -m pip install -r {Path(root) / 'requirements.txt'}",
        "settings": {
            "project": request.project,
            "stack": request.stack,
            "monitor": request.monitor_address,
            "engine": engine,
            "parallel": request.parallel,
            "dry_run": request.dryRun,
            "organization": request.organization,
            "root_directory": root,
        },
    }


def _outcome(code: int) -> Any:
    if code == 0:
        return language_pb2.RunResponse()
    if code == EXIT_ERROR_SHOWN:
        return language_pb2.RunResponse(bail=True)
    how = f"exit status {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
    return language_pb2.RunResponse(error=f"the program ended without an error message: {how}")


def _read(stream: IO[bytes], name: str, parts: queue.Queue[Any]) -> None:
    with stream:
        while chunk := os.read(stream.fileno(), _CHUNK):
            parts.put({name: chunk})
    parts.put(None)
