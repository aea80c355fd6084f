"""Volumes of the stack in teams' namespaces: a second PersistentVolume that leads to the same storage, and its claim.

Claims are namespaced, and each is bound to a PersistentVolume of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tensorplane.components.base import names, quantities
from tensorplane.components.base.labels import labels
from tensorplane.components.base.problems import Problem, unknown_name
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import checks
from tensorplane.components.volumes.access import refuse_writers
from tensorplane.components.volumes.capabilities import AccessMode
from tensorplane.components.volumes.mirrors import volsync
from tensorplane.components.volumes.settings import VolumeArgs

if TYPE_CHECKING:
    from tensorplane.components.volumes.component import Volume

Access = Literal["readOnly", "readWrite"]
Teams = Mapping[str, Mapping[str, Access]]
"""What each team may do with which volumes."""


def find_problems(
    teams: Teams, declared: Mapping[str, VolumeArgs | None], records: Collection[str], cluster: ClusterArgs
) -> Iterator[Problem]:
    """Every problem. `declared` maps volumes that failed validation to None. `records`: those with streams' records."""
    for team, volumes in teams.items():
        for name, access in volumes.items():
            at, given = ("teams", team, "volumes", name), (("volumes", name),)
            if name not in declared:
                yield unknown_name(at, "volume", name, declared)
            elif name in records:
                yield Problem(at, f"volume {name} has the records of a stream, which only its broker mounts; remove it")
            elif (args := declared[name]) and (problem := _find_problem(name, args, access, declared, cluster)):
                yield Problem(at, problem, given=given)


def _find_problem(
    name: str, args: VolumeArgs, access: Access, declared: Mapping[str, VolumeArgs | None], cluster: ClusterArgs
) -> str:
    """Why a team cannot have a volume, with a remedy; empty if it can."""
    backend = args.backend_on(cluster)
    if not backend.capabilities.supports_teams:
        reason = f"volume {name} is on backend {backend.kind}, which is not mounted in teams' namespaces"
        return f"{reason}; {checks.that_teams_mount(cluster)}"
    if args.for_one_node(cluster):
        return f"volume {name} is ReadWriteOnce, so only one node mounts it; set its accessModes to ReadWriteMany"
    if access == "readOnly":
        return ""
    if args.access_modes == ["ReadOnlyMany"]:
        return f"volume {name} is ReadOnlyMany; set readOnly"
    if (args.source and args.source.mirror) or volsync.sender_to(name, declared) not in (None, name):
        return f"volume {name} is a mirror, which VolSync overwrites; set readOnly"
    return ""


def declare(
    teams: Teams,
    namespaces: Mapping[str, pulumi.Input[str]],
    volumes: Mapping[str, Volume],
    stack: str,
    opts: pulumi.ResourceOptions,
) -> dict[str, dict[str, pulumi.Resource]]:
    """Creates the volumes and claims of all teams: by team, each volume's claim.

    `namespaces`: those of the teams. `stack`: the stack's namespace.
    """
    shared = sorted({name for accesses in teams.values() for name in accesses})
    own = {name: _bound(volumes[name], stack, opts) for name in shared}
    made: dict[str, dict[str, pulumi.Resource]] = {team: {} for team in teams}
    for team, accesses in teams.items():
        for name, access in accesses.items():
            after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[volumes[name].claim]))
            made[team][name] = _claim(team, namespaces[team], volumes[name], own[name], access, stack=stack, opts=after)
    return made


def _bound(volume: Volume, stack: str, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolume:
    """The PersistentVolume to which the stack's own claim is bound."""
    # With the claim's id, which previews do not know of a new claim: the provider's answer then has no volume.
    bound = pulumi.Output.all(volume.claim.id, volume.claim.spec).apply(lambda found: _name(volume, found[1]))
    return k8s.core.v1.PersistentVolume.get(f"{stack}-{volume.claim_name}-bound", bound, opts)


def _name(volume: Volume, spec: Any) -> str:
    if not (bound := spec.get("volume_name")):
        raise RuntimeError(
            f"volumes.{volume.claim_name}: its claim was not bound when it was deployed; run pulumi refresh once it is"
        )
    return str(bound)


def _claim(
    team: str,
    namespace: pulumi.Input[str],
    volume: Volume,
    own: k8s.core.v1.PersistentVolume,
    access: Access,
    *,
    stack: str,
    opts: pulumi.ResourceOptions,
) -> pulumi.Resource:
    name, is_read = volume.claim_name, access == "readOnly"
    modes: list[AccessMode] = ["ReadOnlyMany"] if is_read else ["ReadWriteMany"]
    if is_read:
        refuse_writers(f"{stack}-{name}-{team}-read-only", name, team, namespace, opts)
    storage = {"storage": quantities.gibibytes(volume.size_gib)}
    about = labels(name, "volume")
    spec: Any = own.spec.apply(lambda spec: _spec(spec, read_only=is_read))
    # Another source or access, which are immutable, is another volume: created before the claim leaves the former one,
    # which is protected until then.
    wide = spec.apply(lambda found: f"{stack}-{name}-{team}-{names.digest_of([found])}")
    made = k8s.core.v1.PersistentVolume(
        f"{name}.{team}",
        metadata={"name": wide, "labels": about},
        spec={
            "capacity": storage,
            "access_modes": modes,
            "persistent_volume_reclaim_policy": "Retain",
            # Reserved for this claim: no other claim can be bound to it.
            "claim_ref": {"api_version": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name},
            "csi": spec["csi"],
            "nfs": spec["nfs"],
            "mount_options": spec["mount_options"],
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.capacity"])),
    )
    return k8s.core.v1.PersistentVolumeClaim(
        f"{name}.{team}",
        metadata={"name": name, "namespace": namespace, "labels": about},
        spec={
            "access_modes": modes,
            "resources": {"requests": storage},
            "storage_class_name": "",
            "volume_name": made.metadata["name"],
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.resources"])),
    )


def _spec(own: Any, *, read_only: bool) -> dict[str, Any]:
    """What leads to the same storage.

    The kubelet does not hand `readOnly` of a CSI volume to the driver when it mounts (kubernetes/kubernetes#70505), so
    mount option `ro` does. A container runtime may still remount it for a pod that does not ask for `readOnly`
    (opencontainers/runc#4824), which `refuse_writers` refuses.
    """
    csi, nfs = own.get("csi"), own.get("nfs")
    options = [*(own.get("mount_options") or ()), *(["ro"] if read_only else ())]
    return {
        "csi": csi and {"driver": csi["driver"], "volume_handle": csi["volume_handle"], "read_only": read_only},
        "nfs": nfs and {"server": nfs["server"], "path": nfs["path"], "read_only": read_only},
        "mount_options": options or None,
    }
