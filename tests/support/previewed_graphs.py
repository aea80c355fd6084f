"""Previews without an engine: what a stack's program registers under mocks, as the engine would stream it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import yaml
from google.protobuf import json_format
from pulumi.runtime.mocks import MockMonitor

from tensorplane import stack
from tensorplane.cli.commands.preview.engine import Streamed
from tensorplane.components.base import stack_name
from tensorplane.components.base.settings import Settings
from tensorplane.stack_file import StackFile
from tests.support.rendering import PROJECT, Echo, without_what_nobody_reads

Event = dict[str, Any]

VERDICTS: list[Event] = [
    {
        "policyAnalyzeStackSummaryEvent": {
            "policyPackName": "tensorplane",
            "policyPackVersion": "0.1.0",
            "passed": ["gpu-quota"],
        }
    }
]


class _Recorder(MockMonitor):
    """Keeps the state that a preview would stream of each resource."""

    def __init__(self) -> None:
        super().__init__(Echo())
        self.states: dict[str, dict[str, Any]] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 (the gRPC method's name)
        answer = super().RegisterResource(request)  # type: ignore[no-untyped-call]
        if request.type != "pulumi:pulumi:Stack":
            state = {"inputs": _plain(request.object), "protect": request.protect, "parent": request.parent}
            self.states[answer.urn] = {**state, "retainOnDelete": request.retainOnDelete, "outputs": {}}
        return answer

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802 (the gRPC method's name)
        if request.urn in self.states:
            self.states[request.urn]["outputs"] = _plain(request.outputs)
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


def settings(path: Path) -> Mapping[str, Any]:
    """The settings of a stack's file, as a tree under `tensorplane:`."""
    config = yaml.safe_load(path.read_text())["config"]
    return {key.partition(":")[2]: value for key, value in config.items()}


def streamed(tree: Mapping[str, Any]) -> Streamed:
    """The preview of a stack `prod` with these settings."""
    recorder = _Recorder()
    stack_name.configure("")
    pulumi.runtime.set_mocks(Echo(), project="tensorplane", stack="prod", monitor=recorder)
    file = StackFile(config={f"tensorplane:{key}": value for key, value in tree.items()})

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def body() -> Any:
        return pulumi.Output.from_input(dict(stack.build(stack.load(Settings.of_file(file), PROJECT))))

    with without_what_nobody_reads():
        body()
    events = [_event(urn, state) for urn, state in sorted(recorder.states.items())]
    return Streamed([*events, *VERDICTS], failed=False)


def _plain(struct: Any) -> dict[str, Any]:
    # The keys of a message have no order; the engine sorts them.
    text = json.dumps(json_format.MessageToDict(struct), sort_keys=True)
    return dict(json.loads(text, parse_float=_number))


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _event(urn: str, state: Mapping[str, Any]) -> Event:
    token = urn.split("::")[2].rpartition("$")[2]
    return {"resourcePreEvent": {"metadata": {"op": "create", "urn": urn, "type": token, "new": state}}}
