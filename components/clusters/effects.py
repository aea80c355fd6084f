"""Side effects of updates of a cloud's resources, such as restarted nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

ROLLED = "its nodes are replaced one by one, and their pods restart"


@dataclass(frozen=True)
class Effect:
    """The effect of changing these properties of a type of resource."""

    type: str
    properties: str
    """Regular expression for the start of a changed property's path."""
    follows: str
    removed: bool = False
    """Whether it applies only if the property is removed."""
    unless: str | None = None
    """Type of resource whose change in the same update prevents it."""
    stops_pods: bool = True
    """Whether pods stop for it."""


@dataclass(frozen=True)
class Effects:
    """Effects of updates of one cloud's resources."""

    node_group: str
    """Type of a node group's resource, whose replacement deletes all of its nodes."""
    replaced: str
    """Regular expression for the start of the path of a property whose change replaces the group, as documented. Only
    comparisons without the cloud's provider read it."""
    zones: str | None
    """Its property with the zones, if a change of it replaces the group; else None."""
    made_first: bool
    """Whether a group that is replaced exists before the old one is deleted."""
    rules: tuple[Effect, ...]
    lost: Mapping[str, str] = field(default_factory=dict)
    """Types of resources whose deletion loses more than the resource, and what."""
    of_group: Mapping[str, str] = field(default_factory=dict)
    """Types of children of a node group's resource that are replaced with it, and the property that names what only
    the new group has. Only comparisons without the cloud's provider read it."""
