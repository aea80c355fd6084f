"""What an update would do to a recorded stack, without the engine: the program runs under Pulumi's mocks.

The differences are those of the provider that the engine asks in these tests. What the engine adds, such as aliases and
the replacement of what depends on a replaced resource, only its own previews show.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import pulumi
import pytest
from pulumi.runtime import rpc
from pulumi.runtime.mocks import MockMonitor

from tensorplane import stack
from tensorplane.plugins.kubernetes import kinds, paths
from tensorplane.workloads.training_job import deployed_runs
from tests.recorded import provider, recording, stacks
from tests.recorded.stacks import Step
from tests.support import computed
from tests.support.rendering import Echo, Registered, run, settings_of

_STACK = "pulumi:pulumi:Stack"
_PROVIDER = "pulumi:providers:"
_Ignored = dict[str, list[str]]


def steps(name: str, recorded: str) -> list[Step]:
    """The steps of a preview, as far as the verdict reads them."""
    deployed = recording.deployment(recorded, stacks.NAME, name)["deployment"]["resources"]
    before = {one["urn"]: one for one in deployed}
    ignored_by_runs: dict[str, list[str]] = {}
    after = _after(name, before, ignored_by_runs)
    return [
        *(_step(urn, before.get(urn), made, ignored_by_runs) for urn, made in after.items()),
        *({"op": "delete", "urn": urn, "oldState": one} for urn, one in before.items() if urn not in after),
    ]


def _after(name: str, before: Mapping[str, Any], ignored_by_runs: _Ignored) -> dict[str, Registered]:
    """What today's program registers, by URN."""
    (of_stack,) = (urn for urn in before if kinds.token(urn) == _STACK)
    outputs = {"outputs": before[of_stack].get("outputs", {}), "secretOutputNames": []}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORPLANE_HOME", stacks.INSTANCE_HOME)
        patch.setitem(computed.ADDED, "pulumi:pulumi:StackReference", lambda *_: outputs)
        patch.setattr(deployed_runs, "unchanged", _unchanged(ignored_by_runs))
        # The mocks answer as the provider does that made the recordings.
        patch.setattr(
            Echo, "new_resource", lambda _, of: (f"{of.name}-id", provider.created(of.typ, of.name, of.inputs))
        )
        patch.setattr(MockMonitor, "make_urn", lambda _, *parts: _urn(name, *parts))
        rendered = run(lambda: stack.build(stack.load(settings_of(stacks.FILES[name]))), name)
    found = {(each.type, each.name): each for each in rendered.resources}
    assert len(found) == len(rendered.urns) == len({*rendered.urns})
    made = {urn: found[kinds.token(urn), kinds.name(urn)] for urn in rendered.urns}
    return {of_stack: Registered(_STACK, kinds.name(of_stack), {}, {}), **made}


def _unchanged(ignored_by_runs: _Ignored) -> Callable[[pulumi.Output[bool]], pulumi.ResourceOptions]:
    """The mock calls no transforms: so that of a kept run says what it ignores, under a name that options then have."""
    real = deployed_runs.unchanged

    def unchanged(kept: pulumi.Output[bool]) -> pulumi.ResourceOptions:
        [transform] = real(kept).transforms or []
        run_name = f"run-{len(ignored_by_runs)}"
        ignored_by_runs[run_name] = []

        async def ignored() -> list[str]:
            args = pulumi.ResourceTransformArgs(True, "", "", {}, pulumi.ResourceOptions())
            result = await cast(Awaitable[pulumi.ResourceTransformResult | None], transform(args))
            return list(result.opts.ignore_changes or []) if result else []

        resolved: pulumi.Output[list[str]] = pulumi.Output.from_input(cast(Any, ignored()))
        resolved.apply(ignored_by_runs[run_name].extend)
        return pulumi.ResourceOptions(ignore_changes=[run_name])

    return unchanged


def _urn(name: str, parent: str, token: str, resource: str) -> str:
    """As the engine makes it: with the types of all parents but the stack, where the mock has the nearest one's."""
    outer = parent.split("::")[2] if parent else _STACK
    return f"urn:pulumi:{name}::{stacks.NAME}::{token if outer == _STACK else f'{outer}${token}'}::{resource}"


def _step(urn: str, old: Mapping[str, Any] | None, made: Registered, ignored_by_runs: _Ignored) -> Step:
    inputs = _plain(made.inputs)
    if made.type == provider.CONFIG_MAP:
        inputs = provider.with_digests(inputs)
    custom = made.type != _STACK and not made.type.startswith("tensorplane:")
    new = {"urn": urn, "custom": custom, "inputs": inputs}
    if old is None:
        return {"op": "create", "urn": urn, "newState": new}
    asked = made.options.get("ignoreChanges", [])
    ignored = [path for each in asked for path in ignored_by_runs.get(each, [each])]
    changes = _changes(urn, old, inputs, ignored) if custom else {}
    replacing = [path for path, kind in changes.items() if kind.endswith("_REPLACE")]
    operation = "replace" if replacing else "update" if changes else "same"
    details = {"detailedDiff": changes, "replaceReasons": replacing}
    return {"op": operation, "urn": urn, "oldState": old, "newState": new, **details}


def _changes(urn: str, old: Mapping[str, Any], news: dict[str, Any], ignored: list[str]) -> dict[str, str]:
    token = kinds.token(urn)
    if token.startswith(_PROVIDER):
        # The engine adds the version.
        version = {key: value for key, value in old["inputs"].items() if key == "version"}
        return provider.compared_settings(token, old["inputs"], {**version, **news})
    found, _ = provider.Servicer().compared(urn, old["id"], old["inputs"], old["outputs"], news, ignored)
    return {path: kind for path, kind in found.items() if not _covers(ignored, path)}


def _covers(ignored: list[str], path: str) -> bool:
    return any(paths.covers(paths.parse(each), paths.parse(path)) for each in ignored)


def _plain(value: Any) -> Any:
    """Without secret marks, as the recordings are."""
    if isinstance(value, Mapping):
        if value.get(rpc._special_sig_key) == rpc._special_secret_sig:
            return _plain(value["value"])
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
