"""What a storage backend can do, as plain data: checks of the settings and the documentation read the same."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

AccessMode = Literal["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]
Reach = Literal["node", "zone", "region", "class"]

CLASS_DECIDES = "as its StorageClass"
CSI = "CSI"
"""By the backend's own CSI driver, through the API of Kubernetes."""


@dataclass(frozen=True)
class Capabilities:
    """One backend's row. A way that is None is something that the backend lacks."""

    access_modes: tuple[AccessMode, ...]
    snapshot: str | None = None
    """How it keeps a point in time."""
    group_snapshot: str | None = None
    """How it keeps one instant of several volumes."""
    clone: str | None = None
    """How a new volume begins as a copy of one that is in use."""
    mirror: Mapping[str, str] = field(default_factory=dict)
    """How it keeps a copy elsewhere up to date, by the setting of `mirror.to` that says where."""
    failover: str | None = None
    """How a new volume begins as the newest copy that its mirror has of one."""
    volsync: bool = True
    """Whether VolSync can mirror it as well, into a volume of these settings or of another cluster."""
    expand: bool = False
    """Whether a volume can grow while it is in use."""
    rename: bool = True
    """Whether a file can be renamed at once, which checkpoints need."""
    placement: str | None = None
    """How it is put into a zone that the settings name."""
    reach: Reach = "class"
    """How far from its place pods can mount it."""
    encryption: str | None = None
    """How it is encrypted at rest."""
    quota: str | None = None
    """What holds a volume to its size."""
    cache: str | None = None
    """Where what is read again comes from."""
    outside: str | None = None
    """How machines that are not of the cluster reach it."""
    min_gib: float = 0
    max_gib: float | None = None
    """None: no limit that a volume of tensorplane's meets."""
    consistency: str | None = None
    """What a snapshot of a volume in use is like."""
    throughput: str = CLASS_DECIDES
    """What decides how fast it is."""

    @property
    def mirrors(self) -> dict[str, str]:
        """How it keeps a copy elsewhere, its own ways and VolSync's."""
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
"""What a volume's settings may ask for, by the field that says whether a backend has it."""


def sizes(row: Capabilities) -> str:
    """The sizes that a backend has, in words."""
    if row.max_gib is None:
        return f"{row.min_gib:,g} GiB and more" if row.min_gib else "any"
    return f"{row.min_gib:,g} to {row.max_gib:,g} GiB"


def tables(rows: Mapping[str, Capabilities]) -> str:
    """The whole matrix in Markdown: what each backend can do, and what it is like."""
    return "\n\n".join(_table(rows, columns) for columns in (_CAN, _IS))


def _table(rows: Mapping[str, Capabilities], columns: Mapping[str, Callable[[Capabilities], str | None]]) -> str:
    lines = [_line(["backend", *columns]), _line(["---"] * (len(columns) + 1))]
    for kind, row in sorted(rows.items()):
        lines.append(_line([f"`{kind}`", *(cell(row) or "-" for cell in columns.values())]))
    return "\n".join(lines)


_SHORT: Mapping[AccessMode, str] = {"ReadWriteOnce": "RWO", "ReadWriteMany": "RWX", "ReadOnlyMany": "ROX"}


def _mirrors(row: Capabilities) -> Iterator[str]:
    yield from (f"`{where}`: {how}" for where, how in row.mirror.items())
    if row.failover:
        yield row.failover
    if row.volsync:
        yield "VolSync"


_CAN: Mapping[str, Callable[[Capabilities], str | None]] = {
    "access": lambda row: ", ".join(_SHORT[mode] for mode in row.access_modes),
    "snapshot": lambda row: row.snapshot,
    "of a group": lambda row: row.group_snapshot,
    "clone": lambda row: row.clone,
    "mirror": lambda row: "; ".join(_mirrors(row)),
    "grows": lambda row: "yes" if row.expand else None,
    "checkpoints": lambda row: "yes" if row.rename else None,
    "limit held by": lambda row: row.quota,
    "cache": lambda row: row.cache,
}
_IS: Mapping[str, Callable[[Capabilities], str | None]] = {
    "size": sizes,
    "placement": lambda row: row.placement,
    "reach": lambda row: row.reach,
    "encryption": lambda row: row.encryption,
    "a snapshot in use is": lambda row: row.consistency,
    "throughput": lambda row: row.throughput,
    "from outside": lambda row: row.outside,
}


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
