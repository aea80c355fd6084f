"""Settings and capabilities of backend `gcsFuse`."""

import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator

from tensorplane.components.base.model import In, NonEmptyStr, RelativePath, refuse_all_but
from tensorplane.components.volumes.backend import Backend, PodMetadata
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities

REACHES = "tensorplane.dev/reaches"
"""Label of the pods that a NetworkPolicy allows to reach the service in its value."""
EVERYBODY = "namespace"
"""Name for the rights of all service accounts of the stack's namespace on a bucket."""


def _check_bucket(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]", value):
        refuse_all_but("a bucket name, such as acme-datasets")
    return value


class GcsFuseSettings(Backend):
    """Settings of backend `gcsFuse`."""

    bucket: In[Annotated[str, AfterValidator(_check_bucket)]] | None = None
    """Name of an existing bucket. By default a new one: private, with a hierarchical namespace and 7 days of soft
    delete."""
    prefix: RelativePath | None = None
    """Folder of the bucket that pods see; the whole bucket by default. Permissions apply to the whole bucket."""
    hierarchical: bool | None = None
    """Whether an existing bucket has a hierarchical namespace. Without it, folders cannot be renamed, so checkpoints
    and models must be elsewhere."""
    kms_key: In[NonEmptyStr] | None = None
    """Cloud KMS key of a new bucket (projects/…/cryptoKeys/…) that the Cloud Storage service agent may use; a
    Google-managed key by default."""
    mirror_kms_key: In[NonEmptyStr] | None = None
    """Cloud KMS key of the copy, in its region. Required if `kmsKey` and a mirror are set."""
    addresses: tuple[NonEmptyStr, ...] | None = None
    """CIDR blocks at which pods reach Cloud Storage. Required in an existing network: the addresses of
    storage.googleapis.com in its DNS. In a new network, those of private.googleapis.com."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"gke"})
    # The driver is a sidecar of the pod. Its default limits, a quarter of a CPU and 5 GiB of disk, would throttle it
    # and evict the pod because of its cache. Zero means no limit; the requests keep their defaults.
    pod_metadata: ClassVar[PodMetadata] = PodMetadata(
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
        hard_links=False,
        # VolSync's mover pods cannot have the driver's sidecar.
        volsync=False,
        expand=True,
        mount_scope="region",
        encryption="always; `kmsKey`",
        cache="the node's disk",
        external_access="`gcloud storage`, `gcsfuse`, from anywhere, with rights on the bucket",
        throughput_depends_on="the node's network",
    )

    @property
    def renames(self) -> bool:
        return self.bucket is None or bool(self.hierarchical)

    @property
    def may_have_content(self) -> bool:
        return self.bucket is not None
