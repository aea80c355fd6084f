"""The namespaces that a stack guards, and who gets GPUs there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorplane.components.queues.flavors import Flavor


@dataclass(frozen=True)
class Spaces:
    """The namespaces and queues that the admission policies apply to."""

    stack: str
    """The stack's own namespace."""
    teams: Mapping[str, Sequence[str]]
    """The queues of each team, by the team's namespace."""
    unqueued: Sequence[str]
    """Service accounts in the stack's namespace whose pods may use GPUs without a queue, as the settings declare."""
    kinds: Mapping[str, Sequence[Flavor]]
    """The flavors of each queue; empty without queues."""
    only_job_sets: bool
    """Whether the stack installs Kueue, which then only admits JobSets."""
    pods: bool = False
    """Whether that Kueue admits pods without a job, too: those of pipelines."""
    installs_jobset: bool = False
    """Whether the stack installs JobSet, whose controller's service account is then known."""

    @property
    def namespaces(self) -> list[str]:
        """The stack's own namespace, and those of teams."""
        return [self.stack, *self.teams]

    def queues_of(self, namespace: str) -> Sequence[str]:
        """The queues that jobs in one of the namespaces can name."""
        return list(self.kinds) if namespace == self.stack else self.teams[namespace]

    @property
    def admits_pods(self) -> bool:
        """Whether the cluster's Kueue may admit pods without a job."""
        return self.pods or not self.only_job_sets

    @property
    def with_gpus(self) -> list[str]:
        """Queues with flavors whose tolerations Kueue adds to pods."""
        return [name for name, found in self.kinds.items() if any(flavor.tolerations for flavor in found)]
