"""Serves the rules to the engine.

pulumi-policy's own server (1.21) reads all resources of a stack again for each of its rules, and each resource alone,
twice, before that. Every rule of this pack judges the whole stack, so here a stack is read once, and a single resource
not at all. What the engine asks about the pack and its configuration, pulumi-policy answers.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime import proto
from pulumi_policy import EnforcementLevel
from pulumi_policy import policy as framework
from stack_view.rule import Rule
from stack_view.view import View

_SERVICE = "pulumirpc.Analyzer"
_MESSAGE_LIMIT = 400 << 20
"""In bytes, as pulumi-policy's."""
_VERSION = "0.0.1"
"""The engine shows that of PulumiPolicy.yaml."""


class _Analyzer(framework._PolicyAnalyzerServicer):
    """The pack's answers."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        super().__init__(name, _VERSION, list(rules), EnforcementLevel.MANDATORY)
        self._rules = rules

    def AnalyzeStack(self, request: Any, context: Any) -> Any:  # noqa: N802
        """What the rules report on the stack."""
        response = proto.AnalyzeResponse()
        view = View.of_messages(request.resources)
        for rule in self._rules:
            level = self._get_enforcement_level(rule)
            if level is not EnforcementLevel.DISABLED:
                about = rule.name, rule.description, level, rule.severity
                report = self._create_report_violation(response, *about)
                rule.judge(view, self._get_policy_config(rule.name) or {}, report)
        return response


def _handlers(analyzer: _Analyzer) -> dict[str, grpc.RpcMethodHandler]:
    """A method that is missing here is unimplemented: the engine then takes it that the pack remediates nothing, which
    costs half of an empty answer, once per resource."""

    def answering(name: str, request: Any) -> grpc.RpcMethodHandler:
        return _method(getattr(analyzer, name), request.FromString)

    return {
        "Analyze": _method(lambda unread, context: proto.AnalyzeResponse(), None),
        "AnalyzeStack": answering("AnalyzeStack", proto.AnalyzeStackRequest),
        "GetAnalyzerInfo": answering("GetAnalyzerInfo", empty_pb2.Empty),
        "GetPluginInfo": answering("GetPluginInfo", empty_pb2.Empty),
        "Configure": answering("Configure", proto.ConfigureAnalyzerRequest),
        "ConfigureStack": answering("ConfigureStack", proto.AnalyzerStackConfigureRequest),
    }


def _method(answer: Callable[[Any, Any], Any], read: Callable[[bytes], Any] | None) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(answer, read, lambda message: message.SerializeToString())


def serve(name: str, rules: Sequence[Rule]) -> None:
    """Serves a pack until the engine ends the process."""
    analyzer = _Analyzer(name, rules)
    server = grpc.server(
        ThreadPoolExecutor(max_workers=2), options=[("grpc.max_receive_message_length", _MESSAGE_LIMIT)]
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, _handlers(analyzer)),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    # There is nothing to clean up, and the engine waits for the end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print(port, flush=True)
    server.wait_for_termination()
