"""SparkApplication: number of executors, and settings that bypass it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN, Manifest, Path, UncountableError, number, part, unknown

_GROUP = "sparkoperator.k8s.io"
# Spark's default number of executors.
_EXECUTORS = 2
_BESIDE = re.compile(r"spark\.(executor\.instances|dynamicAllocation\..*|.*\.resource\..*|.*podTemplate.*)")


def with_all_executors(manifest: Manifest) -> Mapping[str, Any]:
    """The manifest with the maximum number of executors as `instances`. Other kinds are unchanged."""
    body = manifest.body
    if manifest.group != _GROUP:
        return body
    spec = part(body, "spec")
    if manifest.kind == "ScheduledSparkApplication":
        return {**body, "spec": {**spec, "template": _application(part(spec, "template"), ("spec", "template"))}}
    return {**body, "spec": _application(spec, ("spec",))} if manifest.kind == "SparkApplication" else body


def _application(spec: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    for key in part(spec, "sparkConf", path):
        if _BESIDE.fullmatch(key):
            problem = f"`{'.'.join(path)}.sparkConf` sets {key}, which this rule does not count"
            raise UncountableError(problem, "use `executor.instances` and `gpu` of driver and executor")
    executor = part(spec, "executor", path)
    dynamic = part(spec, "dynamicAllocation", path)
    most = number(executor, "instances", _EXECUTORS, (*path, "executor"))
    if dynamic.get("enabled") is UNKNOWN:
        raise unknown((*path, "dynamicAllocation", "enabled"))
    if dynamic.get("enabled"):
        if "maxExecutors" not in dynamic:
            problem = f"`{'.'.join(path)}.dynamicAllocation` starts executors without a limit"
            raise UncountableError(problem, "set its `maxExecutors`")
        most = max(most, number(dynamic, "maxExecutors", 0, (*path, "dynamicAllocation")))
    return {**spec, "executor": {**executor, "instances": most}}
