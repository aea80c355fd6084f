"""What a person reads of a failed update: the resources and their errors, without Pulumi's notices."""

from __future__ import annotations

from embedded.deploy import diagnostics

_FAILED = """\
Updating (dev):
    kubernetes:core/v1:Namespace demo creating failed error: Namespace demo was not created: quota
Diagnostics:
  pulumi:pulumi:Stack (tensorplane-dev):
    warning: using pulumi-resource-kubernetes from $PATH at /x/pulumi-resource-kubernetes
    error: update failed
  kubernetes:core/v1:Namespace (demo):
    error: Namespace demo was not created: quota
      and a second line

Resources:
    1 unchanged

Duration: 2s
"""


def test_errors_come_with_their_resource_and_without_notices() -> None:
    assert diagnostics(_FAILED) == [
        "kubernetes:core/v1:Namespace (demo):",
        "  Namespace demo was not created: quota",
        "    and a second line",
    ]


def test_an_update_that_ended_before_its_first_resource_has_none() -> None:
    assert diagnostics("error: could not load the current stack: no such passphrase\n") == []
