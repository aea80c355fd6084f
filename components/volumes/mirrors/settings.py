"""Settings of a mirror: a continuously updated copy of a volume elsewhere."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tensorplane.components.base import value_types
from tensorplane.components.base.model import In, Model, Name, NonEmptyStr, ObjectName, refuse_all_but
from tensorplane.components.base.value_types import Host, Interval


class Remote(Model):
    """A volume of another cluster, which declares `from: {mirror: …}` there."""

    address: In[Host]
    """Host name or IP address at which the other cluster receives the data."""
    key_secret: In[ObjectName]
    """Secret of the stack's namespace with the pre-shared key of both clusters, as `psk.txt`."""
    port: Annotated[int, Field(ge=1, le=65535)] = 8000
    """Port at that address."""


class MirrorTarget(Model):
    """Where the copy is kept: exactly one of these. The capability matrix says which backends support which."""

    region: NonEmptyStr | None = None
    """Another region of the cloud than the cluster's."""
    pool: Literal["mirror"] | None = None
    """The embedded cluster's second storage pool."""
    volume: Name | None = None
    """Another volume of this stack, on any backend. Pods mount it read-only while it is a mirror."""
    remote: Remote | None = None
    """A volume of another cluster."""
    peer: NonEmptyStr | None = None
    """A Ceph peer: the `site_name` in `ceph fs snapshot mirror peer_list`. If Rook created the peer, it is the other
    cluster's fsid."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            refuse_all_but("exactly one of region, pool, volume, remote and peer")
        return self

    @property
    def way(self) -> str:
        """The key that is set."""
        return next(iter(self.model_fields_set))

    @property
    def by_volsync(self) -> bool:
        """Whether VolSync copies the data, rather than the backend itself."""
        return self.volume is not None or self.remote is not None


class MirrorArgs(Model):
    """A continuously updated copy of the volume."""

    to: MirrorTarget
    """Where the copy is kept."""
    every: Interval | None = None
    """Interval between copies, such as 15m, 1h or 1d, if the backend lets you choose it."""

    alert: bool = False
    """Whether to create a PrometheusRule that alerts when VolSync's copy is older than `every`. Requires the Prometheus
    operator."""

    @property
    def every_seconds(self) -> int | None:
        """The interval in seconds."""
        return value_types.seconds(self.every) if self.every else None
