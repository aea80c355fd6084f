"""Volumes: named storage that workloads mount, outliving them; the backend is chosen by kind."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, cast

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components import quantity
from components.cluster import ClusterArgs
from components.family import Variant, load_family
from components.labels import labels
from components.model import Model
from components.namespace import Namespace

AccessMode = Literal["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]


@dataclass(frozen=True)
class Request:
    """One volume as a backend sees it."""

    name: str
    namespace: Namespace
    size_gib: float
    access_modes: list[AccessMode]

    def claim(
        self,
        opts: pulumi.ResourceOptions,
        *,
        storage_class: str | None,
        volume: pulumi.Input[str] | None = None,
    ) -> k8s.core.v1.PersistentVolumeClaim:
        """The claim that pods mount. `storage_class` None asks for the cluster's default class, "" for none."""
        return k8s.core.v1.PersistentVolumeClaim(
            self.name,
            metadata={
                "name": self.name,
                "namespace": self.namespace.name,
                "labels": labels(self.name, "volume"),
            },
            spec={
                "access_modes": self.access_modes,
                "resources": {"requests": {"storage": quantity.gibibytes(self.size_gib)}},
                "storage_class_name": storage_class,
                "volume_name": volume,
            },
            opts=opts,
        )


class Backend(Variant, family=True):
    """What stores the bytes of a volume."""

    kind: str

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteOnce",)
    """Access modes of volumes that name none."""
    clusters: ClassVar[frozenset[str] | None] = None
    """Kinds of cluster that have this backend; None for all."""

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        """Create the claim, and what it needs, as children."""
        raise NotImplementedError


load_family(__name__, __path__)


class VolumeArgs(Model):
    """Settings of one volume."""

    size_gib: Annotated[float, Field(gt=0, le=1048576)]
    """Size in GiB."""
    backend: Backend | None = None
    """What stores it. The cluster's usual one by default: `embedded` there, a StorageClass elsewhere."""
    access_modes: Annotated[list[AccessMode], Field(min_length=1)] | None = None
    """How pods may mount it; by default ReadWriteMany on `embedded`, elsewhere ReadWriteOnce: all on one node."""
    retain: bool = True
    """Refuse to delete the volume. Set it to false, and deploy that, before removing a volume and its data."""

    def backend_on(self, cluster: ClusterArgs) -> Backend:
        """The backend in use on this cluster."""
        return self.backend or cast(Backend, Backend.variants[cluster.volume_backend]())


class Volume(pulumi.ComponentResource):
    """A volume that workloads mount by its claim.

    With `retain`, `pulumi destroy` and removing it from the settings are refused before anything changes
    (`pulumi destroy --exclude-protected` deletes the rest), and even an unprotected object stays in the cluster.
    """

    def __init__(
        self,
        name: str,
        args: VolumeArgs,
        *,
        cluster: ClusterArgs,
        namespace: Namespace,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        backend = args.backend_on(cluster)
        modes = args.access_modes or list(backend.access_modes)
        props = {"sizeGib": args.size_gib, "backend": backend.kind, "accessModes": modes, "retain": args.retain}
        super().__init__("tensorplane:index:Volume", name, props, opts)
        request = Request(name, namespace, args.size_gib, modes)
        keep = pulumi.ResourceOptions(parent=self, protect=args.retain, retain_on_delete=args.retain)
        self.claim = backend.provision(request, keep)
        self.claim_name = name
        """Name of the claim in the stack's namespace."""
        self.one_node = set(modes) == {"ReadWriteOnce"}
        """Whether only the pods of one node can mount it."""
        self.register_outputs({"claimName": self.claim.metadata["name"], "sizeGib": args.size_gib})
