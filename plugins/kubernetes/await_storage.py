"""Readiness of storage: a claim is bound, or waits for its first consumer by its class; a volume is available."""

from __future__ import annotations

from tensorplane.plugins.kubernetes.await_result import Awaiter, CheckResult, Lookup, Object, Related, dig, full_name


def check_claim(claim: Object, related: Related) -> CheckResult:
    """Bound; or Pending if the class has WaitForFirstConsumer, since an update creates no pod."""
    name = full_name(claim)
    phase = dig(claim, "status", "phase", default="")
    if phase == "Bound":
        return CheckResult(True, f"PersistentVolumeClaim {name!r} is bound")
    class_name = dig(claim, "spec", "storageClassName", default="")
    classes = [found for found in related.get("StorageClass", ()) if dig(found, "metadata", "name") == class_name]
    if phase == "Pending" and any(found.get("volumeBindingMode") == "WaitForFirstConsumer" for found in classes):
        return CheckResult(True, f"PersistentVolumeClaim {name!r} waits for its first consumer")
    if phase == "Lost":
        return CheckResult(False, f"PersistentVolumeClaim {name!r} is lost", ("the volume behind the claim is gone",))
    reasons = (f"the claim is {phase or 'new'}; its storage class is {class_name!r}",)
    if class_name and not classes:
        reasons = (f"the claim is {phase or 'new'}; no StorageClass {class_name!r} exists",)
    return CheckResult(False, f"Waiting for PersistentVolumeClaim {name!r} to be bound", reasons)


def check_volume(volume: Object, related: Related) -> CheckResult:
    name = full_name(volume)
    phase = dig(volume, "status", "phase", default="Pending")
    if phase in ("Available", "Bound"):
        return CheckResult(True, f"PersistentVolume {name!r} is {phase.lower()}")
    reason = dig(volume, "status", "message") or f"the volume is {phase}"
    return CheckResult(False, f"Waiting for PersistentVolume {name!r} to be available", (reason,))


CLAIM = Awaiter(check_claim, (Lookup("storage.k8s.io/v1", "StorageClass", namespaced=False),), timeout_seconds=300)
VOLUME = Awaiter(check_volume, timeout_seconds=300)
