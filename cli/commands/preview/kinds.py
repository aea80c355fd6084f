"""What people call the stack's components, by type."""

from __future__ import annotations

from components.base import facts

NAMES = {
    facts.CLUSTER: "cluster",
    facts.CONTROLLER: "controller",
    facts.GPU_RUNTIME: "GPU runtime",
    facts.MODEL_SERVER: "model server",
    facts.NAMESPACE: "namespace",
    facts.NODE_GROUP: "node group",
    facts.NOTEBOOK: "notebook",
    facts.PIPELINE: "pipeline",
    facts.QUEUE: "queue",
    facts.RECORDER: "recorder",
    facts.SCORER: "scorer",
    facts.STREAM: "stream",
    facts.SWEEP: "sweep",
    facts.TENSORBOARD: "TensorBoard",
    facts.TRAINING_JOB: "training job",
    facts.VOLUME: "volume",
}
"""Others are parts of these."""
