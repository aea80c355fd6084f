"""Volumes on JuiceFS: files in an object store, their names in a database, both told by a Secret of yours."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import AfterValidator

from components.cluster import ClusterArgs
from components.faults import Fault
from components.model import Line, Name, ObjectName, refuse
from components.volume import own_class
from components.volume.backend import Backend, Request
from components.volume.capabilities import CSI, AccessMode, Capabilities

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_DRIVER = "csi.juicefs.com"
_MIB_PER_GIB = 1024


def _directory(value: str) -> str:
    if not value.startswith("/") or any(part in ("", ".", "..") for part in value.split("/")[1:]):
        refuse("the absolute path of a directory on the nodes, such as /var/jfsCache")
    return value


class JuiceFs(Backend):
    """A directory of a JuiceFS file system. The cluster has its CSI driver, from 0.31 on where snapshots are taken."""

    kind: Literal["juicefs"] = "juicefs"

    secret: ObjectName
    """Secret with the file system's `name`, `metaurl` (the metadata engine), `storage`, `bucket` and keys, as JuiceFS'
    driver takes them. It is never read here."""
    secret_namespace: Name
    """Namespace of that Secret, such as kube-system. The stack's own is there only after the first deployment."""
    cache_dir: Annotated[Line, AfterValidator(_directory)] = "/var/jfsCache"
    """Directory on the nodes where `cache` is kept."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"existing", "eks", "gke", "aks"})
    # The driver refuses to make a volume that is read-only, and it answers before a restored one is complete.
    mirror_copies: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany"),
        snapshot=CSI,
        expand=True,
        reach="region",
        quota="JuiceFS",
        cache="`cacheDir` of the node",
        outside="`juicefs mount` with the same metadata engine and bucket",
        consistency="file by file, from a span of time",
        throughput="object store and `cache`",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVER

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        return own_class.secret("snapshotter", self.secret, self.secret_namespace)

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        if args.cache and args.cache.size_gib * _MIB_PER_GIB < 1:
            yield Fault(("cache", "sizeGib"), f"got {args.cache.size_gib:g}, need at least 1 MiB")

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        parameters: dict[str, str] = {}
        for use in ("provisioner", "node-publish", "controller-expand"):
            parameters |= own_class.secret(use, self.secret, self.secret_namespace)
        cache = request.args.cache
        options = [f"cache-dir={self.cache_dir}", f"cache-size={round(cache.size_gib * _MIB_PER_GIB)}"] if cache else []
        return own_class.claim(request, opts, provisioner=_DRIVER, parameters=parameters, mount_options=options)
