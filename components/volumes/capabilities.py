"""Capabilities of storage backends as plain data, for checks of the settings and for the documentation."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

AccessMode = Literal["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]
MountScope = Literal["node", "zone", "region", "class"]

CLASS_DECIDES = "that of its StorageClass"
CSI = "CSI"
"""By the backend's CSI driver, through the Kubernetes API."""


@dataclass(frozen=True)
class Capabilities:
    """A backend's row of the capability matrix. None: the backend does not support it."""

    access_modes: tuple[AccessMode, ...]
    snapshot: str | None = None
    """How snapshots are taken."""
    group_snapshot: str | None = None
    """How snapshots of several volumes at the same instant are taken."""
    clone: str | None = None
    """How a volume is cloned while it is in use."""
    mirror: Mapping[str, str] = field(default_factory=dict)
    """How it is mirrored, by the key of `mirror.to`."""
    failover: str | None = None
    """How a volume is restored from the newest copy of a mirror."""
    volsync: bool = True
    """Whether VolSync can mirror it, to a volume of this stack or of another cluster."""
    expand: bool = False
    """Whether a volume can be expanded while it is in use."""
    rename: bool = True
    """Whether files can be renamed atomically, which checkpoints require."""
    hard_links: bool = True
    """Whether a file can have several names, which versions of datasets require."""
    placement: str | None = None
    """Which zones `placement` can select."""
    mount_scope: MountScope = "class"
    """Where pods can mount it."""
    encryption: str | None = None
    """How it is encrypted at rest."""
    quota: str | None = None
    """What enforces the size."""
    cache: str | None = None
    """Where the cache for repeated reads is."""
    supports_teams: bool = False
    """Whether teams' namespaces can have it: a second PersistentVolume with the same source, on the same node too."""
    external_access: str | None = None
    """How machines outside the cluster access it."""
    min_gib: float = 0
    max_gib: float | None = None
    """None: no limit that `sizeGib` could exceed."""
    consistency: str | None = None
    """Consistency of a snapshot of a volume in use."""
    throughput_depends_on: str = CLASS_DECIDES
    """What the throughput depends on."""

    @property
    def mirrors(self) -> dict[str, str]:
        """How it is mirrored, by itself or by VolSync, by the key of `mirror.to`."""
        return {**self.mirror, **(dict.fromkeys(("volume", "remote"), "VolSync") if self.volsync else {})}


FEATURES: Mapping[str, str] = {
    "snapshot": "snapshots",
    "group_snapshot": "group snapshots",
    "clone": "clones",
    "failover": "restoring from a mirror",
    "placement": "placement",
    "encryption": "encryption at rest",
    "quota": "an enforced size",
    "cache": "a cache",
}
"""Names of features in messages, by field."""


def sizes(row: Capabilities) -> str:
    """The sizes that a backend supports, for messages and documentation."""
    if row.max_gib is None:
        return f"{row.min_gib:,g} GiB or more" if row.min_gib else "any"
    return f"{row.min_gib:,g} to {row.max_gib:,g} GiB"


def tables(rows: Mapping[str, Capabilities]) -> str:
    """The capability matrix in Markdown, as two tables."""
    return "\n\n".join(_table(rows, columns) for columns in (_FEATURES, _PROPERTIES))


def _table(rows: Mapping[str, Capabilities], columns: Mapping[str, Callable[[Capabilities], str | None]]) -> str:
    lines = [_line(["backend", *columns]), _line(["---"] * (len(columns) + 1))]
    for kind, row in sorted(rows.items()):
        lines.append(_line([f"`{kind}`", *(cell(row) or "-" for cell in columns.values())]))
    return "\n".join(lines)


_MODE_ABBREVIATIONS: Mapping[AccessMode, str] = {"ReadWriteOnce": "RWO", "ReadWriteMany": "RWX", "ReadOnlyMany": "ROX"}


def _mirrors(row: Capabilities) -> Iterator[str]:
    yield from (f"`{target}`: {how}" for target, how in row.mirror.items())
    if row.failover:
        yield row.failover
    if row.volsync:
        yield "VolSync"


_FEATURES: Mapping[str, Callable[[Capabilities], str | None]] = {
    "access": lambda row: ", ".join(_MODE_ABBREVIATIONS[mode] for mode in row.access_modes),
    "snapshot": lambda row: row.snapshot,
    "group snapshot": lambda row: row.group_snapshot,
    "clone": lambda row: row.clone,
    "mirror": lambda row: "; ".join(_mirrors(row)),
    "expansion": lambda row: "yes" if row.expand else None,
    "checkpoints": lambda row: "yes" if row.rename else None,
    "datasets": lambda row: "yes" if row.rename and row.hard_links else None,
    "size enforced by": lambda row: row.quota,
    "cache": lambda row: row.cache,
    "teams": lambda row: "yes" if row.supports_teams else None,
}
_PROPERTIES: Mapping[str, Callable[[Capabilities], str | None]] = {
    "size": sizes,
    "placement": lambda row: row.placement,
    "reach": lambda row: row.mount_scope,
    "encryption": lambda row: row.encryption,
    "snapshot consistency": lambda row: row.consistency,
    "throughput": lambda row: row.throughput_depends_on,
    "access from outside": lambda row: row.external_access,
}


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
