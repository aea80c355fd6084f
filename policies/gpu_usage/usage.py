"""Requests of each resource of a stack, without counting an accelerator twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from stack_view.view import Seen, View

from gpu_usage import autoscalers, charts, devices, multipliers, objects
from gpu_usage.manifest import Manifest, UncountableError, whole_number

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

_TEMPLATE, _PIPELINE = ("argoproj.io", "WorkflowTemplate"), "tensorplane:index:Pipeline"
"""How many pods of a template run at once is not in it: the pipeline registers the most, at least one of each."""

_Answer = TypeVar("_Answer")


class Usage:
    """The resources of one stack and their requests."""

    def __init__(self, view: View, declared: Mapping[str, Any]) -> None:
        self.view = view
        self.declared = declared
        self.faults: list[tuple[Seen, UncountableError]] = []
        """Resources whose requests have no number, and why."""
        self.children: dict[str, list[Seen]] = defaultdict(list)
        self.manifests: dict[str, Manifest] = {}
        for seen in view.all:
            if seen.parent:
                self.children[seen.parent.urn].append(seen)
            if seen.manifest:
                self.manifests[seen.urn] = seen.manifest
            if seen.fault:
                self.faults.append((seen, seen.fault))
        self.network_claims = devices.network_claims(self.manifests.values())
        self.raise_by_autoscalers()
        self.requests = self.total()
        """Accelerators by URN: of each resource that is counted, as a whole or in its children."""

    def total(self) -> Counter[str]:
        """Requests of the stack, by resource."""
        known = {seen.urn for seen in self.view.all}
        parents = ((seen, seen.parent) for seen in self.view.all)
        roots = (seen for seen, parent in parents if parent is None or parent.urn not in known)
        return sum((self.asked(one) for one in roots), Counter[str]())

    def by_name(self) -> Counter[str]:
        """Requests by the names that messages have."""
        found: Counter[str] = Counter()
        for seen in self.view.all:
            found[seen.who] += self.requests[seen.urn]
        return found

    def ask(self, seen: Seen, question: Callable[[], _Answer]) -> _Answer | None:
        """The result of a function. An error is a fault of the resource, so that others are still counted."""
        try:
            return question()
        except UncountableError as reason:
            self.faults.append((seen, reason))
        except Exception as crash:  # its text may contain values of the object
            problem = f"this rule cannot read it ({type(crash).__name__})"
            self.faults.append((seen, UncountableError(problem, "write it as Kubernetes documents it")))
        return None

    def raise_by_autoscalers(self) -> None:
        """Counts scaled objects with their maximum number of replicas."""
        for seen in self.view.all:
            scaler = self.manifests.get(seen.urn)
            if scaler and autoscalers.scales(scaler):
                self.ask(seen, partial(self.raise_targets, scaler))

    def raise_targets(self, scaler: Manifest) -> None:
        """Applies the scaler's maximum to its targets."""
        targets = autoscalers.targets(scaler, self.manifests.values())
        raised = {urn: each for urn, each in self.manifests.items() if any(each is target for target in targets)}
        for urn, target in raised.items():
            if objects.count(autoscalers.raised(target, 1), self.network_claims):
                self.manifests[urn] = autoscalers.raised(target, autoscalers.most(scaler))

    def asked(self, seen: Seen) -> Counter[str]:
        """Requests of this resource and its children. A workload's number counts, unless its children request more."""
        found: Counter[str] = Counter()
        for child in self.children[seen.urn]:
            found += self.asked(child)
        own = Counter({seen.urn: self.ask(seen, partial(self.own, seen)) or 0})
        if seen.type in WORKLOADS:
            return own if own.total() >= found.total() else found
        return found + own

    def own(self, seen: Seen) -> int:
        """Requests of the resource itself, counted or registered."""
        if seen.type in WORKLOADS:
            return self.registered(seen)
        if charts.is_component(seen.type):
            charts.refuse_empty(seen.type, seen.body, has_objects=bool(self.children[seen.urn]))
            return 0
        manifest = self.manifests.get(seen.urn)
        if manifest is None:
            return 0
        if manifest.group == "helm.sh":
            return charts.gpus(manifest, self.declared, self.view.config)
        if manifest.type == _TEMPLATE and seen.parent and seen.parent.type == _PIPELINE:
            return objects.of_one_pod_each(manifest, self.network_claims)
        return objects.count(manifest, self.network_claims)

    def registered(self, workload: Seen) -> int:
        """The number that a workload registers; without one, its pods are counted."""
        if any(name == "gpus" for name in workload.body):
            try:
                return whole_number(workload.body["gpus"], ("gpus",))
            except UncountableError as reason:
                remedy = "give `gpus` as a plain number in the workload's settings"
                raise UncountableError(reason.problem, remedy) from None
        if not self.has_pods(workload):
            problem = "it registers no `gpus`, and has no pods that could be counted instead"
            raise UncountableError(problem, "register `gpus` as an output of the component")
        return 0

    def has_pods(self, owner: Seen) -> bool:
        """Whether any child of a workload is counted."""
        below = self.children[owner.urn]
        return any(self.is_counted(each) or self.has_pods(each) for each in below)

    def is_counted(self, seen: Seen) -> bool:
        """Whether the resource declares its number of pods."""
        if seen.type in WORKLOADS:
            return any(name == "gpus" for name in seen.body)
        manifest = self.manifests.get(seen.urn)
        return manifest is not None and manifest.type in multipliers.COUNTED
