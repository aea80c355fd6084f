"""Data that an update deletes, replaces or leaves unprotected: how much it is, what keeps it, what acknowledges it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorplane.components.base.quantities import size, size_bytes
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.claims import used_bytes
from tensorplane.driver.stack_settings import StackSettings


@dataclass(frozen=True)
class Risk:
    """One line about data, and whether it stops the update."""

    text: str
    stops_update: bool = False
    loses_data: bool = True
    """Whether data would go if nothing stopped it."""


@dataclass(frozen=True)
class Acknowledged:
    """What the stack's settings acknowledge, by kind of loss, and the file in which they do."""

    file: str = "the stack's settings"
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stack_removed: bool = False
    """Whether the change removes the file, so that only an earlier one can acknowledge."""

    @classmethod
    def of(cls, settings: StackSettings) -> Acknowledged:
        """From the section `acknowledge`, unchecked: the stack's program checks it."""
        lists = {kind: found for kind, found in settings.section("acknowledge").items() if isinstance(found, list)}
        return cls(settings.file.name, {kind: tuple(map(str, found)) for kind, found in lists.items()})

    def judged(self, text: str, kind: str, name: str) -> Risk:
        """The loss as a risk, which stops the update unless the settings name it."""
        if name in self.names.get(kind, ()):
            return Risk(f"{text}; acknowledged by acknowledge.{kind}")
        entry = f"`tensorplane:acknowledge: {{{kind}: [{name}]}}`"
        remedy = f"if you intend that, add {entry} to {self.file}"
        if self.stack_removed:
            remedy = f"if you intend that, first deploy a change of {self.file} that removes {name} and adds {entry}"
        return Risk(f"{text}; {remedy}", stops_update=True)

    def unused(self, going: Iterable[str]) -> Iterator[Risk]:
        """Acknowledgements of losses that the update does not bring. `going`: as `kind name`."""
        known = set(going)
        for kind, names in self.names.items():
            for name in names:
                if f"{kind} {name}" not in known:
                    yield Risk(f"acknowledge.{kind} names {name}, which this update does not lose; remove the entry")


_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
_VOLUME = "tensorplane:index:Volume"
_OF_VOLUME = f"{_VOLUME}${_CLAIM}"
_NAMESPACE = "kubernetes:core/v1:Namespace"

_NONE_ACKNOWLEDGED = Acknowledged()
_OPERATIONS = {"delete": "deleted", "replace": "replaced"}

_Object = dict[str, Any]
Step = Mapping[str, Any]
"""What the engine would do to one resource."""


@dataclass(frozen=True)
class ClusterVolumes:
    """What the cluster reports about a namespace's volumes; empty if it cannot be reached."""

    claims: Mapping[str, _Object] = field(default_factory=dict)
    volumes: Mapping[str, _Object] = field(default_factory=dict)
    snapshots: tuple[_Object, ...] = ()
    used: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, api: Kube, namespace: str) -> ClusterVolumes:
        """Asks the cluster. Objects that the user may not list are left out."""

        def items(path: str) -> list[_Object]:
            try:
                return api.items(path)
            except UserError:
                return []

        inside = f"/api/v1/namespaces/{namespace}"
        snapshots = items(f"/apis/snapshot.storage.k8s.io/v1/namespaces/{namespace}/volumesnapshots")
        return cls(
            {one["metadata"]["name"]: one for one in items(f"{inside}/persistentvolumeclaims")},
            {one["metadata"]["name"]: one for one in items("/api/v1/persistentvolumes")},
            tuple(sorted(snapshots, key=lambda one: str(one["metadata"]["creationTimestamp"]))),
            dict(used_bytes(api, namespace, items(f"{inside}/pods"))),
        )


def has_unprotected(export: _Object) -> bool:
    """Whether the state has an unprotected volume or team. `export` is what `pulumi stack export` prints."""
    return any(
        not one.get("protect") and (_OF_VOLUME in one["urn"] or _is_of_team(one["urn"])) for one in _resources(export)
    )


def find_risks(
    steps: Iterable[Step],
    acknowledged: Acknowledged = _NONE_ACKNOWLEDGED,
    *,
    export: Callable[[], _Object] | None = None,
    cluster: Callable[[], ClusterVolumes] = ClusterVolumes,
) -> tuple[Risk, ...]:
    """What the steps of a preview put at risk; what stops the update comes first.

    Of the volumes that go, `export` is what `pulumi stack export` prints, and `cluster` what their cluster knows; both
    are asked only if there are any.
    """
    planned = list(steps)
    losses = dict(_losses(planned, export, cluster))
    found = [acknowledged.judged(text, *loss.split(" ", 1)) for loss, text in losses.items()]
    found += _changes(planned)
    found += acknowledged.unused(losses)
    return tuple(sorted(found, key=lambda risk: not risk.stops_update))


