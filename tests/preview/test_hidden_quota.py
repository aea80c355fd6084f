"""200 ways to hide GPUs from the quota, in one preview of the real engine: all are counted or refused.

What can be counted is registered twice, the second time with its numbers as secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from tests.policies import hidden
from tests.policies.hidden import Trick
from tests.policies.stacks import UNKNOWN_NUMBER, UNKNOWN_OBJECT
from tests.preview.conftest import Previewed

pytestmark = pytest.mark.nightly("told without an engine by tests/policies/test_hidden.py")

_PROGRAM = """
import asyncio
import json

import pulumi
import pulumi_kubernetes as k8s

unset = asyncio.Future()
unset.set_result(None)
no = asyncio.Future()
no.set_result(False)
later = pulumi.Output(set(), unset, no)
provider = k8s.Provider("cluster", kubeconfig=later)
made = {}


class Component(pulumi.ComponentResource):
    def __init__(self, token, name, props, opts):
        super().__init__(token, name, {}, opts)
        self.register_outputs(props)


def given(value, secret):
    if isinstance(value, dict):
        return {key: given(each, secret) for key, each in value.items()}
    if isinstance(value, list):
        return [given(each, secret) for each in value]
    if value in UNKNOWN:
        return later
    if secret and isinstance(value, (int, float)) and not isinstance(value, bool):
        return pulumi.Output.secret(value)
    return value


def register(resource, secret):
    token, name = resource["type"], resource["name"] + ("-secret" if secret else "")
    parent = made.get(resource["parent"] + ("-secret" if secret else ""))
    props = resource["props"]
    if token.startswith("tensorplane:") or ":yaml" in token:
        made.setdefault(name, Component(token, name, given(props, secret), pulumi.ResourceOptions(parent=parent)))
        return
    module, kind = token.split(":")[1:]
    if module.partition("/")[0] != "helm.sh":
        typed = {"apiVersion": module.removeprefix("core/"), "kind": kind.removesuffix("Patch")}
        props = {**typed, **props}
    if secret:
        props = {**props, "metadata": {**props["metadata"], "namespace": props["metadata"]["namespace"] + "-secret"}}
    opts = pulumi.ResourceOptions(parent=parent, provider=provider)
    made.setdefault(name, pulumi.CustomResource(token, name, given(props, secret), opts))


for trick in json.loads(TRICKS):
    for secret in (False, True) if trick["gpus"] is not None else (False,):
        for resource in trick["resources"]:
            register(resource, secret)
"""


def _program(tricks: Sequence[Trick]) -> str:
    listed = json.dumps([{"gpus": each.gpus, "resources": each.resources} for each in tricks])
    return f"TRICKS = {listed!r}\nUNKNOWN = {[UNKNOWN_NUMBER, UNKNOWN_OBJECT]!r}\n{_PROGRAM}"


def _is_known_here(trick: Trick) -> bool:
    """Whether all its resources are Kubernetes' own: the engine has no plugin of other providers, such as Argo CD's."""
    packages = {each["type"].replace("kubernetes:index/", "terraform:").partition(":")[0] for each in trick.resources}
    return packages <= {"kubernetes", "tensorplane"}


def test_every_trick_is_counted_or_refused(previewed: Previewed) -> None:
    tricks = [each for each in hidden.tricks() if _is_known_here(each)]
    found = previewed(_program(tricks))
    assert found.errors == ()
    assert found.violates_policy
    (quota,) = [verdict for verdict in found.policy_results if verdict.policy == "gpu-quota"]
    told = "\n".join(quota.messages)
    (requested,) = re.findall(r"request (\d+) GPUs; the quota is 0", told)
    # A trick that is refused may also request GPUs that are counted.
    assert int(requested) >= 2 * sum(each.gpus or 0 for each in tricks)
    refused = [each for each in tricks if each.gpus is None]
    more = [message for message in quota.messages if message.startswith("and ")]
    assert more, told
    assert int(more[0].split()[1]) + 5 >= len(refused)
