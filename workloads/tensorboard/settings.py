"""Settings of a TensorBoard, without the workload's kind."""

from tensorplane.components.base.model import In, Model, RelativePath, Resources
from tensorplane.components.base.value_types import Image
from tensorplane.workloads.pods.mounts import Location


class Logs(Location):
    """Folder with the event files of runs."""

    path: RelativePath = "tensorboard"
    """Folder on the volume, by default that of training jobs. Each subfolder is a run."""


class BoardSettings(Model):
    """Settings of a TensorBoard, without the workload's kind."""

    resources: Resources = Resources()
    """Resources of its pod."""
    logs: Logs
    """Folder with the event files: `{volume: models}` for those of training jobs with `tensorboard: {volume: models}`.
    """
    image: In[Image] | None = None
    """Container image with Python and TensorBoard. Required except on `embedded`, because TensorFlow's public image has
    no TensorBoard."""
