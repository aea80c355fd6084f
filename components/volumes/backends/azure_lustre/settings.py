"""Settings and capabilities of backend `azureLustre`."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from tensorplane.components.base.model import In, Line, Model, NonEmptyStr, refuse_all_but
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities


def _check_prefix(value: str) -> str:
    if not value.startswith("/"):
        refuse_all_but("a folder of the container, from its root on, such as /images")
    return value


Prefix = Annotated[Line, AfterValidator(_check_prefix)]


class Blob(Model):
    """A blob container whose blobs appear as files, and are read on first access. Grant the service `HPC Cache Resource
    Provider` the roles Storage Account Contributor and Storage Blob Data Contributor on it. A change of anything but
    `export` replaces the file system."""

    container: In[NonEmptyStr]
    """Resource id of the container."""
    logging_container: In[NonEmptyStr]
    """Resource id of another container of the same account, for logs of imports and exports."""
    import_prefixes: Annotated[tuple[Prefix, ...], Field(max_length=10)] = ("/",)
    """Folders of the container to import when the file system is created; all by default."""
    export: bool = False
    """Whether changed files are exported to the container automatically."""


class LustreKey(Model):
    """A customer-managed key and the identity that uses it. A change replaces the file system."""

    vault: In[NonEmptyStr]
    """Resource id of the key vault, in the cluster's region and subscription."""
    url: In[NonEmptyStr]
    """URL of the key with its version, such as https://research.vault.azure.net/keys/lustre/0123."""
    identity: In[NonEmptyStr]
    """Resource id of a user-assigned identity with the role Key Vault Crypto User."""


class AzureLustreSettings(Backend):
    """Settings of backend `azureLustre`."""

    mbps_per_tib: Literal[40, 125, 250, 500] = 125
    """Throughput in MB/s per TiB. Sizes are multiples of 48, 16, 8 or 4 TiB, respectively. A change replaces the file
    system."""
    subnet: In[NonEmptyStr] | None = None
    """Resource id of a subnet for the file system. Required if the nodes use an existing subnet; a new subnet
    otherwise."""
    blob: Blob | None = None
    """A blob container to import and export; none by default."""
    key: LustreKey | None = None
    """Customer-managed key; a Microsoft-managed key by default."""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"aks"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        placement="one zone",
        mount_scope="region",
        encryption="always; `key`",
        quota="the file system",
        external_access="Lustre with `mount -t lustre`, from the VNet or connected networks",
        min_gib=4096,
        throughput_depends_on="`mbpsPerTib` and size",
    )

    @property
    def may_have_content(self) -> bool:
        return self.blob is not None
