"""Kinds of workloads: one file each, selected in YAML by `kind`."""

from components.base.family import load_family
from workloads.base import WorkloadArgs as WorkloadArgs

load_family(__name__, __path__)
