"""`make down`: stops the embedded cluster."""

from __future__ import annotations

from driver import embedded_only
from embedded import cluster
from embedded.instance import Instance


def down(instance: Instance, stack: str | None = None) -> None:
    """Stop the embedded cluster; data, tools and images stay. `stack`: the one that the caller named."""
    embedded_only.refuse_other_clusters(stack, "make down")
    running = cluster.is_running(instance)
    cluster.stop(instance)
    print("Stopped. Data is kept; `make up` starts it again." if running else "Nothing was running.")
