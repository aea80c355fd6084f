"""Requests of each resource of a stack, without counting an accelerator twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from stack_view.view import Resource, View

from gpu_usage import autoscalers, charts, declared, embedded, multipliers, objects, unseen
from gpu_usage.manifest import Manifest, UncountableError, UnseenError, items, number, whole_number

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

    def __init__(self, view: View, stated: Mapping[str, Any]) -> None:
        """`stated`: numbers of what a preview does not show, by a chart's address or as messages name a resource."""
        self.view = view
        self.stated = stated
        self.home = embedded.home(view)
        self.uncountable: list[tuple[Resource, UncountableError]] = []
        """Resources whose requests have no number, and why."""
        self.elsewhere: set[str] = set()
        """URNs of what runs pods of others that no preview shows, and whose GPUs are stated."""
        self.children: dict[str, list[Resource]] = defaultdict(list)
        self.manifests: dict[str, Manifest] = {}
        for resource in view.all:
            if resource.parent:
                self.children[resource.parent.urn].append(resource)
            if resource.manifest:
                self.manifests[resource.urn] = resource.manifest
            if resource.error:
                self.uncountable.append((resource, resource.error))
        self.declared = declared.of(self.manifests.values())
        self.take_templates()
        self.raise_by_autoscalers()
        self.requests = self.total()
        """Accelerators by URN: of each resource that is counted, as a whole or in its children."""

    def total(self) -> Counter[str]:
        """Requests of the stack, by resource."""
        known = {resource.urn for resource in self.view.all}
        parents = ((resource, resource.parent) for resource in self.view.all)
        found: Counter[str] = Counter()
        for one in (resource for resource, parent in parents if parent is None or parent.urn not in known):
            found.update(self.requested(one))  # a sum of counters would look at every resource for every resource
        return found

    def by_name(self) -> Counter[str]:
        """Requests by the names that messages have."""
        found: Counter[str] = Counter()
        for resource in self.view.all:
            found[resource.who] += self.requests[resource.urn]
        return found

    def ask(self, resource: Resource, answer: Callable[[], _Answer]) -> _Answer | None:
        """The result of a function. An error is a finding on the resource, so that others are still counted."""
        try:
            return answer()
        except UncountableError as reason:
            self.uncountable.append((resource, self.with_remedy(resource, reason)))
        except Exception as crash:  # its text may contain values of the object
            problem = f"this rule cannot read it ({type(crash).__name__})"
            self.uncountable.append((resource, UncountableError(problem, "write it as Kubernetes documents it")))
        return None

    def with_remedy(self, resource: Resource, reason: UncountableError) -> UncountableError:
        """The reason, with how to state the number if only the user knows it."""
        if not isinstance(reason, UnseenError):
            return reason
        how = f'state its GPUs in {self.view.config}, for example "charts": {{"{resource.who}": 0}} next to maxGpus'
        return UncountableError(reason.problem, f"{reason.remedy}, or {how}")

    def take_templates(self) -> None:
        """Gives objects the template of another one that they refer to."""
        for resource in self.view.all:
            manifest = self.manifests.get(resource.urn)
            if manifest and autoscalers.refers(manifest):
                self.ask(
                    resource, partial(self.unless_stated, resource, partial(self.take_template, resource.urn, manifest))
                )

    def take_template(self, urn: str, manifest: Manifest) -> None:
        """Gives an object the template that it refers to; one with GPUs if there may be several."""
        owners = autoscalers.targets(manifest, self.manifests.values())
        owner = max(owners, key=lambda each: self.requests_gpus(autoscalers.raised(each, 1)))
        self.manifests[urn] = autoscalers.with_template(manifest, owner)

    def raise_by_autoscalers(self) -> None:
        """Counts scaled objects with their maximum number of replicas, and copies of them after that."""
        scalers = [(resource, each) for resource in self.view.all if (each := self.manifests.get(resource.urn))]
        for resource, scaler in sorted(scalers, key=lambda one: autoscalers.copies(one[1])):
            if autoscalers.scales(scaler):
                self.ask(resource, partial(self.unless_stated, resource, partial(self.raise_targets, scaler)))

    def unless_stated(self, resource: Resource, take: Callable[[], None]) -> None:
        """Takes what a resource refers to. If that is elsewhere, or has no maximum, its GPUs may be stated."""
        try:
            take()
        except UnseenError:
            if resource.who not in self.stated:
                raise
            self.elsewhere.add(resource.urn)

    def raise_targets(self, scaler: Manifest) -> None:
        """Applies the scaler's maximum to its targets."""
        targets = autoscalers.targets(scaler, self.manifests.values())
        raised = {urn: each for urn, each in self.manifests.items() if any(each is target for target in targets)}
        for urn, target in raised.items():
            if self.requests_gpus(autoscalers.raised(target, 1)):
                self.manifests[urn] = autoscalers.scaled(target, scaler)

    def requests_gpus(self, manifest: Manifest) -> bool:
        """Whether an object's number of GPUs is known and depends on its replicas."""
        try:
            return objects.count(manifest, self.declared) > 0
        except UnseenError:  # which is said of the object itself
            return False

    def requested(self, resource: Resource) -> Counter[str]:
        """Requests of this resource and its children. A workload's number counts, unless its children request more."""
        found: Counter[str] = Counter()
        for child in self.children[resource.urn]:
            found.update(self.requested(child))
        own = Counter({resource.urn: self.ask(resource, partial(self.own, resource)) or 0})
        if resource.type in WORKLOADS:
            return own if own.total() >= found.total() else found
        found.update(own)
        return found

    def own(self, resource: Resource) -> int:
        """Requests of the resource itself, counted or registered."""
        if resource.type in WORKLOADS:
            return self.registered(resource)
        if charts.is_component(resource.type):
            charts.refuse_empty(resource.type, resource.body, has_objects=bool(self.children[resource.urn]))
            return 0
        try:
            gpus = self.count(resource)
            if resource.urn not in self.elsewhere:
                return gpus
        except UnseenError:
            if resource.who not in self.stated:
                raise
        stated = whole_number(self.stated[resource.who], ("charts", resource.who))
        if not stated and unseen.find_error(resource.type, resource.body, self.manifests.get(resource.urn)):
            unseen.refuse_shown(resource.body)
        return stated

    def count(self, resource: Resource) -> int:
        """Requests of an object that no component of ours is."""
        manifest = self.manifests.get(resource.urn)
        if error := unseen.find_error(resource.type, resource.body, manifest):
            raise error
        if manifest is None:
            return 0
        if manifest.group == "helm.sh":
            return charts.gpus(manifest, self.stated, self.view.config, self.home)
        if manifest.type == _TEMPLATE and resource.parent and resource.parent.type == _PIPELINE:
            return objects.of_one_pod_each(manifest, self.declared)
        return objects.count(manifest, self.declared)

    def registered(self, workload: Resource) -> int:
        """The number that a workload registers; without one, its pods are counted."""
        if any(name == "gpus" for name in workload.body):
            try:
                gpus = whole_number(workload.body["gpus"], ("gpus",))
            except UncountableError as reason:
                remedy = "give `gpus` as a plain number in the workload's settings"
                raise UncountableError(reason.problem, remedy) from None
            # TPU chips are none of its GPUs.
            return max(gpus, sum(number(each, "gpus", 0) for each in items(workload.body, "requests")))
        if not self.has_pods(workload):
            problem = "it registers no `gpus`, and has no pods that could be counted instead"
            raise UncountableError(problem, "register `gpus` as an output of the component")
        return 0

    def has_pods(self, owner: Resource) -> bool:
        """Whether any child of a workload is counted."""
        below = self.children[owner.urn]
        return any(self.is_counted(each) or self.has_pods(each) for each in below)

    def is_counted(self, resource: Resource) -> bool:
        """Whether the resource declares its number of pods."""
        if resource.type in WORKLOADS:
            return any(name == "gpus" for name in resource.body)
        manifest = self.manifests.get(resource.urn)
        return manifest is not None and manifest.type in multipliers.KINDS
