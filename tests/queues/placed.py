"""Queues whose pods Kueue places by node, on the machines of `fleet.yaml`."""

from tensorplane.components.queues.settings import QueueArgs

T4, A100, H100 = "t4", "a100-80gb", "h100-80gb"
"""Four nodes each, with four, four and eight GPUs."""
QUEUES = {
    "whole": QueueArgs(cpus=0.1, memory_gib=0.1, gpus={T4: 16, A100: 16, H100: 16}),
    # The others share with nobody, and have the same nodes.
    "apart": QueueArgs(gpus={H100: 16}, cohort="none"),
    "near": QueueArgs(gpus={H100: 32}, cohort="none"),
}
