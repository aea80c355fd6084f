"""Mirrors by Ceph itself: a CronJob in Rook's namespace registers a volume's directory and takes the snapshots to send.

Peers and the mirror daemon belong to the whole file system and its owner: they are not changed here. The CronJob takes
snapshots of the subvolume instead of Ceph's `snap-schedule`, which refuses minutes by default (its option
allow_m_granularity), is off unless the CephFilesystem has schedules, and would continue after the volume is deleted.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.agent.agent import API_SERVER, JOB_NAME, Agent, Mount, Resources, Rights
from tensorplane.components.base import outputs, value_types
from tensorplane.components.base.labels import labels
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.volumes.backends.cephfs import CephFs
from tensorplane.components.volumes.component import Volume
from tensorplane.components.volumes.mirrors import volsync
from tensorplane.components.volumes.mirrors.settings import MirrorArgs
from tensorplane.components.volumes.settings import VolumeArgs

_COMPONENT = "ceph-mirrors"
# User and group of Rook's toolbox.
_USER = 2016
# Of the 52 characters that a CronJob's name may have.
_CLAIM_LIMIT = 36
_SECONDS_OF_A_DAY = 86400
_FEWEST, _MOST = 4, 48
_SECONDS_FOR_A_RUN = 600
_TMP_MIB = 16
_PORTS: "tuple[k8s.networking.v1.NetworkPolicyPortArgsDict, ...]" = (
    *API_SERVER,
    # Ceph's monitors, and its managers: from ms_bind_port_min to ms_bind_port_max.
    {"protocol": "TCP", "port": 3300},
    {"protocol": "TCP", "port": 6789},
    {"protocol": "TCP", "port": 6800, "end_port": 7568},
    {"protocol": "UDP", "port": 53},
    {"protocol": "TCP", "port": 53},
)
# What the user may do, and how each command names the file system (the grammar: ceph's src/mgr/MgrCap.cc).
_COMMANDS: Mapping[str, str] = {
    "fs snapshot mirror peer_list": "fs_name",
    "fs snapshot mirror add": "fs_name",
    "fs subvolume info": "vol_name",
    "fs subvolume snapshot ls": "vol_name",
    "fs subvolume snapshot create": "vol_name",
    "fs subvolume snapshot rm": "vol_name",
}


def copies(every: str) -> int:
    """How many snapshots the mirror keeps: those of one day, because the daemon requires the last one that it sent.

    Ceph allows 100 in a directory (mds_max_snaps_per_dir), those of `snapshots` included.
    """
    return min(_MOST, max(_FEWEST, _SECONDS_OF_A_DAY // value_types.seconds(every)))


def mirrors(
    declared: Mapping[str, VolumeArgs],
    volumes: Mapping[str, Volume],
    *,
    namespace: Namespace,
    opts: pulumi.ResourceOptions,
) -> None:
    """Declares all mirrors of a stack that Ceph runs, and what they share."""
    ends = {
        name: (args.backend, args.mirror)
        for name, args in declared.items()
        if isinstance(args.backend, CephFs) and args.mirror and args.mirror.to.peer
    }
    shared = {
        rook: CephMirrors(
            rook,
            claims=sorted(name for name, (backend, _) in ends.items() if backend.cluster_id == rook),
            file_systems=sorted({backend.file_system for backend, _ in ends.values() if backend.cluster_id == rook}),
            namespace=namespace,
            opts=opts,
        )
        for rook in sorted({backend.cluster_id for backend, _ in ends.values()})
    }
    for name, (backend, mirror) in ends.items():
        if mirror.every:
            schedule(volumes[name], backend, mirror, mirror.every, shared[backend.cluster_id])


class CephMirrors(pulumi.ComponentResource):
    """What the mirrors in one of Rook's namespaces share: the agent, and a Ceph user for each file system.

    The user may run six commands on one file system. Rook creates its key and keeps it in a Secret.
    """

    def __init__(
        self,
        rook: str,
        *,
        claims: Sequence[str],
        file_systems: Iterable[str],
        namespace: Namespace,
        opts: pulumi.ResourceOptions,
    ) -> None:
        self.account = f"{namespace.plain_name}-{_COMPONENT}"
        self.rook = rook
        self.namespace = namespace
        self._scoped = f"{self.account}-{rook}"
        super().__init__(outputs.CEPH_MIRRORS, self._scoped, dict(outputs.CephMirrors(clusterId=rook)), opts)
        self._inside = pulumi.ResourceOptions(parent=self)
        self.agent = Agent(
            "ceph_mirror",
            name=self.account,
            resource_name=self._scoped,
            component=_COMPONENT,
            namespace=rook,
            image=versions.CEPH_IMAGE,
            resources=Resources(cpu="50m", memory="128Mi", memory_limit="512Mi"),
            rights=[
                # The mirrored claims, and all PersistentVolumes, because a claim's volume is not known yet.
                Rights(self._scoped, [_get("persistentvolumeclaims", claims)], namespace.name),
                Rights(self._scoped, [_get("persistentvolumes")]),
            ],
            egress=[{"ports": [*_PORTS]}],
            user=_USER,
            opts=self._inside,
        )
        """What the CronJobs run."""
        self.users = {one: self._user(one) for one in file_systems}
        """Names of the Ceph users, by file system."""
        self.register_outputs({})

    def _user(self, file_system: str) -> str:
        name = f"{self.account}-{file_system}"
        allowed = (f'allow command "{words}" with {key}="{file_system}"' for words, key in _COMMANDS.items())
        k8s.apiextensions.CustomResource(
            f"{self._scoped}-{file_system}",
            api_version=versions.ROOK_API,
            kind="CephClient",
            metadata={"name": name, "namespace": self.rook, "labels": labels(self.account, _COMPONENT)},
            spec={"caps": {"mon": "allow r", "mgr": ", ".join(allowed)}},
            opts=self._inside,
        )
        return name


def _get(resource: str, names: Sequence[str] = ()) -> "k8s.rbac.v1.PolicyRuleArgsDict":
    rule: k8s.rbac.v1.PolicyRuleArgsDict = {"api_groups": [""], "resources": [resource], "verbs": ["get"]}
    return {**rule, "resource_names": [*names]} if names else rule


def schedule(
    volume: Volume, backend: CephFs, mirror: MirrorArgs, every: str, shared: CephMirrors
) -> "k8s.batch.v1.CronJob":
    """The CronJob of one volume."""
    claim, user = volume.claim_name, shared.users[backend.file_system]
    arguments = [
        shared.namespace.plain_name,
        claim,
        f"--user={user}",
        f"--peer={mirror.to.peer}",
        f"--keep={copies(every)}",
    ]
    return shared.agent.cron_job(
        f"mirror-{claim}",
        shared.agent.pod(arguments, env=[JOB_NAME], mounts=_mounts(user), tmp_mib=_TMP_MIB),
        name=_job_name(shared.namespace.plain_name, claim),
        subject=claim,
        schedule=volsync.schedule(every) or "",
        seconds=_SECONDS_FOR_A_RUN,
        opts=pulumi.ResourceOptions(parent=volume, depends_on=[volume.claim, shared]),
    )


def _job_name(namespace: str, claim: str) -> str:
    """Rook's namespace holds the CronJobs of all stacks: a-b's volume c and a's volume b-c must differ."""
    return f"mirror-{claim[:_CLAIM_LIMIT].rstrip('-')}-{zlib.crc32(f'{namespace}/{claim}'.encode()):08x}"


def _mounts(user: str) -> list[Mount]:
    """The files of Rook's toolbox, with another user's key."""
    endpoints: k8s.core.v1.KeyToPathArgsDict = {"key": "data", "path": "mon-endpoints"}
    monitors: k8s.core.v1.ConfigMapVolumeSourceArgsDict = {"name": "rook-ceph-mon-endpoints", "items": [endpoints]}
    key: k8s.core.v1.SecretVolumeSourceArgsDict = {
        "secret_name": f"rook-ceph-client-{user}",
        "items": [{"key": user, "path": "key"}],
        # For the group of the pod's user to read.
        "default_mode": 0o440,
    }
    return [
        Mount({"name": "monitors", "config_map": monitors}, "/etc/rook/monitors"),
        Mount(
            {"name": "settings", "config_map": {"name": "rook-config-override", "optional": True}}, "/etc/rook/settings"
        ),
        Mount({"name": "key", "secret": key}, "/etc/rook/key"),
    ]
