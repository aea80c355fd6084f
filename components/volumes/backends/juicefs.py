"""Volumes on JuiceFS: data in an object store, metadata in a database, both configured in a Secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from tensorplane.components.base.model import Line, Name, ObjectName, refuse_all_but
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.quantities import MIB_PER_GIB
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import storage_class_per_volume
from tensorplane.components.volumes.backend import Backend, Request
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.capabilities import CSI, AccessMode, Capabilities

_DRIVER = "csi.juicefs.com"


def _check_directory(value: str) -> str:
    if not value.startswith("/") or any(part in ("", ".", "..") for part in value.split("/")[1:]):
        refuse_all_but("the absolute path of a directory on the nodes, such as /var/jfsCache")
    return value


class JuiceFs(Backend):
    """A directory of a JuiceFS file system. The cluster must have its CSI driver (0.31 or newer for snapshots)."""

    kind: Literal["juicefs"] = "juicefs"

    secret: ObjectName
    """Secret with the file system's `name`, `metaurl` (the metadata engine), `storage`, `bucket` and keys, in the
    format of JuiceFS' CSI driver. tensorplane does not read it."""
    secret_namespace: Name
    """Namespace of that Secret, such as kube-system. The stack's own namespace only exists after the first deployment.
    """
    cache_dir: Annotated[Line, AfterValidator(_check_directory)] = "/var/jfsCache"
    """Directory on the nodes for `cache`."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"existing", "eks", "gke", "aks"})
    # The driver does not support read-only volumes, and reports a restored volume before it is complete.
    mirror_copies: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany"),
        snapshot=CSI,
        expand=True,
        mount_scope="region",
        quota="JuiceFS",
        cache="`cacheDir` of the node",
        external_access="`juicefs mount` with the same metadata engine and bucket",
        consistency="per file, not point-in-time",
        throughput_depends_on="object store and `cache`",
    )

    @property
    def csi_driver(self) -> str | None:
        return _DRIVER

    @property
    def snapshot_parameters(self) -> Mapping[str, str]:
        return storage_class_per_volume.secret("snapshotter", self.secret, self.secret_namespace)

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        if args.cache and args.cache.size_gib * MIB_PER_GIB < 1:
            yield Problem(("cache", "sizeGib"), f"{args.cache.size_gib:g} GiB is less than 1 MiB; set 0.001 or more")

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        parameters: dict[str, str] = {}
        for use in ("provisioner", "node-publish", "controller-expand"):
            parameters |= storage_class_per_volume.secret(use, self.secret, self.secret_namespace)
        cache = request.args.cache
        options = [f"cache-dir={self.cache_dir}", f"cache-size={round(cache.size_gib * MIB_PER_GIB)}"] if cache else []
        return storage_class_per_volume.claim(
            request, opts, provisioner=_DRIVER, parameters=parameters, mount_options=options
        )
