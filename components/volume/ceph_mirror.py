"""Mirrors by Ceph itself: a CronJob beside Rook that has a volume's directory mirrored and takes what is sent.

Peers and the mirror daemon are of a whole file system, and so its owner's: nothing here changes them. The CronJob takes
the snapshots as subvolumes have them, and not by Ceph's `snap-schedule`: that takes no minutes by default (its option
allow_m_granularity), is off unless the CephFilesystem has schedules, and would go on when the volume is gone.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_kubernetes as k8s

from components import interval, restricted, versions
from components.labels import COMPONENT, TENSORPLANE, labels
from components.namespace import Namespace
from components.volume import volsync
from components.volume.mirror import MirrorArgs

if TYPE_CHECKING:
    from components.volume import Volume, VolumeArgs
    from components.volume.backends.cephfs import CephFs

CODE = "/opt/tensorplane/lib"
_SOURCES = Path(__file__).resolve().parents[2] / "ceph_mirror"
_PART = "ceph-mirrors"
# Those that Rook's toolbox has.
_USER = 2016
# Of the 52 characters that a CronJob's name may have.
_CLAIM_LIMIT = 36
_SECONDS_OF_A_DAY = 86400
_FEWEST, _MOST = 4, 48
_SECONDS_FOR_A_RUN = 600
_PORTS: "tuple[k8s.networking.v1.NetworkPolicyPortArgsDict, ...]" = (
    # The API server, by its service or its own port.
    {"protocol": "TCP", "port": 443},
    {"protocol": "TCP", "port": 6443},
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
    """How many snapshots stay for the mirror: those of a day, as the daemon needs the last one that it sent.

    Ceph has 100 in a directory (mds_max_snaps_per_dir), and those of `snapshots` are among them.
    """
    return min(_MOST, max(_FEWEST, _SECONDS_OF_A_DAY // interval.seconds(every)))


def mirrors(
    declared: Mapping[str, "VolumeArgs"],
    volumes: Mapping[str, "Volume"],
    *,
    namespace: Namespace,
    opts: pulumi.ResourceOptions,
) -> None:
    """All mirrors of a stack that Ceph makes, and what they share."""
    from components.volume.backends.cephfs import CephFs

    ends = {
        name: (args.backend, args.mirror)
        for name, args in declared.items()
        if isinstance(args.backend, CephFs) and args.mirror and args.mirror.to.peer
    }
    shared = {
        rook: BesideRook(
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


class BesideRook(pulumi.ComponentResource):
    """What the mirrors in one of Rook's namespaces share: an account that reads claims, the code, a user of Ceph's.

    The user may run six commands on one file system. Rook makes its key, which stays where Rook puts it.
    """

    def __init__(
        self,
        rook: str,
        *,
        claims: Iterable[str],
        file_systems: Iterable[str],
        namespace: Namespace,
        opts: pulumi.ResourceOptions,
    ) -> None:
        self.account = f"{namespace.plain_name}-{_PART}"
        self.rook = rook
        self.namespace = namespace
        self._scoped = f"{self.account}-{rook}"
        super().__init__("tensorplane:index:CephMirrors", self._scoped, {"clusterId": rook}, opts)
        self._inside = pulumi.ResourceOptions(parent=self)
        self.code = self._code()
        self._rights(list(claims))
        self._traffic()
        self.users = {one: self._user(one) for one in file_systems}
        """Name of Ceph's user by file system."""
        self.register_outputs({})

    def _metadata(self, name: str) -> "k8s.meta.v1.ObjectMetaArgsDict":
        return {"name": name, "namespace": self.rook, "labels": labels(self.account, _PART)}

    def _code(self) -> pulumi.Output[str]:
        content = {path.name: path.read_text() for path in sorted(_SOURCES.glob("*.py"))}
        digest = hashlib.sha256("\0".join(part for item in content.items() for part in item).encode()).hexdigest()
        name = f"{self.account}-{digest[:8]}"
        made = k8s.core.v1.ConfigMap(
            self._scoped, metadata=self._metadata(name), immutable=True, data=content, opts=self._inside
        )
        return made.metadata["name"]

    def _user(self, file_system: str) -> str:
        name = f"{self.account}-{file_system}"
        allowed = (f'allow command "{words}" with {key}="{file_system}"' for words, key in _COMMANDS.items())
        k8s.apiextensions.CustomResource(
            f"{self._scoped}-{file_system}",
            api_version=versions.ROOK_API,
            kind="CephClient",
            metadata=self._metadata(name),
            spec={"caps": {"mon": "allow r", "mgr": ", ".join(allowed)}},
            opts=self._inside,
        )
        return name

    def _rights(self, claims: list[str]) -> None:
        """See the claims that are mirrored, and the volumes that they are bound to, whose names nobody knows yet."""
        k8s.core.v1.ServiceAccount(
            self._scoped, metadata=self._metadata(self.account), automount_service_account_token=True, opts=self._inside
        )
        subject: k8s.rbac.v1.SubjectArgsDict = {
            "kind": "ServiceAccount",
            "name": self.account,
            "namespace": self.rook,
        }
        inside: k8s.meta.v1.ObjectMetaArgsDict = {
            "name": self._scoped,
            "namespace": self.namespace.name,
            "labels": labels(self.account, _PART),
        }
        role = k8s.rbac.v1.Role(
            self._scoped,
            metadata=inside,
            rules=[
                {
                    "api_groups": [""],
                    "resources": ["persistentvolumeclaims"],
                    "resource_names": [*claims],
                    "verbs": ["get"],
                }
            ],
            opts=self._inside,
        )
        k8s.rbac.v1.RoleBinding(
            self._scoped,
            metadata=inside,
            role_ref=_reference("Role", role.metadata["name"]),
            subjects=[subject],
            opts=self._inside,
        )
        everywhere: k8s.meta.v1.ObjectMetaArgsDict = {"name": self._scoped, "labels": TENSORPLANE}
        cluster_role = k8s.rbac.v1.ClusterRole(
            self._scoped,
            metadata=everywhere,
            rules=[{"api_groups": [""], "resources": ["persistentvolumes"], "verbs": ["get"]}],
            opts=self._inside,
        )
        k8s.rbac.v1.ClusterRoleBinding(
            self._scoped,
            metadata=everywhere,
            role_ref=_reference("ClusterRole", cluster_role.metadata["name"]),
            subjects=[subject],
            opts=self._inside,
        )

    def _traffic(self) -> None:
        k8s.networking.v1.NetworkPolicy(
            self._scoped,
            metadata=self._metadata(self.account),
            spec={
                "pod_selector": {"match_labels": {COMPONENT: _PART}},
                "policy_types": ["Ingress", "Egress"],
                "egress": [{"ports": [*_PORTS]}],
            },
            opts=self._inside,
        )


