"""The node groups of a stack as kops' InstanceGroups, one YAML document each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tensorplane.cli import stack_config
from tensorplane.components import gpu_runtime
from tensorplane.components.clusters.existing import Existing
from tensorplane.components.node_groups import kops
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.stack_file import dumping

_CLUSTER_TOO = (
    "# The cluster needs the same in its own manifest, where kops takes the device plugin's image from:\n"
    "#   spec: {containerd: {nvidiaGPU: {enabled: true}}}\n"
)


@dataclass(frozen=True)
class Choice:
    """Settings of kops that a stack does not have."""

    cluster: str | None = None
    """The cluster's name in kops; the context's by default, to which kops gives the same name."""
    image: str | None = None
    """Image of the nodes; kops' own, an Ubuntu, by default."""
    driver: str | None = None
    """Ubuntu's package with the GPU driver; kops' own by default."""


def text(file: Path, choice: Choice) -> str:
    """The InstanceGroups of a Pulumi.<stack>.yaml as YAML. A UserError with a line for each problem."""
    if unread := stack_config.encrypted(file, "cluster", "nodeGroups", "gpuRuntime"):
        raise UserError(f"{', '.join(unread)}: only Pulumi can read encrypted values; write them unencrypted")
    resolved = stack_config.load(file)
    config = resolved.config
    runtime = gpu_runtime.of(config.gpu_runtime, config.cluster, resolved.fleet).kind
    problems = [
        str(problem)
        for problem in kops.find_problems(
            config.cluster, resolved.fleet.groups, runtime, image=choice.image, driver=choice.driver
        )
    ]
    if problems:
        raise UserError(*problems)
    return "---\n".join(_documents(resolved, runtime, choice))


def _documents(resolved: ResolvedStack, runtime: str, choice: Choice) -> Iterator[str]:
    cluster = resolved.config.cluster
    context = cluster.context if isinstance(cluster, Existing) else ""
    for shape in resolved.fleet.groups.values():
        manifest = kops.instance_group(
            shape, choice.cluster or context, runtime, image=choice.image, driver=choice.driver
        )
        comment = _CLUSTER_TOO if "containerd" in manifest["spec"] else ""
        yield comment + dumping.dumped(manifest, width=120)
