"""The machine on which a process runs, as it says itself: what lineage records of it.

It only requires the standard library, because the launcher and the pods of stages note it, too.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

NODE = "TENSORPLANE_NODE"
"""Variable with the name of the pod's node."""
_TPU = "TPU_ACCELERATOR_TYPE"
"""Variable that GKE sets in pods with TPUs."""
_NVML = "libnvidia-ml.so.1"
"""NVIDIA's library of its driver, which the container toolkit mounts into pods with GPUs."""
_LONGEST_TEXT = 96
"""Bytes that NVML writes at most."""


def current(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """`node`, `processor` (its model), `kernel`, and `accelerators`, without what is not known.

    `accelerators` is a list of {name, uuid, driver, cuda}, as the devices of this container say; `cuda` is the newest
    version that the driver supports.
    """
    found = {
        "node": environment.get(NODE),
        "processor": _processor(),
        "kernel": platform.release(),
        "accelerators": [*_gpus(), *_tpus(environment)],
    }
    return {name: value for name, value in found.items() if value}


def _processor(described: Path = Path("/proc/cpuinfo")) -> str:
    """Its model; of processors that do not say it, as those of ARM, the architecture."""
    try:
        lines = described.read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == "model name")
    return next(named, "") or platform.machine()


def _tpus(environment: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": environment[_TPU]}] if environment.get(_TPU) else []


@functools.cache
def _gpus() -> tuple[dict[str, str], ...]:
    """NVIDIA's GPUs that this container has. They stay while it lives."""
    try:
        nvml = ctypes.CDLL(_NVML)
        return tuple(_described(nvml)) if nvml.nvmlInit_v2() == 0 else ()
    except (OSError, AttributeError):  # no driver, or one without these functions
        return ()


def _described(nvml: Any) -> list[dict[str, str]]:
    count, cuda = ctypes.c_uint(), ctypes.c_int()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(cuda))
    of_driver = {
        "driver": _text(nvml.nvmlSystemGetDriverVersion),
        "cuda": f"{cuda.value // 1000}.{cuda.value % 1000 // 10}" if cuda.value else "",
    }
    found = []
    for index in range(count.value):
        device = ctypes.c_void_p()
        if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0:
            name = _text(functools.partial(nvml.nvmlDeviceGetName, device))
            uuid = _text(functools.partial(nvml.nvmlDeviceGetUUID, device))
            found.append({"name": name, "uuid": uuid, **of_driver})
    return [{name: value for name, value in each.items() if value} for each in found]


def _text(get: Callable[..., int]) -> str:
    """What one of NVML's functions writes; empty if it fails."""
    buffer = ctypes.create_string_buffer(_LONGEST_TEXT)
    return buffer.value.decode(errors="replace") if get(buffer, _LONGEST_TEXT) == 0 else ""