def _losses(
    steps: list[Step], export: Callable[[], _Object] | None, cluster: Callable[[], ClusterVolumes]
) -> Iterator[tuple[str, str]]:
    """Each loss as `kind name`, with a line about it. An update of protected data is refused by the engine itself."""
    gone = [step for step in steps if step["op"] in _OPERATIONS and not (step.get("old") or {}).get("protect")]
    claims = [step for step in gone if _OF_VOLUME in step["urn"]]
    state = {one["urn"]: one for one in _resources(export())} if claims and export else {}
    known = cluster() if claims else ClusterVolumes()
    for step in sorted(claims, key=lambda each: str(each["urn"])):
        resource = state.get(step["urn"]) or step.get("old") or {}
        if not resource.get("protect"):
            name = str(step["urn"]).rpartition("::")[2]
            line = _line(resource, name, _OPERATIONS[step["op"]], known, has_state=export is not None)
            yield f"{step['op']}Volume {name}", line
    for step in gone:
        if _is_of_team(step["urn"]):
            name = str(step["urn"]).rpartition("::")[2]
            yield f"deleteNamespace {name}", f"namespace {name} is {_OPERATIONS[step['op']]} with everything in it"


def _is_of_team(urn: str) -> bool:
    """Whether it is a namespace that is below no component. What is in the stack's own is the stack's."""
    return urn.split("::")[2] == _NAMESPACE


def _changes(steps: Iterable[Step]) -> Iterator[Risk]:
    """Volumes that stay, and what their new settings mean for their data."""
    for step in steps:
        old, new = ((step.get(state) or {}).get("inputs") or {} for state in ("old", "new"))
        if step["type"] != _VOLUME or not (old and new):
            continue
        name = str(step["urn"]).rpartition("::")[2]
        before, after = (_number(state.get("sizeGib")) for state in (old, new))
        if after < before:
            refused = "Kubernetes refuses that, since claims only grow: nothing is replaced, and its data stays"
            remedy = f"set sizeGib to {before:g} or more, or declare a second volume and move the data"
            text = f"volume {name} would shrink from {before:g} to {after:g} GiB. {refused}; {remedy}"
            yield Risk(text, stops_update=True, loses_data=False)
        if old.get("retain") and not new.get("retain"):
            yield Risk(f"volume {name} is no longer protected (retain: false): a later update can delete it")


def _number(value: Any) -> float:
    """A size; 0 for one that is secret, which only the cluster compares."""
    return value if isinstance(value, int | float) else 0


def _resources(export: _Object) -> Iterator[_Object]:
    yield from (one for one in export["deployment"].get("resources") or () if not one.get("delete"))


def _line(resource: Mapping[str, Any], name: str, what: str, cluster: ClusterVolumes, *, has_state: bool) -> str:
    requested = resource["inputs"]["spec"]["resources"]["requests"].get("storage", "0")
    amount = f"{size(size_bytes(requested))} requested"
    if name in cluster.used:
        amount += f", {size(cluster.used[name])} used"
    claim = cluster.claims.get(name, {})
    if claim and claim.get("status", {}).get("phase") == "Pending":
        return f"volume {name} is {what} ({amount}): no storage is provisioned for it yet"
    unknown = (
        "no copy of its data is known"
        if has_state
        else "whether a copy of its data stays is not known without the stack's state"
    )
    keepers = " and in ".join(_keepers(resource, name, cluster))
    fate = f"its data stays in {keepers}" if keepers else unknown
    return f"volume {name} is {what} ({amount}): {fate}"


def _keepers(resource: Mapping[str, Any], name: str, cluster: ClusterVolumes) -> Iterator[str]:
    if resource.get("retainOnDelete"):
        yield "its claim, which stays in the cluster"
    bound = cluster.volumes.get(cluster.claims.get(name, {}).get("spec", {}).get("volumeName", ""), {})
    if bound.get("spec", {}).get("persistentVolumeReclaimPolicy") == "Retain":
        yield f"PersistentVolume {bound['metadata']['name']}"
    if not any("delete" in when.lower() for when in resource.get("resourceHooks") or ()):
        # The program takes a snapshot only if the driver's snapshots outlive the volume.
        return
    yield "a snapshot taken first"
    earlier = [
        str(one["metadata"]["name"])
        for one in cluster.snapshots
        if one["spec"]["source"].get("persistentVolumeClaimName") == name
        and (one.get("status") or {}).get("readyToUse")
    ]
    if earlier:
        yield f"{len(earlier)} earlier snapshot{'s' if len(earlier) > 1 else ''}, the newest {earlier[-1]}"
