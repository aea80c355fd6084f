"""What an update of a cloud's resources does beyond the resource: which nodes restart, which versions stay."""

from dataclasses import dataclass

ROLLED = "its nodes are replaced one by one, and their pods restart"


@dataclass(frozen=True)
class Effect:
    """What follows from a change of these properties of a type of resource."""

    type: str
    properties: str
    """What the path of a changed property begins with, as a regular expression."""
    follows: str
    removed: bool = False
    """Whether it follows only where the property is removed."""
    unless: str | None = None
    """Type of resource whose change in the same update prevents it."""


@dataclass(frozen=True)
class Effects:
    """What updates of one cloud's resources do."""

    node_pool: str
    """Type of the resource that a node group is: one that is replaced loses all of its nodes."""
    zones: str | None
    """Its property with the zones, where a change of them replaces it; None where it does not."""
    rules: tuple[Effect, ...]
