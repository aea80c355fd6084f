"""Volumes: named storage that workloads mount and that outlives them."""

# Whoever imports a module of this room knows all kinds of backends.
from components.volumes import backends as backends
