"""Volumes on GKE that are buckets of Cloud Storage, mounted by Cloud Storage FUSE."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import AfterValidator

from components.cidr import inner_network
from components.cluster import Cluster, ClusterArgs
from components.cluster.gke import Gke
from components.faults import Fault
from components.model import Filled, RelativePath, refuse
from components.namespace import Namespace
from components.volume import access
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities
from components.volume.clouds import another_region, copy_name
from components.volume.marks import Marks

if TYPE_CHECKING:
    from components.volume import VolumeArgs

REACHES = "tensorplane.dev/reaches"
"""Label of the pods that a NetworkPolicy lets out to what its value names."""
EVERYBODY = "namespace"
"""Whose rights on a bucket are called so: all service accounts of the stack's namespace."""
_HOUR = 3600


def _bucket(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]", value):
        refuse("a bucket's name alone, such as acme-datasets")
    return value


class GcsFuse(Backend):
    """A bucket of Cloud Storage, in the cluster's region. Files are objects: opened slowly, read fast, never locked."""

    kind: Literal["gcsFuse"] = "gcsFuse"

    bucket: Annotated[str, AfterValidator(_bucket)] | None = None
    """A bucket that is there already; a new one by default, with a hierarchical namespace, private, undelete for 7
    days."""
    prefix: RelativePath | None = None
    """The folder of the bucket that pods see; all of it by default. Rights are on the whole bucket."""
    hierarchical: bool | None = None
    """Whether a bucket of yours has a hierarchical namespace, without which no folder can be renamed, and checkpoints
    and models have to be elsewhere."""
    kms_key: Filled | None = None
    """Cloud KMS key that encrypts a new bucket (projects/…/cryptoKeys/…), which Cloud Storage's agent may use. Google's
    own by default."""
    mirror_kms_key: Filled | None = None
    """The key of the copy, in its region. Needed where there are `kmsKey` and a mirror."""
    addresses: tuple[Filled, ...] | None = None
    """Where pods reach Cloud Storage, as CIDR blocks. Needed in a network of yours: what its DNS makes of
    storage.googleapis.com. In the cluster's own those of private.googleapis.com."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    # The driver's process runs in the pod. Its limits are what they are for a shell: a quarter of a CPU and 5 GiB of
    # disk would throttle it, and evict the pod for its cache. Zero is none; what it requests stays.
    marks: ClassVar[Marks] = Marks(
        labels={REACHES: "cloud-storage"},
        annotations={
            "gke-gcsfuse/volumes": "true",
            "gke-gcsfuse/cpu-limit": "0",
            "gke-gcsfuse/memory-limit": "0",
            "gke-gcsfuse/ephemeral-storage-limit": "0",
        },
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        mirror={"region": "Storage Transfer"},
        # A mover's pod has no part of the driver in it, and VolSync lets nobody add one.
        volsync=False,
        expand=True,
        reach="region",
        encryption="always; `kmsKey`",
        cache="the node's disk",
        outside="`gcloud storage`, `gcsfuse`, from anywhere, with rights on the bucket",
        throughput="the node's network",
    )

    @property
    def renames(self) -> bool:
        return self.bucket is None or bool(self.hierarchical)

    def makes(self, name: str, args: "VolumeArgs") -> Iterator[tuple[str, str]]:
        if self.bucket is None:
            yield from copy_name.both("bucket", name, args)
        everybody = args.readers is None and args.writers is None
        for who in [EVERYBODY] if everybody else access.accounts({*(args.readers or ()), *(args.writers or ())}):
            yield "right on a bucket", f"{name}-{who}"

    def check(self, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
        if self.bucket:
            for key, given in (("kmsKey", self.kms_key), ("mirrorKmsKey", self.mirror_kms_key)):
                if given:
                    yield Fault(("backend", key), f"given, and bucket {self.bucket} is there already: set it there")
            if args.mirror and args.mirror.to.region:
                yield Fault(("mirror",), f"given, and bucket {self.bucket} is yours: only new ones have mirrors")
        else:
            yield from another_region.faults(args, cluster, key=self.kms_key, copy_key=self.mirror_kms_key)
            if self.hierarchical is not None:
                yield Fault(
                    ("backend", "hierarchical"), "given, and a new bucket always is: name yours, or leave it out"
                )
        yield from self._addresses(cluster)
        for key, members in (("readers", args.readers), ("writers", args.writers)):
            for group in access.groups(members):
                reason = f"got group:{group}, the rights on a bucket are service accounts': list those of its pods"
                yield Fault((key,), reason)
        if args.mirror and (every := args.mirror.every_seconds) and every < _HOUR:
            yield Fault(("mirror", "every"), f"got {args.mirror.every}, Storage Transfer has at least 1h")

    def _addresses(self, cluster: ClusterArgs) -> Iterator[Fault]:
        for index, cidr in enumerate(self.addresses or ()):
            if isinstance(found := inner_network(cidr), str):
                yield Fault(("backend", "addresses", str(index)), found)
        if isinstance(cluster, Gke) and cluster.network.existing and not self.addresses:
            need = "what its DNS makes of storage.googleapis.com, such as 199.36.153.8/30 for private.googleapis.com"
            yield Fault(("backend", "addresses"), f"missing, and the cluster is in a network of yours: {need}")

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, "VolumeArgs"]
    ) -> Sequence[pulumi.Resource]:
        # Here, and not above: whoever runs another kind of cluster never imports the SDK of Google Cloud.
        from components.gke import bucket_network

        own = [backend for args in volumes.values() if isinstance(backend := args.backend, GcsFuse)]
        return bucket_network.open_way(cluster, namespace, [cidr for one in own for cidr in one.addresses or ()])

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> "k8s.core.v1.PersistentVolumeClaim":
        from components.gke import bucket

        return bucket.claim(self, request, opts)
