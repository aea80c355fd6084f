"""Accelerators: what GPUs and TPUs support, on every cloud."""

from collections.abc import Mapping

from tensorplane.components.catalog.rows import GPU_RESOURCE, TPU_RESOURCE, Accelerator

_NVIDIA = "developer.nvidia.com/cuda/gpus; NVIDIA/k8s-device-plugin@1b826ac (MPS, time-slicing)"
_MIG = f"{_NVIDIA}; NVIDIA/gpu-operator@a22dbf6 assets/state-mig-manager/0400_configmap.yaml (MIG)"
_WHEELS = "; tensorflow .bazelrc cuda12_version: sm_60,sm_70,sm_80,sm_89,compute_90"
# The newest code in the wheels is PTX of 9.0. Compiled by the driver for 12.0, it does not run, as many issues
# report; for 10.0 and 10.3 there is no report that it does.
_NO_BLACKWELL = "; tensorflow issues #101746, #89272, #111958: stock wheels fail on Blackwell, NVIDIA's containers run"
_NO_ARM = "; TensorFlow's wheels for arm64 are built without CUDA (PyPI, tensorflow 2.21.0)"
_TPU = "cloud.google.com/tpu/docs/system-architecture-tpu-vm; GoogleCloudPlatform/cluster-toolkit@1047080"
_TPU_WHEELS = "; cloud.google.com/tpu/docs/runtimes; PyPI, tensorflow-tpu"
_NO_TPU_WHEELS = "; cloud.google.com/tpu/docs/runtimes: PyTorch and JAX, no TensorFlow found for it"

_A100_40 = {"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1}
_80GB = {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1}
_H100_NVL = {"1g.12gb": 7, "1g.24gb": 4, "2g.24gb": 3, "3g.47gb": 2, "4g.47gb": 1, "7g.94gb": 1}
_H200 = {"1g.18gb": 7, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "4g.71gb": 1, "7g.141gb": 1}
_B200 = {"1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1}
_B300 = {"1g.34gb": 7, "1g.67gb": 4, "2g.67gb": 3, "3g.135gb": 2, "4g.135gb": 1, "7g.269gb": 1}
_GB200 = {"1g.23gb": 7, "1g.47gb": 4, "2g.47gb": 3, "3g.93gb": 2, "4g.93gb": 1, "7g.186gb": 1}
_GB300 = {"1g.35gb": 7, "1g.70gb": 4, "2g.70gb": 3, "3g.139gb": 2, "4g.139gb": 1, "7g.278gb": 1}
_RTX_PRO_6000 = {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1}


def _gpu(
    name: str,
    product: str,
    architecture: str,
    year: int,
    memory_gib: float,
    capability: str,
    *,
    nvlink: bool = False,
    mig: Mapping[str, int] | None = None,
    arm_only: bool = False,
) -> Accelerator:
    """An NVIDIA GPU: all support time-slicing and, from Kepler on, MPS."""
    blackwell = float(capability) >= 10
    source = (_MIG if mig else _NVIDIA) + (_NO_ARM if arm_only else _NO_BLACKWELL if blackwell else _WHEELS)
    profiles = dict(mig or {})
    return Accelerator(
        name=name,
        kind="gpu",
        resource=GPU_RESOURCE,
        product=product,
        architecture=architecture,
        year=year,
        memory_gib=memory_gib,
        compute_capability=capability,
        nvlink=nvlink,
        mps=True,
        time_slicing=True,
        mig=tuple(profiles),
        tensorflow=not (blackwell or arm_only),
        source=source,
        mig_instances=tuple(profiles.values()),
    )


def _tpu(name: str, product: str, year: int, memory_gib: float, *, tensorflow: bool) -> Accelerator:
    return Accelerator(
        name=name,
        kind="tpu",
        resource=TPU_RESOURCE,
        product=product,
        architecture=name,
        year=year,
        memory_gib=memory_gib,
        compute_capability=None,
        nvlink=False,
        mps=False,
        time_slicing=False,
        mig=(),
        tensorflow=tensorflow,
        source=_TPU + (_TPU_WHEELS if tensorflow else _NO_TPU_WHEELS),
    )


_ROWS = (
    _gpu("p4", "Tesla-P4", "pascal", 2016, 8, "6.1"),
    _gpu("p100", "Tesla-P100-PCIE-16GB", "pascal", 2016, 16, "6.0"),
    _gpu("v100", "Tesla-V100-SXM2-16GB", "volta", 2017, 16, "7.0", nvlink=True),
    _gpu("v100-32gb", "Tesla-V100-SXM2-32GB", "volta", 2017, 32, "7.0", nvlink=True),
    _gpu("t4", "Tesla-T4", "turing", 2018, 16, "7.5"),
    _gpu("t4g", "NVIDIA-T4G", "turing", 2018, 16, "7.5", arm_only=True),
    _gpu("a10", "NVIDIA-A10-24Q", "ampere", 2020, 24, "8.6"),
    _gpu("a10g", "NVIDIA-A10G", "ampere", 2020, 24, "8.6"),
    _gpu("a100-40gb", "NVIDIA-A100-SXM4-40GB", "ampere", 2020, 40, "8.0", nvlink=True, mig=_A100_40),
    _gpu("a100-80gb", "NVIDIA-A100-SXM4-80GB", "ampere", 2020, 80, "8.0", nvlink=True, mig=_80GB),
    _gpu("l4", "NVIDIA-L4", "ada-lovelace", 2022, 24, "8.9"),
    _gpu("l40s", "NVIDIA-L40S", "ada-lovelace", 2022, 48, "8.9"),
    _gpu("h100-80gb", "NVIDIA-H100-80GB-HBM3", "hopper", 2022, 80, "9.0", nvlink=True, mig=_80GB),
    _gpu("h100-nvl", "NVIDIA-H100-NVL", "hopper", 2022, 94, "9.0", nvlink=True, mig=_H100_NVL),
    _gpu("h200", "NVIDIA-H200", "hopper", 2022, 141, "9.0", nvlink=True, mig=_H200),
    _gpu("b200", "NVIDIA-B200", "blackwell", 2024, 180, "10.0", nvlink=True, mig=_B200),
    _gpu("b300", "NVIDIA-B300-SXM6-AC", "blackwell", 2024, 269, "10.3", nvlink=True, mig=_B300),
    _gpu("gb200", "NVIDIA-GB200", "blackwell", 2024, 186, "10.0", nvlink=True, mig=_GB200, arm_only=True),
    _gpu("gb300", "NVIDIA-GB300", "blackwell", 2024, 278, "10.3", nvlink=True, mig=_GB300, arm_only=True),
    _gpu(
        "rtx-pro-6000",
        "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
        "blackwell",
        2024,
        96,
        "12.0",
        mig=_RTX_PRO_6000,
    ),
    _tpu("tpu-v3", "tpu-v3-device", 2018, 32, tensorflow=True),
    _tpu("tpu-v4", "tpu-v4-podslice", 2021, 32, tensorflow=True),
    _tpu("tpu-v5e", "tpu-v5-lite-podslice", 2023, 16, tensorflow=True),
    _tpu("tpu-v5p", "tpu-v5p-slice", 2023, 95, tensorflow=True),
    _tpu("tpu-v6e", "tpu-v6e-slice", 2024, 32, tensorflow=False),
    _tpu("tpu-7x", "tpu7x", 2025, 192, tensorflow=False),
)

ACCELERATORS: Mapping[str, Accelerator] = {row.name: row for row in _ROWS}
"""Accelerators by name, from old to new, the GPUs first."""
