"""The stack built under Pulumi mocks: what it asked the engine to register."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import pulumi
import pulumi.runtime
from google.protobuf import json_format
from pulumi.runtime import mocks, rpc
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.proto import source_pb2

from tensorplane import stack_file
from tensorplane.components.base import stack_name
from tensorplane.components.base.settings import Settings
from tests.support import computed

PROJECT = Path(__file__).resolve().parents[2]
T = TypeVar("T")

GPU_IMAGE = "registry.example/train-gpu:2.21.0"
"""Training jobs with GPUs name an image of their own."""


@dataclass(frozen=True)
class Registered:
    """One resource as the engine was asked to register it."""

    type: str
    name: str
    inputs: Mapping[str, Any]
    options: Mapping[str, Any]
    hangs_on: frozenset[str] = frozenset()
    """What it is below, and what its inputs are taken from, as `Kind name`."""
    component: str = ""
    """The nearest component, itself included, as `Kind name`; empty outside of components."""


class Echo(pulumi.runtime.Mocks):
    """Resources come out as they went in, with what clouds and API servers add and the stack reads."""

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        assert args.token in computed.ANSWERED, f"the stack must not call providers, it called {args.token}"
        return dict(computed.ANSWERED[args.token]), []

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return f"{args.name}-id", computed.of(args.typ, args.name, args.inputs)


class Recorder(MockMonitor):
    """Keeps what a mock does not hand on: the options of each registration."""

    def __init__(self) -> None:
        super().__init__(Echo())
        self.registered: list[Registered] = []
        self.completed: dict[str, Mapping[str, Any]] = {}
        self.urns: list[str] = []
        self._components: dict[str, str] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  # the gRPC method's name
        answer = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        if request.type != "pulumi:pulumi:Stack":
            inputs = rpc.deserialize_properties(request.object)
            is_component = request.type.startswith("tensorplane:")
            component = _of_urn(answer.urn) if is_component else self._components.get(request.parent, "")
            self._components[answer.urn] = component
            made = Registered(request.type, request.name, inputs, _options(request), _hangs_on(request), component)
            self.registered.append(made)
            self.urns.append(answer.urn)
        return answer

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802  # the gRPC method's name
        kind, name = _kind_and_name(request.urn)
        if kind != "pulumi:pulumi:Stack":
            self.completed[f"{kind} {name}"] = json_format.MessageToDict(request.outputs)
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


def _kind_and_name(urn: str) -> tuple[str, str]:
    *_, kinds, name = urn.split("::")
    return kinds.split("$")[-1], name


def _hangs_on(request: Any) -> frozenset[str]:
    taken = (urn for one in request.propertyDependencies.values() for urn in one.urns)
    return frozenset(_of_urn(urn) for urn in (*taken, request.parent) if urn)


def _of_urn(urn: str) -> str:
    kind, name = _kind_and_name(urn)
    return f"{kind.split(':')[-1]} {name}"


def _options(request: Any) -> dict[str, Any]:
    """The options that matter, without the defaults; names instead of URNs."""
    parent = _kind_and_name(request.parent) if request.parent else ("", "")
    options = {
        "parent": "" if parent[0] == "pulumi:pulumi:Stack" else parent[1],
        "provider": request.provider.split("::")[-2] if request.provider else "",
        "dependsOn": sorted(_of_urn(urn) for urn in request.dependencies),
        "protect": request.protect,
        "retainOnDelete": request.retainOnDelete,
        "beforeDelete": list(request.hooks.before_delete),
        "ignoreChanges": sorted(request.ignoreChanges),
        "replaceOnChanges": sorted(request.replaceOnChanges),
        "deleteBeforeReplace": request.deleteBeforeReplace,
    }
    return {key: value for key, value in options.items() if value}


@dataclass(frozen=True)
class Rendered:
    """Everything that a program registered, and what it exported."""

    resources: list[Registered]
    exports: Mapping[str, Any]
    completed: Mapping[str, Mapping[str, Any]]
    """What components registered as outputs, by `token name`."""
    urns: list[str]
    """Of all of them: the engine takes none twice."""
    secret: frozenset[str] = frozenset()
    """The exports that the engine encrypts."""

    def one(self, kind: str, name: str | None = None) -> Registered:
        """The only resource of a type whose token ends so, and of this name where one is given."""
        found = [r for r in self.resources if r.type.endswith(f":{kind}") and name in (None, r.name)]
        assert len(found) == 1, f"{len(found)} resources of kind {kind}, name {name}"
        return found[0]

    def all(self, kind: str) -> list[Registered]:
        """The resources of a type whose token ends so, by name."""
        return sorted((r for r in self.resources if r.type.endswith(f":{kind}")), key=lambda r: r.name)


Program = Callable[[], Mapping[str, Any] | None]
Render = Callable[[Program], Rendered]
Golden = Callable[[str, Rendered], None]


@contextlib.contextmanager
def without_what_nobody_reads() -> Iterator[None]:
    """Leaves out what the SDK works on for long, and this engine does not take."""
    # An Azure resource has a former name for each version of its API. The SDK makes URNs of them for engines that take
    # no names, which this one does, and of what a test takes they would be two thirds.
    without_urns = mock.patch.object(pulumi.resource, "collapse_alias_to_urn", lambda *_: "")
    # Nor does anybody look at the lines that made a resource, and below pytest the stack is deep.
    without_stacks = mock.patch.object(pulumi.runtime.resource, "_get_stack_trace", source_pb2.StackTrace)
    # Nor at its lines for debugging, each of which is a task. All values are known: nothing is previewed.
    without_debugging = mock.patch.object(pulumi.log, "debug", lambda *_, **__: None)
    without_unknowns = mock.patch.object(rpc, "contains_unknowns", lambda _: False)
    # The mocks answer at once: no call needs a thread and an event loop of its own.
    without_threads = mock.patch.object(asyncio.BaseEventLoop, "run_in_executor", _at_once)
    with without_urns, without_stacks, without_debugging, without_unknowns, without_threads:
        yield


def _at_once(loop: asyncio.BaseEventLoop, _: object, function: Callable[..., Any], *given: Any) -> asyncio.Future[Any]:
    answer: asyncio.Future[Any] = loop.create_future()
    with mock.patch.object(mocks, "_sync_await", _ended):
        try:
            answer.set_result(function(*given))
        except Exception as error:
            answer.set_exception(error)
    return answer


def _ended(serializing: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing, because what it serializes is plain."""
    try:
        serializing.send(None)
    except StopIteration as ended:
        value: T = ended.value
        return value
    raise AssertionError("a mock's answer has an output in it")


