"""Volumes on an NFS server of yours: a folder that it exports, which every node shares."""

from typing import Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import AfterValidator

from components.host import Host
from components.model import Line, refuse
from components.volume import static
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities


def _export(value: str) -> str:
    parts = value.split("/")
    if not value.startswith("/") or any(part in ("", ".", "..") for part in parts[1:]):
        refuse("the absolute path of a folder that the server exports, such as /exports/models")
    return value


class Nfs(Backend):
    """A folder of an NFS server that is there already. On the server, user or group 65532 needs the right to write."""

    kind: Literal["nfs"] = "nfs"

    server: Host
    """The server's name or address, as nodes reach it."""
    folder: Annotated[Line, AfterValidator(_export)]
    """The folder, as the server exports it. It has to exist."""
    version: Literal["3", "4.0", "4.1", "4.2"] = "4.1"
    """Version of the protocol."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"existing", "eks", "gke", "aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        reach="region",
        outside="as the server lets them",
        throughput="the server",
    )

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        source: k8s.core.v1.PersistentVolumeSpecArgsDict = {
            "nfs": {"server": self.server, "path": self.folder},
            "mount_options": [f"nfsvers={self.version}", "hard", "noatime"],
        }
        return static.claim(request, opts, source)
