"""Kinds of workloads: each package here with a `workload.py` is one, selected in YAML by `kind`."""

import importlib
from importlib.util import find_spec
from pkgutil import iter_modules

from tensorplane import workloads
from tensorplane.workloads.family import WorkloadArgs as WorkloadArgs

for _package in sorted(each.name for each in iter_modules(workloads.__path__, f"{workloads.__name__}.") if each.ispkg):
    if find_spec(f"{_package}.workload"):
        importlib.import_module(f"{_package}.workload")