def in_a_loop(awaited: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine in a loop of its own: the SDK's mocks need that of the thread."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(awaited())
    finally:
        _report_nothing(loop)
        loop.close()


def _report_nothing(loop: asyncio.AbstractEventLoop) -> None:
    """Of the futures of a failed program, nobody awaits most. Python reports each when it is collected, and formatting
    its traceback parses sources: a SystemError, if the collection interrupts `ast.parse` of another test."""
    loop.set_exception_handler(lambda *_: None)


def run(program: Program, stack: str = "dev") -> Rendered:
    """Run a program as Pulumi would, against a recording mock."""
    recorder = Recorder()
    exports: dict[str, Any] = {}
    secret: set[str] = set()
    loops: list[asyncio.AbstractEventLoop] = []
    stack_name.configure("")
    pulumi.runtime.set_mocks(Echo(), project="tensorplane", stack=stack, monitor=recorder)

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def body() -> Any:
        loops.append(asyncio.get_event_loop())
        made = program() or {}
        told = pulumi.Output.from_input(dict(made)).apply(exports.update)
        secrets: pulumi.Output[list[str]] = pulumi.Output.from_input(_secrets(made))
        return pulumi.Output.all(told, secrets.apply(secret.update))

    with without_what_nobody_reads():
        try:
            body()
        except Exception:
            for loop in loops:
                _report_nothing(loop)
            raise
    return Rendered(
        sorted(recorder.registered, key=lambda r: (r.type, r.name)),
        exports,
        recorder.completed,
        recorder.urns,
        frozenset(secret),
    )


async def _secrets(exported: Mapping[str, Any]) -> Any:
    return [name for name, each in exported.items() if isinstance(each, pulumi.Output) and await each.is_secret()]


def settings_of(path: Path) -> Settings:
    """The settings in a stack's file, as Pulumi would hand them over."""
    settings = Settings.of_file(stack_file.read(path))
    # An example is a stack of this project, once its file is copied there.
    return replace(settings, folder=PROJECT if path.parent == PROJECT / "examples" else settings.folder)
