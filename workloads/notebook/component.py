"""Notebooks: JupyterLab in a queue, which runs from `tensorplane notebook NAME` until nobody uses it."""

from __future__ import annotations

import pulumi

from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.component import Platform, Workload
from tensorplane.workloads.notebook.workload import NotebookArgs


class Notebook(Workload):
    """A declared notebook. The objects of its runs belong to their JobSet, which `tensorplane notebook` creates: an
    update neither starts nor stops it."""

    def __init__(
        self,
        name: str,
        args: NotebookArgs,
        *,
        at: Key,
        platform: Platform,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`at`: the path of the settings."""
        gpus = args.resources.gpus
        props = registered.Notebook(queue=args.queue, gpus=gpus)
        super().__init__(registered.NOTEBOOK, name, dict(props), opts)
        self.gpus = gpus
        self.outputs = registered.NotebookOutputs(
            kind=args.kind, namespace=platform.settings.namespace, queue=args.queue, gpus=gpus
        )
        self.register_outputs(encrypted.concealed({**self.outputs, **gpu_requests.of(args, platform.settings)}))
