"""NVIDIA's solver where TensorFlow looks for it: without it, TensorFlow sees no GPU."""

from __future__ import annotations

from pathlib import Path

_LIBRARY = "libcusolver.so.11"


def link(packages: Path) -> None:
    """Links it beside libcusparse in `packages`, the folder of an installed TensorFlow with NVIDIA's wheels.

    TensorFlow 2.21's libtensorflow_framework.so.2 has the folders of NVIDIA's wheels in its RUNPATH, except
    nvidia/cusolver/lib. The loader resolves what the library itself needs from the link's folder, at the same depth.
    """
    (packages / "nvidia/cusparse/lib" / _LIBRARY).symlink_to(f"../../cusolver/lib/{_LIBRARY}")
