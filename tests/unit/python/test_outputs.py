"""Leaves of settings take what other resources produce, and check it once it is known."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pytest

from tensorplane import stack
from tensorplane.components.base.model import In, Model, NonEmptyStr
from tensorplane.components.base.settings import Settings
from tensorplane.stack import team_settings
from tests.support.rendering import PROJECT, Rendered, in_a_loop, run, settings_of


class _Network(Model):
    allowed_cidrs: tuple[In[NonEmptyStr], ...] = ()


def _resolved(value: Callable[[], Any]) -> Any:
    """The value of the output that the settings keep in place of a value."""

    async def read() -> Any:
        (found,) = _Network(allowed_cidrs=(value(),)).allowed_cidrs
        assert isinstance(found, pulumi.Output)
        return await found.future()

    return in_a_loop(read)


def test_a_produced_value_stays_an_output() -> None:
    assert _resolved(lambda: pulumi.Output.from_input("10.0.0.0/8")) == "10.0.0.0/8"


@pytest.mark.parametrize(("value", "reason"), [(3, "valid string"), ("", "at least 1 character")])
def test_a_produced_value_that_the_settings_refuse_ends_the_program(value: object, reason: str) -> None:
    with pytest.raises(
        pulumi.RunError, match=rf"^allowedCidrs: a value of another resource is not allowed: .*{reason}"
    ):
        _resolved(lambda: pulumi.Output.from_input(value))


def test_the_message_does_not_show_a_secret() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        _resolved(lambda: pulumi.Output.secret(["hunter2"]))
    assert "hunter2" not in str(caught.value)


def _with_cluster(example: str, change: Callable[[dict[str, Any]], None]) -> Rendered:
    """What the stack of an example registers with another cluster. `change` is called where a program makes outputs."""
    settings = settings_of(PROJECT / "examples" / example)

    def program() -> Mapping[str, Any]:
        tree: dict[str, Any] = copy.deepcopy(dict(settings.tree))
        change(tree["cluster"])
        return stack.build(stack.load(Settings(tree)))

    return run(program)


@pytest.mark.parametrize("example", ["eks-data.yaml", "gke-volumes.yaml", "aks.yaml"])
@pytest.mark.parametrize("network", ["0.0.0.0/0", "128.0.0.0/1", "my office"])
def test_an_api_server_is_not_opened_to_everyone_by_another_resource(example: str, network: str) -> None:
    def widen(cluster: dict[str, Any]) -> None:
        allowed = ["203.0.113.0/24", pulumi.Output.secret(network)]
        cluster["endpoint"] = {"public": True, "allowedCidrs": allowed}

    refused = r"tensorplane:cluster\.endpoint\.allowedCidrs(\.1)?: a value of another resource is not allowed; use the"
    with pytest.raises(pulumi.RunError, match=refused) as caught:
        _with_cluster(example, widen)
    assert network not in str(caught.value)


def test_members_of_a_team_read_no_secret_of_another_resource() -> None:
    def name_owner(cluster: dict[str, Any]) -> None:
        cluster["tags"] = {"team": pulumi.Output.from_input("seen"), "owner": pulumi.Output.secret("hunter2")}

    published = _with_cluster("aks.yaml", name_owner).one("ConfigMap", f"vision-{team_settings.NAME}").inputs["data"]
    assert '"tags": {"team": "seen"}' in published[team_settings.SETTINGS]
