"""What `retain` says can change while a volume is in use: it stays the same volume."""

from __future__ import annotations

from typing import Any

from tensorplane import stack
from tests.support.rendering import Rendered, run

CEPH = {"kind": "cephfs"}


def made(*, retain: bool) -> Rendered:
    cluster = {"kind": "existing", "context": "kind-dev"}
    volume: dict[str, Any] = {"sizeGib": 1, "backend": CEPH, "retain": retain}
    tree = {"cluster": cluster, "volumes": {"models": volume}}
    return run(lambda: stack.build(stack.ResolvedStack.of(stack.StackConfig.model_validate(tree))))


def test_a_volume_is_not_replaced_when_it_may_be_deleted_or_must_not_be_any_more() -> None:
    kept, loose = made(retain=True), made(retain=False)
    claims = [found.one("PersistentVolumeClaim", "models") for found in (kept, loose)]
    # Kubernetes lets no claim have another class, so Pulumi would delete it and make an empty one.
    assert claims[0].inputs == claims[1].inputs
    assert [claim.options.get("protect") for claim in claims] == [True, None]


def test_its_class_stays_as_it_was_made() -> None:
    classes = [made(retain=retain).one("StorageClass", "tensorplane-dev-models") for retain in (True, False)]
    assert [one.inputs["reclaimPolicy"] for one in classes] == ["Retain", "Delete"]
    assert [one.options["ignoreChanges"] for one in classes] == [["reclaimPolicy"]] * 2
