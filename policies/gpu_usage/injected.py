"""Objects that add accelerators to pods: defaults, mutations, instance types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpu_usage import accelerators, devices, multipliers, runtimes
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
    if may_add_gpus(spec):
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


# A name of an extended resource, also in a JSON pointer.
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)+(?:/|~1)[\w.-]+")
_RESOURCES = re.compile(r"\b(resources|limits|requests)\b")
_RUNTIME = re.compile(r"runtimeClassName")
_OF_GPUS = re.compile(r"nvidia|gpu|habana|ascend", re.IGNORECASE)
_PODS = re.compile(r"(/|\b)(replicas|parallelism|completions|maxReplicas|maxSurge)\b(\s*:|['\"])")
_SHOWN = re.compile(
    r"resourceClaims|overhead|VISIBLE_DEVICES|nvidia-container-devices|cdi\.k8s\.io|gpu-(fraction|memory)"
)


def may_add_gpus(spec: Mapping[str, Any]) -> bool:
    """Whether a policy's mutations may give pods GPUs, or more pods to others; True if it shows none.

    What an expression in CEL computes, no preview shows, but a field that it sets is named in it.
    """
    found = list(_expressions(spec))
    return not found or _touches(" ".join(found))


def _touches(expression: str) -> bool:
    names = (each.replace("~1", "/") for each in _NAME.findall(expression))
    touches = any(map(accelerators.is_asked, names)) or "params" in expression
    return bool(
        (touches and _RESOURCES.search(expression))
        or (_RUNTIME.search(expression) and _OF_GPUS.search(expression))
        or _PODS.search(expression)
        or _SHOWN.search(expression)
    )


def _expressions(spec: Mapping[str, Any]) -> Iterator[str]:
    for mutation in items(spec, "mutations", ("spec",)):
        for key in ("applyConfiguration", "jsonPatch"):
            yield str(part(mutation, key, ("spec", "mutations")).get("expression", ""))
    for variable in items(spec, "variables", ("spec",)) if spec.get("mutations") else ():
        yield str(variable.get("expression", ""))
