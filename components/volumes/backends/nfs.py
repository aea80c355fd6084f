"""Volumes on an existing NFS server: an exported directory that all nodes share."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from tensorplane.components.base.model import In, Line, refuse_all_but
from tensorplane.components.base.produced import as_input
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.base.value_types import Host
from tensorplane.components.volumes import static
from tensorplane.components.volumes.backend import Backend, Request
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities


def _check_export_path(value: str) -> str:
    parts = value.split("/")
    if not value.startswith("/") or any(part in ("", ".", "..") for part in parts[1:]):
        refuse_all_but("the absolute path of an exported directory, such as /exports/models")
    return value


class Nfs(Backend):
    """A directory of an existing NFS server. User or group 65532 must be able to write to it."""

    kind: Literal["nfs"] = "nfs"

    server: In[Host]
    """Host name or address of the server, as nodes reach it."""
    folder: In[Annotated[Line, AfterValidator(_check_export_path)]]
    """Exported directory, which must exist."""
    version: Literal["3", "4.0", "4.1", "4.2"] = "4.1"
    """NFS version."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"existing", "eks", "gke", "aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        mount_scope="region",
        supports_teams=True,
        external_access="as the server allows",
        throughput_depends_on="the server",
    )

    @property
    def may_have_content(self) -> bool:
        return True

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        source: k8s.core.v1.PersistentVolumeSpecArgsDict = {
            "nfs": {"server": as_input(self.server), "path": as_input(self.folder)},
            "mount_options": [f"nfsvers={self.version}", "hard", "noatime"],
        }
        return static.claim(request, opts, source)
