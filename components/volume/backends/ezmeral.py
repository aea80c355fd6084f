"""Volumes of HPE Ezmeral Data Fabric, MapR's successor: shared by all nodes, with snapshots, and placed by topology."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import AfterValidator, Field

from components.cluster import ClusterArgs
from components.faults import Fault
from components.model import Filled, Line, Name, ObjectName, refuse
from components.volume import own_class
from components.volume.backend import Backend, Request
from components.volume.capabilities import CSI, AccessMode, Capabilities

if TYPE_CHECKING:
    from components.volume import VolumeArgs

# As https://github.com/mapr/mapr-csi has them: the POSIX client and the loopback NFS server on each node.
_DRIVERS: Mapping[str, str] = {"fuse": "com.mapr.csi-kdf", "nfs": "com.mapr.csi-nfskdf"}


def _host(value: str) -> str:
    if not value or any(character.isspace() or character == "," for character in value):
        refuse("one host a line, such as cldb1.example.org:7222")
    return value


def _path(value: str) -> str:
    if not value.startswith("/") or any(part in ("", ".", "..") for part in value.split("/")[1:]):
        refuse("an absolute path of the data fabric, such as /tensorplane")
    return value


def _some(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        refuse("at least one host")
    return value


Hosts = Annotated[tuple[Annotated[Line, AfterValidator(_host)], ...], AfterValidator(_some)]
Path = Annotated[Line, AfterValidator(_path)]


class Ezmeral(Backend):
    """A volume of a data fabric that is there already, made by its CSI driver, which the cluster has."""

    kind: Literal["ezmeral"] = "ezmeral"

    cluster: Filled
    """Name of the data fabric, such as my.cluster.com."""
    cldb_hosts: Hosts
    """Hosts of its container location database, with ports: cldb1.example.org:7222."""
    rest_servers: Hosts
    """Hosts of its REST API, with ports: api1.example.org:8443."""
    provisioner_secret: ObjectName
    """Secret with MAPR_CLUSTER_USER and MAPR_CLUSTER_PASSWORD, by which the driver makes volumes."""
    ticket_secret: ObjectName | None = None
    """Secret with CONTAINER_TICKET, by which nodes mount them; needed where `security` is secure."""
    secret_namespace: Name
    """Namespace of those Secrets."""
    security: Literal["secure", "unsecure"] = "secure"
    """Whether the data fabric wants tickets, as it calls it itself."""
    client: Literal["fuse", "nfs"] = "fuse"
    """How nodes mount it: the POSIX client, or NFS with a server on each node. Each is a CSI driver of its own."""
    mount_prefix: Path = "/tensorplane"
    """Folder of the data fabric in which the volumes are seen from outside."""
    topology: Path | None = None
    """Racks that hold the data, as the data fabric names them: /data/rack1. Its own default otherwise."""
    advisory_quota_gib: Annotated[int, Field(gt=0)] | None = None
    """GiB at which the data fabric warns, before `sizeGib` is reached."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"existing", "eks", "gke", "aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=CSI,
        clone=CSI,
        expand=True,
        reach="region",
        quota="the data fabric",
        min_gib=1,
        outside="POSIX client or NFS, below `mountPrefix`",
        consistency="as after a power failure",
        throughput="the data fabric's disks",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVERS[self.client]

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        secret = own_class.secret("snapshotter", self.provisioner_secret, self.secret_namespace)
        return {"restServers": " ".join(self.rest_servers), "cluster": self.cluster, **secret}

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        if self.security == "secure" and self.ticket_secret is None:
            reason = "missing, and nodes mount a secure data fabric with a ticket: the Secret with CONTAINER_TICKET"
            yield Fault(("backend", "ticketSecret"), reason, given=(("backend", "security"),))
        if self.advisory_quota_gib and self.advisory_quota_gib > args.size_gib:
            reason = f"got {self.advisory_quota_gib}, and the volume has {args.size_gib:g} GiB: need less"
            yield Fault(("backend", "advisoryQuotaGib"), reason, given=(("sizeGib",),))

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        asked = {
            "csiProvisionerSecretName": self.provisioner_secret,
            "csiProvisionerSecretNamespace": self.secret_namespace,
            "csiNodePublishSecretName": self.ticket_secret,
            "csiNodePublishSecretNamespace": self.secret_namespace if self.ticket_secret else None,
            "restServers": " ".join(self.rest_servers),
            "cldbHosts": " ".join(self.cldb_hosts),
            "cluster": self.cluster,
            "securityType": self.security,
            # The driver appends what makes it the volume's own; without a name, all of a data fabric look alike.
            "namePrefix": request.name,
            "mountPrefix": self.mount_prefix,
            "topology": self.topology,
            "advisoryquota": f"{self.advisory_quota_gib}G" if self.advisory_quota_gib else None,
        }
        parameters = {key: value for key, value in asked.items() if value}
        return own_class.claim(request, opts, provisioner=_DRIVERS[self.client], parameters=parameters)
