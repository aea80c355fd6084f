"""What counts as drift, in the events of a preview that reads every resource first, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.drift import command
from tensorplane.cli.commands.drift import command as drift_command
from tensorplane.cli.commands.drift.command import DriftReport
from tests.hosts.preview_events import SECRET

_DEPLOYMENT = "kubernetes:apps/v1:Deployment"
_SECRET = "kubernetes:core/v1:Secret"

Event = dict[str, Any]


def _read(before: Event, after: Event | None, token: str = _DEPLOYMENT, name: str = "server", **more: Any) -> Event:
    """What the engine says when it has read a resource."""
    old, new = ({"custom": True, "inputs": state} if state is not None else None for state in (before, after))
    metadata = {"op": "refresh", "urn": f"urn:pulumi:dev::tensorplane::{token}::{name}", "type": token}
    return {"resOutputsEvent": {"metadata": {**metadata, "old": old, "new": new, **more}}}


def _planned(operation: str, token: str = _DEPLOYMENT, name: str = "server") -> Event:
    """What the engine says an update would do afterwards."""
    urn = f"urn:pulumi:dev::tensorplane::{token}::{name}"
    return {"resourcePreEvent": {"metadata": {"op": operation, "urn": urn, "type": token}}}


def _lines(*events: Event) -> list[str]:
    return drift_command.lines(command.drift_of(events), "dev")


@pytest.mark.parametrize(
    ("before", "after", "operation", "says"),
    [
        ({"a": 1}, {"a": 2}, "update", "Deployment server was changed: a 1 → 2"),
        ({"a": 1, "b": {"c": 1}}, {"b": {"c": 1, "d": "x"}}, "update",
         'Deployment server was changed: a 1 was removed; b.d "x" was added'),
        ({"a": 1}, None, "create", "Deployment server was deleted"),
        ({"a": 1}, {"a": 2}, "replace", "Deployment server was changed: a 1 → 2"),
    ],
)  # fmt: skip
def test_what_an_update_would_repair_is_drift(before: Event, after: Event | None, operation: str, says: str) -> None:
    repair = "1 resource differs from the deployed state; to repair: make up REFRESH=1"
    assert _lines(_read(before, after), _planned(operation)) == [says, repair]


def test_what_something_else_owns_is_no_drift() -> None:
    assert _lines(_read({"replicas": 1}, {"replicas": 5}), _planned("same")) == ["No drift."]


def test_outputs_that_the_cluster_sets_are_no_drift() -> None:
    event = _read({"a": 1}, {"a": 1})
    event["resOutputsEvent"]["metadata"]["new"]["outputs"] = {"status": {"ready": 1}}
    assert _lines(event, _planned("same")) == ["No drift."]


def test_settings_that_are_not_deployed_yet_are_named_apart() -> None:
    assert _lines(_read({"a": 1}, {"a": 1}), _planned("update"), _planned("create", name="new")) == [
        "No drift.",
        "The settings are newer than the deployed state (2 resources): make preview",
    ]


def test_no_secret_is_shown() -> None:
    events = [
        _read({"data": {"x": "plain old"}}, {"data": {"x": "plain new"}}, _SECRET, "token"),
        _planned("update", _SECRET, "token"),
        _read({"a": SECRET}, {"a": 1}, name="other"),
        _planned("update", name="other"),
    ]
    lines = _lines(*events)
    assert lines[:2] == [
        'Deployment other was changed: a "[secret]" → 1',
        "Secret token was changed: data.x [secret] → [secret]",
    ]
    assert lines[2] == "2 resources differ from the deployed state; to repair: make up REFRESH=1"


def test_the_report_of_a_stack_without_drift_says_so() -> None:
    assert drift_command.markdown(DriftReport((), 0), "prod") == "# Drift of stack `prod`\n\nNo drift.\n"


def test_the_report_lists_what_has_drifted_and_the_command_for_the_stack() -> None:
    drift = command.drift_of([_read({"a": 1}, None), _planned("create")])
    assert drift_command.markdown(drift, "prod") == (
        "# Drift of stack `prod`\n\n- Deployment server was deleted\n\n"
        "1 resource differs from the deployed state; to repair: make up STACK=prod REFRESH=1\n"
    )
