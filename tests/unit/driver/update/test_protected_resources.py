"""What a person reads where Pulumi refuses to delete what a setting protects: the setting, never `unprotect`."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.preview import events
from tensorplane.driver.update.protected_resources import has_undeclared, reword
from tensorplane.driver.update.stack import diagnostics

_STACK = "urn:pulumi:dev::tensorplane::"
_MODELS = f"{_STACK}tensorplane:index:Volume$kubernetes:core/v1:PersistentVolumeClaim::models"


def _deleted(urn: str) -> str:
    return (
        f'resource "{urn}" cannot be deleted\n'
        "because it is protected. To unprotect the resource, either remove the `protect` flag from the resource in "
        f"your Pulumi program and run `pulumi up`, or use the command:\n`pulumi state unprotect '{urn}'`"
    )


def _replaced(urn: str) -> str:
    return (
        f'unable to replace resource "{urn}"\n'
        "as it is currently marked for protection. To unprotect the resource, remove the `protect` flag from the "
        "resource in your Pulumi program and run `pulumi up`"
    )


@pytest.mark.parametrize(
    ("said", "begins", "advises"),
    [
        (_deleted(_MODELS), "volume models is protected (retain: true): its deletion is blocked", "declare it again"),
        (
            _replaced(_MODELS),
            "volume models is protected (retain: true): its replacement is blocked",
            "undo the change",
        ),
        (
            _deleted(f"{_STACK}tensorplane:index:Namespace$kubernetes:core/v1:Namespace::ml"),
            "namespace ml has protected volumes: its deletion is blocked",
            "keep the stack's namespace",
        ),
        (_deleted(f"{_STACK}kubernetes:core/v1:Namespace::vision"), "namespace vision is protected", "its team"),
        (
            _replaced(f"{_STACK}tensorplane:index:Cluster$azure-native:network:VirtualNetwork::cluster-vnet"),
            "VirtualNetwork cluster-vnet is protected: its replacement is blocked",
            "deletionProtection: false",
        ),
    ],
)
def test_a_refusal_is_one_line_about_the_setting(said: str, begins: str, advises: str) -> None:
    line = reword(f"Preview failed: {said}\n").strip()
    assert line.startswith(begins)
    assert advises in line
    assert "unprotect" not in line
    assert "urn:" not in line
    assert "\n" not in line


def test_text_around_it_and_other_errors_stay() -> None:
    other = 'resource "a" failed: the server says no'
    assert reword(f"before\n{_deleted(_MODELS)}\nafter {other}").splitlines()[::2] == ["before", f"after {other}"]


def test_a_failed_update_tells_it_so() -> None:
    indented = "\n".join(f"    {line}" for line in f"error: {_deleted(_MODELS)}".splitlines())
    output = f"x\nDiagnostics:\n  kubernetes:core/v1:PersistentVolumeClaim (models):\n{indented}\n\nResources:\n"
    heading, line = diagnostics(output)
    assert heading == "kubernetes:core/v1:PersistentVolumeClaim (models):"
    assert line.startswith("  volume models is protected (retain: true): its deletion is blocked")


def test_a_preview_tells_it_so() -> None:
    event = {"diagnosticEvent": {"severity": "error", "message": _deleted(_MODELS), "urn": _MODELS}}
    found = events.report("dev", [event], failed=True)
    (risk,) = found.risks
    assert risk.stops_update
    assert risk.text.startswith("volume models is protected (retain: true): its deletion is blocked")
    assert found.errors == (), "it is said once"


def test_a_hooks_message_is_shown_without_the_hooks_name() -> None:
    said = 'before hook "bring back what a retained volume held" failed: volume models is not made: it has 1Gi'
    assert reword(said) == "volume models is not made: it has 1Gi"


def _claim(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "kubernetes:core/v1:PersistentVolumeClaim", "id": f"ml/{name}", "protect": True, **more}


@pytest.mark.parametrize(
    ("resources", "given_up"),
    [
        ([], False),
        ([_claim("models")], False),
        ([_claim("models"), _claim("gone")], True),
        ([_claim("gone", protect=False)], False),
        ([_claim("gone", type="kubernetes:core/v1:Namespace")], False),
        ([_claim("models", id="elsewhere/models")], True),
    ],
)
def test_it_looks_first_where_a_retained_volume_is_given_up(resources: list[dict[str, Any]], given_up: bool) -> None:
    assert has_undeclared({"deployment": {"resources": resources}}, {"ml/models"}) == given_up
    assert not has_undeclared({"deployment": {}}, ())
