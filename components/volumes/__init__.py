"""Volumes: named storage that workloads mount and that outlives them."""

# Importing any module of this package registers all backends.
from tensorplane.components.volumes import backends as backends
