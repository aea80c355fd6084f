"""Reports in one line if TensorFlow sees fewer GPUs than the pod requests. The launcher runs it before the command.

It is a process of its own, so that the command can still configure devices and memory growth.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

VARIABLE = "TENSORPLANE_GPUS"
"""Variable with the number of GPUs that the pod requests; not set without GPUs."""
EXIT_FEWER = 3


def expected(environment: Mapping[str, str]) -> int:
    """Number of GPUs that TensorFlow should see; 0 if that is unknown."""
    asked = environment.get(VARIABLE, "")
    # The user has restricted the visible GPUs.
    if not asked.isdecimal() or "CUDA_VISIBLE_DEVICES" in environment:
        return 0
    given = {word for word in environment.get("NVIDIA_VISIBLE_DEVICES", "").split(",") if "-" in word}
    if any(word.startswith("MIG-") for word in given):
        # CUDA shows a process only one MIG instance.
        return min(int(asked), 1)
    # Several shares of one GPU count once.
    return min(int(asked), len(given) or int(asked))


def shortage(wanted: int, seen: int, version: str) -> str:
    """Problem and remedy."""
    if seen:
        return (
            f"resources.gpus: the pod has {wanted} GPUs and TensorFlow {version} sees {seen}; "
            "check the node's GPUs with nvidia-smi"
        )
    return (
        f"image: the pod has {wanted} GPU{'s' * (wanted > 1)} and TensorFlow {version} sees none; "
        "use an image with NVIDIA's libraries (docs/training-pods.md)"
    )


def main() -> int:
    """0, or EXIT_FEWER with a line on standard output. Other errors of TensorFlow are left to the command."""
    wanted = expected(os.environ)
    if not wanted:
        return 0
    try:
        import tensorflow as tf

        seen, version = len(tf.config.list_physical_devices("GPU")), tf.__version__
    except Exception:
        return 0
    if seen >= wanted:
        return 0
    print("tensorplane:", shortage(wanted, seen, version), flush=True)
    return EXIT_FEWER


if __name__ == "__main__":
    sys.exit(main())
