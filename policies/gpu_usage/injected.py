"""Objects that add accelerators to pods: defaults, mutations, instance types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_usage import accelerators, devices
from gpu_usage.manifest import UNKNOWN, Manifest, UncountableError, items, part, unknown

# Fields that a mutation may change without changing a pod.
_NO_PODS = frozenset(
    {
        *(
            "configmaps",
            "endpoints",
            "endpointslices",
            "events",
            "ingresses",
            "leases",
            "namespaces",
            "networkpolicies",
        ),
        *("nodes", "persistentvolumeclaims", "persistentvolumes", "secrets", "serviceaccounts", "services"),
    }
)


def refuse(manifest: Manifest) -> None:
    """Raises UncountableError if the object may add accelerators to pods."""
    if manifest.type in _KINDS:
        _KINDS[manifest.type](manifest)


def _limit_range(manifest: Manifest) -> None:
    for limit in items(part(manifest.body, "spec"), "limits", ("spec",)):
        for key in ("default", "defaultRequest"):
            for name, amount in part(limit, key, ("spec", "limits")).items():
                if accelerators.is_asked(name) and amount not in (0, "0"):
                    problem = f"it gives {name} to every container that requests none"
                    raise UncountableError(problem, f"remove it from `{key}`, and request it in the containers' limits")


def _admission_policy(manifest: Manifest) -> None:
    _mutation([part(part(manifest.body, "spec"), "matchConstraints", ("spec",))], "resourceRules")


def _webhooks(manifest: Manifest) -> None:
    _mutation(items(manifest.body, "webhooks"), "rules")


def _mutation(matches: list[Mapping[str, object]], key: str) -> None:
    for match in matches:
        rules = items(match, key)
        touched = [each for rule in rules for each in _strings(rule)]
        if not touched or not _NO_PODS.issuperset(each.partition("/")[0] for each in touched):
            problem = "it may add GPUs to pods at admission, where no policy sees it"
            raise UncountableError(problem, "set what it adds in the manifests, or name no resources that run pods")


def _strings(rule: Mapping[str, object]) -> list[str]:
    resources = rule.get("resources")
    if resources is UNKNOWN:
        raise unknown(("resources",))
    return [str(each) for each in resources] if isinstance(resources, list) else ["*"]


def _virtual_machine(manifest: Manifest) -> None:
    spec = part(manifest.body, "spec")
    inner = part(part(spec, "virtualMachineTemplate"), "spec")
    if spec.get("instancetype") or inner.get("instancetype"):
        problem = "its instancetype may hold GPUs, which are not known here"
        raise UncountableError(problem, "write cpu, memory and devices into the virtual machine itself")


_KINDS: Mapping[tuple[str, str], Callable[[Manifest], None]] = {
    ("core", "LimitRange"): _limit_range,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): _admission_policy,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _webhooks,
    ("resource.k8s.io", "DeviceClass"): devices.refuse_class,
    ("kubevirt.io", "VirtualMachine"): _virtual_machine,
    ("pool.kubevirt.io", "VirtualMachinePool"): _virtual_machine,
}
