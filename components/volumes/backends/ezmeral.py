"""Volumes of HPE Ezmeral Data Fabric (MapR): shared, with snapshots, placed by topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from tensorplane.components.base.model import In, Line, Name, NonEmptyStr, ObjectName, refuse_all_but
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.base.value_types import is_host
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import storage_class_per_volume
from tensorplane.components.volumes.backend import Backend, Request
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.capabilities import CSI, AccessMode, Capabilities

# As https://github.com/mapr/mapr-csi has them: the POSIX client and the loopback NFS server on each node.
_DRIVERS: Mapping[str, str] = {"fuse": "com.mapr.csi-kdf", "nfs": "com.mapr.csi-nfskdf"}


def _check_host(value: str) -> str:
    host, colon, port = value.partition(":")
    if not is_host(host) or (colon and not (port.isascii() and port.isdigit() and int(port) in range(1, 65536))):
        refuse_all_but("one host, such as cldb1.example.org:7222")
    return value


def _check_path(value: str) -> str:
    if not value.startswith("/") or any(part in ("", ".", "..") for part in value.split("/")[1:]):
        refuse_all_but("an absolute path in the data fabric, such as /tensorplane")
    return value


def _check_not_empty(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        refuse_all_but("at least one host")
    return value


_Host = Annotated[Line, AfterValidator(_check_host)]
Hosts = Annotated[tuple[_Host, ...], AfterValidator(_check_not_empty)]
InHosts = Annotated[tuple[In[_Host], ...], AfterValidator(_check_not_empty)]
Path = Annotated[Line, AfterValidator(_check_path)]


class Ezmeral(Backend):
    """A volume of an existing data fabric, provisioned by its CSI driver, which the cluster must have."""

    kind: Literal["ezmeral"] = "ezmeral"

    cluster: NonEmptyStr
    """Name of the data fabric, such as my.cluster.com."""
    cldb_hosts: InHosts
    """Hosts and ports of the container location database (CLDB), such as cldb1.example.org:7222."""
    rest_servers: Hosts
    """Hosts and ports of the REST API, such as api1.example.org:8443."""
    provisioner_secret: ObjectName
    """Secret with MAPR_CLUSTER_USER and MAPR_CLUSTER_PASSWORD, with which the driver creates volumes."""
    ticket_secret: In[ObjectName] | None = None
    """Secret with CONTAINER_TICKET, with which nodes mount volumes. Required if `security` is secure."""
    secret_namespace: Name
    """Namespace of those Secrets."""
    security: Literal["secure", "unsecure"] = "secure"
    """Security mode of the data fabric; `secure` uses tickets."""
    client: Literal["fuse", "nfs"] = "fuse"
    """How nodes mount volumes: with the POSIX client, or over NFS with a server on each node. Each has its own CSI
    driver."""
    mount_prefix: Path = "/tensorplane"
    """Directory of the data fabric in which its volumes are mounted."""
    topology: Path | None = None
    """Topology path of the racks that hold the data, such as /data/rack1; the data fabric's default by default."""
    advisory_quota_gib: Annotated[int, Field(gt=0, le=1_048_576)] | None = None
    """Advisory quota in GiB, at which the data fabric warns; below `sizeGib`."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"existing", "eks", "gke", "aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        clone=CSI,
        expand=True,
        mount_scope="region",
        quota="the data fabric",
        min_gib=1,
        external_access="POSIX client or NFS, below `mountPrefix`",
        consistency="crash-consistent",
        throughput_depends_on="the data fabric's disks",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVERS[self.client]

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        secret = storage_class_per_volume.secret("snapshotter", self.provisioner_secret, self.secret_namespace)
        return {"restServers": " ".join(self.rest_servers), "cluster": self.cluster, **secret}

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        if self.security == "secure" and self.ticket_secret is None:
            reason = "missing, but a secure data fabric requires a ticket; set the Secret that has CONTAINER_TICKET"
            yield Problem(("backend", "ticketSecret"), reason, given=(("backend", "security"),))
        if self.advisory_quota_gib and self.advisory_quota_gib > args.size_gib:
            reason = f"{self.advisory_quota_gib} is not below the volume's {args.size_gib:g} GiB; set less"
            yield Problem(("backend", "advisoryQuotaGib"), reason, given=(("sizeGib",),))

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        hosts = pulumi.Output.all(*map(as_input, self.cldb_hosts))
        given: dict[str, pulumi.Input[str] | None] = {
            "csiProvisionerSecretName": self.provisioner_secret,
            "csiProvisionerSecretNamespace": self.secret_namespace,
            "csiNodePublishSecretName": as_input(self.ticket_secret) if self.ticket_secret else None,
            "csiNodePublishSecretNamespace": self.secret_namespace if self.ticket_secret else None,
            "restServers": " ".join(self.rest_servers),
            "cldbHosts": hosts.apply(" ".join),
            "cluster": self.cluster,
            "securityType": self.security,
            # A prefix that identifies the volume in the data fabric; the driver appends a unique suffix.
            "namePrefix": request.name,
            "mountPrefix": self.mount_prefix,
            "topology": self.topology,
            "advisoryquota": f"{self.advisory_quota_gib}G" if self.advisory_quota_gib else None,
        }
        parameters = {key: value for key, value in given.items() if value}
        return storage_class_per_volume.claim(request, opts, provisioner=_DRIVERS[self.client], parameters=parameters)
