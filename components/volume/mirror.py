"""A copy of a volume elsewhere that follows by itself: its settings."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from components import interval
from components.host import Host
from components.interval import Interval
from components.model import Filled, Model, Name, ObjectName, refuse


class Remote(Model):
    """A volume of another cluster, which has `from: {mirror: …}` there."""

    address: Host
    """Host name or IP address at which that cluster takes the bytes."""
    key_secret: ObjectName
    """Secret of the stack's namespace with the key that both sides have, as `psk.txt`."""
    port: Annotated[int, Field(ge=1, le=65535)] = 8000
    """Port at that address."""


class MirrorTarget(Model):
    """Where the copy is kept: exactly one of these, of which the capability matrix has those of each backend."""

    region: Filled | None = None
    """Region of the cloud, another one than the cluster's."""
    pool: Literal["mirror"] | None = None
    """The embedded cluster's second pool."""
    volume: Name | None = None
    """A volume of these settings, on whatever backend: it follows this one, and pods mount it read-only meanwhile."""
    remote: Remote | None = None
    """A volume of another cluster."""
    peer: Filled | None = None
    """Ceph's own mirror: the `site_name` of the file system's peer in `ceph fs snapshot mirror peer_list`. Where Rook
    made the peer, it is the other cluster's fsid."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) != 1:
            refuse("exactly one of region, pool, volume, remote and peer")
        return self

    @property
    def way(self) -> str:
        """The setting that says where."""
        return next(iter(self.model_fields_set))

    @property
    def by_volsync(self) -> bool:
        """Whether VolSync moves the bytes, which no backend does by itself."""
        return self.volume is not None or self.remote is not None


class MirrorArgs(Model):
    """A copy of the volume that follows it."""

    to: MirrorTarget
    """Where the copy is kept."""
    every: Interval | None = None
    """How old the copy may get, where the backend lets you say it: 15m, 1h, 1d."""

    alert: bool = False
    """Alert when VolSync's copy is older than `every`: a PrometheusRule, for a cluster with the Prometheus operator."""

    @property
    def every_seconds(self) -> int | None:
        """The age in seconds."""
        return interval.seconds(self.every) if self.every else None
