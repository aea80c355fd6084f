"""Settings of a notebook, without the workload's kind."""

from typing import Annotated

from pydantic import Field

from tensorplane.components.base.model import In, Model, Name, Resources
from tensorplane.components.base.value_types import Image
from tensorplane.workloads.pods.mounts import Location, MountArgs
from tensorplane.workloads.pods.objects import Egress
from tensorplane.workloads.training_job.settings import Package, Value, Variable


class NotebookSettings(Model):
    """Settings of a notebook, without the workload's kind."""

    resources: Resources = Resources()
    """Resources of its pod."""
    volumes: Annotated[dict[Name, MountArgs], Field(min_length=1)]
    """Volumes and their mount paths: `models: /models`."""
    folder: Location
    """Folder of the notebooks, on one of these volumes: they outlive the pod."""
    packages: list[Package] = Field(default_factory=list)
    """Python packages in addition to those of the training image, as for training jobs: `[jupyterlab==4.6.6]` and what
    the notebooks import."""
    image: In[Image] | None = None
    """Container image with Python and JupyterLab, instead of `packages`; by default that of training jobs."""
    queue: str | None = None
    """Queue that admits the notebook, as it admits training jobs. Without one, it starts immediately."""
    idle_minutes: Annotated[int, Field(ge=1, le=10080)] = 60
    """Minutes without a running cell after which a kernel is stopped, and without kernels after which the pod ends and
    gives back its quota."""
    env: dict[Variable, Value] = Field(default_factory=dict)
    """Environment variables: text, or a key of an existing Secret, `{secret: NAME, key: KEY}`."""
    egress: Egress = Field(default_factory=list)
    """Destinations that the pod may connect to, as for training jobs."""
