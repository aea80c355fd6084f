"""What happens to the data of volumes that an update deletes or replaces: how much it is, and what keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.base.quantities import size, size_bytes
from driver.kube import Kube
from driver.volume_use import used
from embedded.fault import Fault

_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
_OF_VOLUME = f"tensorplane:index:Volume${_CLAIM}"

_WORDS = {"delete": "deleted", "replace": "replaced"}

_Object = dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """What the cluster reports about a namespace's volumes; empty if it cannot be reached."""

    claims: Mapping[str, _Object] = field(default_factory=dict)
    volumes: Mapping[str, _Object] = field(default_factory=dict)
    snapshots: tuple[_Object, ...] = ()
    used: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, api: Kube, namespace: str) -> Facts:
        """Asks the cluster. Objects that the user may not list are left out."""

        def items(path: str) -> list[_Object]:
            try:
                return api.items(path)
            except Fault:
                return []

        inside = f"/api/v1/namespaces/{namespace}"
        snapshots = items(f"/apis/snapshot.storage.k8s.io/v1/namespaces/{namespace}/volumesnapshots")
        return cls(
            {one["metadata"]["name"]: one for one in items(f"{inside}/persistentvolumeclaims")},
            {one["metadata"]["name"]: one for one in items("/api/v1/persistentvolumes")},
            tuple(sorted(snapshots, key=lambda one: str(one["metadata"]["creationTimestamp"]))),
            dict(used(api, namespace, items(f"{inside}/pods"))),
        )


def going(steps: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The URNs of claims that an update deletes or replaces, and which of both, from the steps of a preview."""
    return {step["urn"]: _WORDS[step["op"]] for step in steps if step["op"] in _WORDS and _OF_VOLUME in step["urn"]}


def loose(export: _Object) -> bool:
    """Whether the state has an unprotected volume. `export` is what `pulumi stack export` prints."""
    return any(_OF_VOLUME in one["urn"] and not one.get("protect") for one in _resources(export))


def lines(export: _Object, changes: Mapping[str, str], facts: Facts) -> list[str]:
    """A line for each claim. `changes`: by URN, whether it is deleted or replaced."""
    known = {one["urn"]: one for one in _resources(export)}
    return [
        _line(known[urn], what, facts)
        for urn, what in sorted(changes.items())
        # An update of a protected volume is refused with a message of its own.
        if urn in known and not known[urn].get("protect")
    ]


def _resources(export: _Object) -> Iterator[_Object]:
    yield from (one for one in export["deployment"].get("resources") or () if not one.get("delete"))


def _line(resource: _Object, what: str, facts: Facts) -> str:
    name = str(resource["id"]).rpartition("/")[2]
    requested = resource["inputs"]["spec"]["resources"]["requests"].get("storage", "0")
    amount = f"{size(size_bytes(requested))} requested"
    if name in facts.used:
        amount += f", {size(facts.used[name])} used"
    claim = facts.claims.get(name, {})
    if claim and claim.get("status", {}).get("phase") == "Pending":
        return f"volume {name} is {what} ({amount}): no storage is provisioned for it yet"
    kept = list(_keepers(resource, name, facts))
    where = f"its data stays in {' and in '.join(kept)}" if kept else "no copy of its data is known"
    return f"volume {name} is {what} ({amount}): {where}"


def _keepers(resource: _Object, name: str, facts: Facts) -> Iterator[str]:
    if resource.get("retainOnDelete"):
        yield "its claim, which stays in the cluster"
    bound = facts.volumes.get(facts.claims.get(name, {}).get("spec", {}).get("volumeName", ""), {})
    if bound.get("spec", {}).get("persistentVolumeReclaimPolicy") == "Retain":
        yield f"PersistentVolume {bound['metadata']['name']}"
    if not any("delete" in when.lower() for when in resource.get("resourceHooks") or ()):
        # The program takes a snapshot only if the driver's snapshots outlive the volume.
        return
    yield "a snapshot taken first"
    earlier = [
        str(one["metadata"]["name"])
        for one in facts.snapshots
        if one["spec"]["source"].get("persistentVolumeClaimName") == name
        and (one.get("status") or {}).get("readyToUse")
    ]
    if earlier:
        yield f"{len(earlier)} earlier snapshot{'s' if len(earlier) > 1 else ''}, the newest {earlier[-1]}"
