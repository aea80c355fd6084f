"""Says in one line where TensorFlow sees fewer GPUs than the pod asked for. The launcher asks it before the command.

It runs in a process of its own: what it looks at changes nothing for the command, which may still choose devices and
how their memory grows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

VARIABLE = "TENSORPLANE_GPUS"
"""Variable with the number of GPUs that the pod asked for; absent where it asked for none."""
EXIT_FEWER = 3


def expected(environment: Mapping[str, str]) -> int:
    """How many GPUs TensorFlow should see; 0 where there is nothing to compare with."""
    asked = environment.get(VARIABLE, "")
    # Who sets this has chosen among the pod's GPUs.
    if not asked.isdecimal() or "CUDA_VISIBLE_DEVICES" in environment:
        return 0
    given = {word for word in environment.get("NVIDIA_VISIBLE_DEVICES", "").split(",") if "-" in word}
    if any(word.startswith("MIG-") for word in given):
        # CUDA shows one instance to a process, however many the pod has.
        return min(int(asked), 1)
    # Shares of one GPU are one GPU.
    return min(int(asked), len(given) or int(asked))


def shortage(wanted: int, seen: int, version: str) -> str:
    """What is wrong, and what helps."""
    if seen:
        return (
            f"resources.gpus: the pod has {wanted} GPUs and TensorFlow {version} sees {seen}; "
            "look at the node's GPUs with nvidia-smi"
        )
    return (
        f"image: the pod has {wanted} GPU{'s' * (wanted > 1)} and TensorFlow {version} sees none; "
        "name an image that has NVIDIA's libraries, as docs/training.md says"
    )


def main() -> int:
    """0, or EXIT_FEWER with a line on standard output. What hinders TensorFlow is left to the command to say."""
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
