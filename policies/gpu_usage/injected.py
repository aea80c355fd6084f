"""Objects that add accelerators to pods: defaults, mutations, instance types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_usage import accelerators, devices, expressions, multipliers, runtimes
from gpu_usage.manifest import UNKNOWN, Manifest, UncountableError, UnseenError, items, part, unknown

# Types of a LimitRange's entries that are not about containers.
_SUMS = ("Pod", "PersistentVolumeClaim")
# Groups of API with pods, or with what makes them. Others are of operators, which set the defaults of their own.
_POD_GROUPS = frozenset({"", "*", *(group for group, _ in multipliers.KINDS)})
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
    path = ("spec", "limits")
    for limit in items(part(manifest.body, "spec"), "limits", ("spec",)):
        defaults = part(limit, "default", path)
        for key in ("default", "defaultRequest"):
            for name, amount in part(limit, key, path).items():
                if accelerators.is_asked(name) and amount not in (0, "0"):
                    problem = f"it gives {name} to every container that requests none"
                    raise UncountableError(problem, f"remove it from `{key}`, and request it in the containers' limits")
        # Those of pods and claims have no defaults.
        for name, amount in part(limit, "max", path).items() if limit.get("type") not in _SUMS else ():
            if accelerators.is_asked(name) and amount not in (0, "0") and name not in defaults:
                problem = f"Kubernetes makes its `max` of {name} the request of every container that requests none"
                raise UncountableError(problem, f'add `default: {{{name}: "0"}}` to it, or limit pods with `type: Pod`')


def _admission_policy(manifest: Manifest) -> None:
    spec = part(manifest.body, "spec")
    if expressions.may_add_gpus(spec):
        _mutation([part(spec, "matchConstraints", ("spec",))], "resourceRules")


def _webhooks(manifest: Manifest) -> None:
    _mutation(items(manifest.body, "webhooks"), "rules")


def _mutation(matches: list[Mapping[str, object]], key: str) -> None:
    for match in matches:
        rules = items(match, key)
        touched = [each for rule in rules if _of_pods(rule) for each in _strings(rule, "resources")]
        if not rules or not _NO_PODS.issuperset(each.partition("/")[0] for each in touched):
            problem = "it may add GPUs to pods at admission, where no policy sees it"
            raise UnseenError(problem, "set what it adds in the manifests, or name no resources that run pods")


def _of_pods(rule: Mapping[str, object]) -> bool:
    return not _POD_GROUPS.isdisjoint(_strings(rule, "apiGroups"))


def _strings(rule: Mapping[str, object], key: str) -> list[str]:
    given = rule.get(key)
    if given is UNKNOWN:
        raise unknown((key,))
    return [str(each) for each in given] if isinstance(given, list) else ["*"]


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
    ("policies.kyverno.io", "MutatingPolicy"): _admission_policy,
    ("policies.kyverno.io", "NamespacedMutatingPolicy"): _admission_policy,
    runtimes.KIND: runtimes.refuse,
    ("resource.k8s.io", "DeviceClass"): devices.refuse_class,
    ("kubevirt.io", "VirtualMachine"): _virtual_machine,
    ("pool.kubevirt.io", "VirtualMachinePool"): _virtual_machine,
}