def schedule(
    volume: "Volume", backend: "CephFs", mirror: MirrorArgs, every: str, shared: BesideRook
) -> "k8s.batch.v1.CronJob":
    """The CronJob of one volume."""
    claim, user = volume.claim_name, shared.users[backend.file_system]
    name = _named(shared.namespace.plain_name, claim)
    arguments = [
        shared.namespace.plain_name,
        claim,
        f"--user={user}",
        f"--peer={mirror.to.peer}",
        f"--keep={copies(every)}",
    ]
    return k8s.batch.v1.CronJob(
        f"mirror-{claim}",
        metadata={"name": name, "namespace": shared.rook, "labels": labels(claim, _PART)},
        spec={
            "schedule": volsync.schedule(every) or "",
            "time_zone": "Etc/UTC",
            "concurrency_policy": "Forbid",
            "starting_deadline_seconds": _SECONDS_FOR_A_RUN,
            "successful_jobs_history_limit": 1,
            "failed_jobs_history_limit": 3,
            "job_template": {
                "spec": {
                    # A second try finds what the first has done.
                    "backoff_limit": 2,
                    "active_deadline_seconds": _SECONDS_FOR_A_RUN,
                    "template": {"metadata": {"labels": labels(name, _PART)}, "spec": _pod(shared, user, arguments)},
                }
            },
        },
        opts=pulumi.ResourceOptions(parent=volume, depends_on=[volume.claim, shared]),
    )


def _named(namespace: str, claim: str) -> str:
    """Rook's namespace has the jobs of every stack: what a-b has as c, and a has as b-c, are two."""
    return f"mirror-{claim[:_CLAIM_LIMIT].rstrip('-')}-{zlib.crc32(f'{namespace}/{claim}'.encode()):08x}"


def _pod(shared: BesideRook, user: str, arguments: list[str]) -> "k8s.core.v1.PodSpecArgsDict":
    volumes = _volumes(shared, user)
    mounts: list[k8s.core.v1.VolumeMountArgsDict] = [
        {"name": "code", "mount_path": f"{CODE}/ceph_mirror", "read_only": True},
        {"name": "monitors", "mount_path": "/etc/rook/monitors", "read_only": True},
        {"name": "settings", "mount_path": "/etc/rook/settings", "read_only": True},
        {"name": "key", "mount_path": "/etc/rook/key", "read_only": True},
        {"name": "tmp", "mount_path": "/tmp"},  # noqa: S108  # a volume of the pod's own
    ]
    return {
        "service_account_name": shared.account,
        "enable_service_links": False,
        "restart_policy": "Never",
        # The key is for this group to read.
        "security_context": restricted.pod(_USER),
        "containers": [
            {
                "name": "main",
                "image": versions.CEPH_IMAGE,
                "image_pull_policy": "IfNotPresent",
                "command": ["python3", "-m", "ceph_mirror", *arguments],
                "env": [
                    {"name": "HOME", "value": "/tmp"},  # noqa: S108  # a volume of the pod's own
                    {"name": "PYTHONPATH", "value": CODE},
                    {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"},
                    {
                        "name": "JOB_NAME",
                        "value_from": {"field_ref": {"field_path": "metadata.labels['batch.kubernetes.io/job-name']"}},
                    },
                ],
                "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
                "security_context": restricted.CONTAINER,
                "volume_mounts": mounts,
            }
        ],
        "volumes": volumes,
    }


def _volumes(shared: BesideRook, user: str) -> "list[k8s.core.v1.VolumeArgsDict]":
    """What Rook's toolbox is given, but another user's key."""
    endpoints: k8s.core.v1.KeyToPathArgsDict = {"key": "data", "path": "mon-endpoints"}
    return [
        {"name": "code", "config_map": {"name": shared.code}},
        {"name": "monitors", "config_map": {"name": "rook-ceph-mon-endpoints", "items": [endpoints]}},
        {"name": "settings", "config_map": {"name": "rook-config-override", "optional": True}},
        {
            "name": "key",
            "secret": {
                "secret_name": f"rook-ceph-client-{user}",
                "items": [{"key": user, "path": "key"}],
                "default_mode": 0o440,
            },
        },
        # The key is written there, too: it never touches a disk.
        {"name": "tmp", "empty_dir": {"medium": "Memory", "size_limit": "16Mi"}},
    ]


def _reference(kind: str, name: Any) -> "k8s.rbac.v1.RoleRefArgsDict":
    return {"api_group": "rbac.authorization.k8s.io", "kind": kind, "name": name}
