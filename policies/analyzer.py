"""The pack as the engine sees it: what its rules are, their configuration, and what they report on a stack.

It speaks the engine's protocol itself. pulumi-policy (1.21), which does that for most packs, reads all resources of a
stack again for each rule, and each resource alone, twice, before that.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc
from engine_messages import analyzer_pb2 as messages
from engine_messages import plugin_pb2
from google.protobuf import empty_pb2
from stack_view.properties import to_plain
from stack_view.rule import Rule
from stack_view.view import View

_SERVICE = "pulumirpc.Analyzer"
_MESSAGE_LIMIT = 400 << 20
"""In bytes, as Pulumi's own."""
_VERSION = "0.0.1"
"""The engine shows that of PulumiPolicy.yaml."""


class Analyzer:
    """Answers the calls of the engine to one pack."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self._name, self._rules = name, rules
        self._configured: Mapping[str, tuple[messages.EnforcementLevel.ValueType, Mapping[str, Any]]] = {}
        """Level and configuration of each rule that the engine has configured."""

    def info(self, request: Any, context: Any) -> Any:
        """The rules, with the schemas of their configuration."""
        infos = [_info(rule) for rule in self._rules]
        return messages.AnalyzerInfo(name=self._name, version=_VERSION, supportsConfig=True, policies=infos)

    def configure(self, request: Any, context: Any) -> Any:
        """Takes the configuration of each rule: its default, or what the user gives."""
        configured = request.policyConfig.items()
        self._configured = {
            name: (policy.enforcementLevel, to_plain(policy.properties.fields)) for name, policy in configured
        }
        return empty_pb2.Empty()

    def analyze_stack(self, request: Any, context: Any) -> Any:
        """What the rules report."""
        view = View.of_messages(request.resources)
        return messages.AnalyzeResponse(
            diagnostics=[found for rule in self._rules for found in self._evaluate(rule, view)]
        )

    def _evaluate(self, rule: Rule, view: View) -> list[Any]:
        level, config = self._configured.get(rule.name, (_level(rule), {}))
        if level == messages.DISABLED:
            return []
        return [
            messages.AnalyzeDiagnostic(
                policyName=rule.name,
                policyPackName=self._name,
                policyPackVersion=_VERSION,
                description=rule.description,
                message=f"{rule.description}\n{message}",
                urn=urn,
                # A rule that evaluates the whole stack changes no resource.
                enforcementLevel=messages.MANDATORY if level == messages.REMEDIATE else level,
                severity=_severity(rule),
            )
            for message, urn in rule.evaluate(view, config)
        ]


def _info(rule: Rule) -> Any:
    found = messages.PolicyInfo(
        name=rule.name,
        displayName=rule.name.replace("-", " "),
        description=rule.description,
        enforcementLevel=_level(rule),
        severity=_severity(rule),
        policy_type=messages.POLICY_TYPE_STACK,
        tags=rule.tags,
        remediation_steps=rule.remedy,
    )
    if rule.config:
        found.configSchema.properties.update(rule.config)
    return found


def _level(rule: Rule) -> messages.EnforcementLevel.ValueType:
    level: messages.EnforcementLevel.ValueType = messages.EnforcementLevel.Value(rule.level.name)
    return level


def _severity(rule: Rule) -> messages.PolicySeverity.ValueType:
    found: messages.PolicySeverity.ValueType = messages.PolicySeverity.Value(f"POLICY_SEVERITY_{rule.severity.name}")
    return found


class _InlineExecutor(ThreadPoolExecutor):
    """Runs each function in the thread that submits it."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done."""
        done: Future[Any] = Future()
        done.set_result(function(*args, **kwargs))
        return done


class _EmptyAnswer:
    """Answers at once, and does not read the request."""

    experimental_thread_pool = _InlineExecutor()

    def __call__(self, _request: Any, context: Any) -> bytes:
        return b""


def handlers(analyzer: Analyzer) -> dict[str, grpc.RpcMethodHandler]:
    """The methods of the protocol.

    The engine calls Analyze and Remediate for each single resource, but every rule evaluates the whole stack. Analyze
    is declared as taking a stream, so that it answers before the resource arrives, in the thread that takes the call:
    reading the call and answering in another thread takes twice as long, more than all rules together. Remediate is
    missing, which the engine takes for an empty answer.
    """
    return {
        "Analyze": grpc.stream_unary_rpc_method_handler(_EmptyAnswer()),
        "AnalyzeStack": _method(analyzer.analyze_stack, messages.AnalyzeStackRequest.FromString),
        "GetAnalyzerInfo": _method(analyzer.info, None),
        "GetPluginInfo": _method(lambda _request, context: plugin_pb2.PluginInfo(version=_VERSION), None),
        "Configure": _method(analyzer.configure, messages.ConfigureAnalyzerRequest.FromString),
    }


def _method(handler: Callable[[Any, Any], Any], deserialize: Callable[[bytes], Any] | None) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(handler, deserialize, lambda message: message.SerializeToString())


def serve(name: str, rules: Sequence[Rule]) -> None:
    """Serves a pack until the engine ends the process."""
    options = [("grpc.max_receive_message_length", _MESSAGE_LIMIT)]
    server = grpc.server(ThreadPoolExecutor(max_workers=2), options=options)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, handlers(Analyzer(name, rules))),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    # There is nothing to clean up, and the engine waits for the end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print(port, flush=True)
    server.wait_for_termination()
