"""Settings compared with this machine, whose parts are the nodes of the embedded cluster that runs on it."""

from __future__ import annotations

from cli.commands.check import node_sizes
from components.base.problems import Note
from components.clusters.embedded import Embedded
from core.errors import UserError
from embedded import cluster
from embedded.instance import Instance
from stack import ResolvedStack


def has_cluster() -> bool:
    """Whether an embedded cluster was started here."""
    return Instance.current().home.exists()


def compare(resolved: ResolvedStack) -> list[Note]:
    """Raise a UserError with a line for each pod that this machine cannot hold. There are no notes."""
    if lines := [str(fault) for fault in node_sizes.faults(resolved, lambda: node_sizes.of_machine(_nodes(resolved)))]:
        raise UserError(*lines)
    return []


def _nodes(resolved: ResolvedStack) -> int:
    settings = resolved.config.cluster
    asked = settings.nodes if isinstance(settings, Embedded) else None
    return asked or len(cluster.node_names(Instance.current()))
