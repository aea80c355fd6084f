"""Requests of each resource of a stack, without counting an accelerator twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from pulumi_policy import PolicyResource, ReportViolation, StackValidationArgs

from gpu_usage import autoscalers, charts, devices, multipliers, objects
from gpu_usage.manifest import Manifest, UncountableError, plain, read, whole_number

# Components whose `gpus` are requests. Others with that output have capacity (queues, node groups).
WORKLOADS = frozenset(
    {
        "tensorplane:index:ModelServer",
        "tensorplane:index:Notebook",
        "tensorplane:index:Pipeline",
        "tensorplane:index:Recorder",
        "tensorplane:index:Scorer",
        "tensorplane:index:Sweep",
        "tensorplane:index:TensorBoard",
        "tensorplane:index:TrainingJob",
    }
)

_Answer = TypeVar("_Answer")


class Usage:
    """The resources of one stack and their requests."""

    def __init__(self, args: StackValidationArgs, report: ReportViolation) -> None:
        self.report = report
        self.resources = args.resources
        self.stack = args.resources[0].urn.split(":")[2] if args.resources else ""
        self.declared: dict[str, Any] = plain(args.get_config().get("charts") or {})
        self.children: dict[str, list[PolicyResource]] = defaultdict(list)
        for resource in args.resources:
            if resource.parent:
                self.children[resource.parent.urn].append(resource)
        self.manifests: dict[str, Manifest] = {}
        for resource in args.resources:
            if resource.resource_type.startswith("kubernetes:"):
                manifest = self.ask(resource, partial(read, resource.resource_type, resource.props))
                if manifest:
                    self.manifests[resource.urn] = manifest
        self.network_claims = devices.network_claims(self.manifests.values())
        self.raise_by_autoscalers()

    def total(self) -> Counter[str]:
        """Requests of the stack, by resource."""
        known = {resource.urn for resource in self.resources}
        roots = (one for one in self.resources if one.parent is None or one.parent.urn not in known)
        return sum((self.asked(one) for one in roots), Counter[str]())

    @property
    def config(self) -> str:
        """The policy's configuration file of this stack."""
        return f"policies/config.{self.stack}.json"

    def ask(self, resource: PolicyResource, question: Callable[[], _Answer]) -> _Answer | None:
        """The result of a function. On an error, a violation names the resource, so that others are still counted."""
        try:
            return question()
        except UncountableError as reason:
            self.report(f"{_who(resource)}: {reason}", resource.urn)
        except Exception as crash:  # its text may contain values of the object
            problem = f"this rule cannot read it ({type(crash).__name__})"
            self.report(f"{_who(resource)}: {problem}; write it as Kubernetes documents it", resource.urn)
        return None

    def raise_by_autoscalers(self) -> None:
        """Counts scaled objects with their maximum number of replicas."""
        for resource in self.resources:
            scaler = self.manifests.get(resource.urn)
            if scaler and autoscalers.scales(scaler):
                self.ask(resource, partial(self.raise_targets, scaler))

    def raise_targets(self, scaler: Manifest) -> None:
        """Applies the scaler's maximum to its targets."""
        targets = autoscalers.targets(scaler, self.manifests.values())
        raised = {urn: each for urn, each in self.manifests.items() if any(each is target for target in targets)}
        for urn, target in raised.items():
            if objects.count(autoscalers.raised(target, 1), self.network_claims):
                self.manifests[urn] = autoscalers.raised(target, autoscalers.most(scaler))

    def asked(self, resource: PolicyResource) -> Counter[str]:
        """Requests of this resource and its children. A workload's number counts, unless its children request more."""
        found: Counter[str] = Counter()
        for child in self.children[resource.urn]:
            found += self.asked(child)
        own = Counter({_who(resource): self.ask(resource, partial(self.own, resource)) or 0})
        if resource.resource_type in WORKLOADS:
            return own if own.total() >= found.total() else found
        return found + own

    def own(self, resource: PolicyResource) -> int:
        """Requests of the resource itself, counted or registered."""
        token = resource.resource_type
        if token in WORKLOADS:
            return self.registered(resource)
        if charts.is_component(token):
            charts.refuse_empty(token, plain(resource.props), has_objects=bool(self.children[resource.urn]))
            return 0
        manifest = self.manifests.get(resource.urn)
        if manifest is None:
            return 0
        if manifest.group == "helm.sh":
            return charts.gpus(manifest, self.declared, self.config)
        return objects.count(manifest, self.network_claims)

    def registered(self, workload: PolicyResource) -> int:
        """The number that a workload registers; without one, its pods are counted."""
        if any(name == "gpus" for name in workload.props):
            try:
                return whole_number(plain(workload.props)["gpus"], ("gpus",))
            except UncountableError as reason:
                remedy = "give `gpus` as a plain number in the workload's settings"
                raise UncountableError(reason.problem, remedy) from None
        if not self.has_pods(workload):
            problem = "it registers no `gpus`, and has no pods that could be counted instead"
            raise UncountableError(problem, "register `gpus` as an output of the component")
        return 0

    def has_pods(self, owner: PolicyResource) -> bool:
        """Whether any child of a workload is counted."""
        below = self.children[owner.urn]
        return any(self.is_counted(each) or self.has_pods(each) for each in below)

    def is_counted(self, resource: PolicyResource) -> bool:
        """Whether the resource declares its number of pods."""
        if resource.resource_type in WORKLOADS:
            return any(name == "gpus" for name in resource.props)
        manifest = self.manifests.get(resource.urn)
        return manifest is not None and manifest.type in multipliers.COUNTED


def _who(resource: PolicyResource) -> str:
    return f"{resource.name} ({resource.resource_type.rpartition(':')[2]})"
