"""The annotations that steer waiting.

Source: pulumi-kubernetes CHANGELOG 4.18.0 (`pulumi.com/waitFor`), provider/pkg/metadata/overrides.go and
provider/pkg/jsonpath/jsonpath.go at v4.32.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.plugins.kubernetes import await_annotations, await_generic, await_kinds, await_ready

Object = dict[str, Any]


def an_object(wait_for: Any = None, *, status: Any = None, kind: str = "JobSet", **annotations: str) -> Object:
    """A custom resource unless told otherwise; annotation names come without the `pulumi.com/` prefix."""
    named = {f"pulumi.com/{name}": value for name, value in annotations.items()}
    if wait_for is not None:
        named["pulumi.com/waitFor"] = wait_for if isinstance(wait_for, str) else json.dumps(wait_for)
    api_version = "v1" if kind in ("Pod", "ConfigMap") else "jobset.x-k8s.io/v1alpha2"
    metadata = {"name": "it", "generation": 2, "annotations": named}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "status": status or {}}


def holds(obj: Object) -> bool:
    check = await_annotations.wait_for(obj)
    assert check is not None
    return check(obj, {}).ready


@pytest.mark.parametrize(
    ("expression", "status", "expected"),
    [
        ("jsonpath={.status.phase}=Running", {"phase": "Running"}, True),
        ("jsonpath={.status.phase}=Running", {"phase": "Pending"}, False),
        ("jsonpath={.status.phase}=Running", {}, False),
        ("jsonpath={.status.phase}", {"phase": "Pending"}, True),
        ("jsonpath={.status.phase}", {}, False),
        ("jsonpath={ .status.phase }=Running", {"phase": "Running"}, True),
        ("jsonpath={$.status.phase}=Running", {"phase": "Running"}, True),
        ("jsonpath={.status.readyToUse}=true", {"readyToUse": True}, True),
        ("jsonpath={.status.count}=3", {"count": 3}, True),
        ("jsonpath={.status.hooks[*].ca}", {"hooks": [{}, {"ca": "x"}]}, True),
        ("jsonpath={.status.hooks}", {"hooks": [{}]}, True),
        ("jsonpath={.status.list[?(@.type=='Ready')].ok}=True", {"list": [{"type": "Ready", "ok": "True"}]}, True),
        ("condition=Ready", {"conditions": [{"type": "Ready", "status": "True"}]}, True),
        ("condition=ready=true", {"conditions": [{"type": "Ready", "status": "True"}]}, True),
        ("condition=Ready", {"conditions": [{"type": "Ready", "status": "False"}]}, False),
        ("condition=Failed=False", {"conditions": [{"type": "Failed", "status": "False"}]}, True),
        ("condition=Ready", {}, False),
    ],
)  # fmt: skip
def test_wait_for_expressions(expression: str, status: Object, expected: bool) -> None:
    assert holds(an_object(expression, status=status)) is expected


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_a_list_of_expressions_must_hold_in_full(values: list[bool]) -> None:
    status = {f"f{n}": value for n, value in enumerate(values)}
    expressions = [f"jsonpath={{.status.{name}}}=true" for name in status]
    assert holds(an_object(expressions, status=status)) is all(values)


@pytest.mark.parametrize("expression", ["jsonpath={.status.phase}=Running", "condition=Ready"])
def test_a_status_of_an_older_generation_does_not_count(expression: str) -> None:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "observedGeneration": 1}
    assert not holds(an_object(expression, status=status))
    assert holds(an_object(expression, status=status | {"observedGeneration": 2}))


def test_a_conditions_own_generation_goes_before_the_status() -> None:
    """condition/kubectl.go: getObservedGeneration looks at the condition first."""
    ready = {"type": "Ready", "status": "True", "observedGeneration": 1}
    assert not holds(an_object("condition=Ready", status={"conditions": [ready], "observedGeneration": 2}))


@pytest.mark.parametrize(
    "value",
    [
        "[]",
        ".status.phase=Running",
        "jsonpath=.status.phase",
        "jsonpath='{.status.phase}'",
        "jsonpath={.status.phase}=",
        "jsonpath={.status.phase[}",
        '["jsonpath={.a}", "Ready"]',
    ],
)
def test_a_malformed_expression_is_named(value: str) -> None:
    message = await_ready.check_annotations(an_object(value))
    assert message.startswith("pulumi.com/waitFor: ")
    assert "\n" not in message


def test_comparing_a_list_with_a_value_is_an_error() -> None:
    check = await_annotations.wait_for(an_object("jsonpath={.status.list}=3"))
    assert check is not None
    with pytest.raises(ValueError, match=r"\.status\.list"):
        check(an_object(status={"list": [3]}), {})


@pytest.mark.parametrize(
    ("custom", "annotation", "expected"),
    [(30, "20", 30), (None, "20", 20), (0, "20", 20), (None, "soon", 600), (None, "1.5", 600), (None, "", 600)],
)
def test_timeout_order_is_custom_then_annotation_then_default(
    custom: float | None, annotation: str, expected: float
) -> None:
    obj = an_object(timeoutSeconds=annotation)
    assert await_annotations.timeout_seconds(obj, custom, 600) == expected


def test_custom_resources_are_not_awaited_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_K8S_AWAIT_ALL", raising=False)
    assert await_kinds.awaiter(an_object()) is None
    assert await_kinds.awaiter(an_object("condition=Completed")) is not None
    monkeypatch.setenv("PULUMI_K8S_AWAIT_ALL", "true")
    assert await_kinds.awaiter(an_object()) is await_generic.AWAITER


def test_skip_await_goes_before_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """CHANGELOG 4.18.0: "the `pulumi.com/skipAwait` annotation still takes precedence"."""
    monkeypatch.setenv("PULUMI_K8S_AWAIT_ALL", "true")
    assert await_kinds.awaiter(an_object("condition=Ready", skipAwait="true")) is None
    assert await_kinds.awaiter(an_object(kind="Pod", skipAwait="true")) is None
    assert await_kinds.awaiter(an_object(kind="Pod", skipAwait="True")) is not None


def test_wait_for_goes_before_the_built_in_rule() -> None:
    pod = an_object("jsonpath={.status.phase}=Running", kind="Pod", status={"phase": "Running"})
    awaiter = await_kinds.awaiter(pod)
    assert awaiter is not None
    assert awaiter.check(pod, {}).ready


def test_skip_await_skips_the_wait_for_deletion_of_the_old_kinds_only() -> None:
    """overrides.go: allowsSkipAwaitWithDelete."""
    assert not await_kinds.deletion_is_awaited(an_object(kind="Pod", skipAwait="true"))
    assert await_kinds.deletion_is_awaited(an_object(kind="Pod"))
    assert await_kinds.deletion_is_awaited(an_object(kind="ConfigMap", skipAwait="true"))
    assert await_kinds.deletion_is_awaited(an_object(skipAwait="true"))


@pytest.mark.parametrize(
    ("status", "ready", "failed"),
    [
        ({}, True, False),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, True, False),
        ({"conditions": [{"type": "Ready", "status": "False", "message": "no"}]}, False, False),
        ({"conditions": [{"type": "Ready", "status": "Unknown"}]}, False, False),
        ({"conditions": [{"type": "Reconciling", "status": "True"}]}, False, False),
        ({"conditions": [{"type": "Stalled", "status": "True", "message": "bad"}]}, False, True),
        ({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}, False, False),
    ],
)
def test_generic_readiness_follows_kstatus(status: Object, ready: bool, failed: bool) -> None:
    """CHANGELOG 4.18.0: generic readiness is "determined by cli-utils", whose README lists these rules."""
    verdict = await_generic.check(an_object(status=status), {})
    assert (verdict.ready, verdict.failed) == (ready, failed)
