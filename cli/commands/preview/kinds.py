"""What people call the stack's components, by type."""

from __future__ import annotations

from tensorplane.components.base import outputs

KIND_NAMES = {
    outputs.CLUSTER: "cluster",
    outputs.CONTROLLER: "controller",
    outputs.GPU_RUNTIME: "GPU runtime",
    outputs.MODEL_SERVER: "model server",
    outputs.NAMESPACE: "namespace",
    outputs.NODE_GROUP: "node group",
    outputs.NOTEBOOK: "notebook",
    outputs.PIPELINE: "pipeline",
    outputs.QUEUE: "queue",
    outputs.RECORDER: "recorder",
    outputs.SCORER: "scorer",
    outputs.STREAM: "stream",
    outputs.SWEEP: "sweep",
    outputs.TENSORBOARD: "TensorBoard",
    outputs.TRAINING_JOB: "training job",
    outputs.VOLUME: "volume",
}
"""Others are parts of these."""
