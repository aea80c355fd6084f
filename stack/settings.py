"""The settings of a stack as one model: everything under `tensorplane:` in Pulumi.<stack>.yaml."""

from __future__ import annotations

from pydantic import Field

from tensorplane.components.admission.gpu_guard import Action
from tensorplane.components.base import stack_name
from tensorplane.components.base.model import Model, Name, NonEmptyStr
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.controllers.registry import ControllersArgs
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.gpu_runtime import GpuRuntimeArgs
from tensorplane.components.lost_nodes.settings import NodesArgs
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.queues.settings import CohortArgs, QueueArgs, TeamArgs
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.components.volumes.acknowledged import AcknowledgeArgs
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.workloads.kinds import WorkloadArgs

_FOR_OTHERS = frozenset({"argo_workflows", "gateway", "jobset", "keda", "metrics_server", "prometheus"})
"""Controllers whose objects workloads of other stacks create."""


class StackConfig(Model):
    """Everything under `tensorplane:` in Pulumi.<stack>.yaml. Maps are keyed by name; other settings refer to
    the name."""

    platform: NonEmptyStr | None = None
    """Stack of this project whose cluster, queues and volumes the workloads use. Only `workloads` can then be set
    besides."""
    cluster: ClusterArgs = Field(default_factory=Embedded)
    """The cluster: `embedded` (on this machine), `existing` (a context of your kubeconfig), or a new one in a cloud."""
    node_groups: dict[Name, NodeGroupArgs] = Field(default_factory=dict)
    """Node groups. On an existing cluster they describe the existing nodes."""
    nodes: NodesArgs = NodesArgs()
    """What holds for all nodes."""
    gpu_runtime: GpuRuntimeArgs | None = None
    """How GPUs become available to pods; by default what the kind of cluster requires, if a node group has GPUs."""
    namespace: Name | None = None
    """Namespace of the stack's objects; `tensorplane-<stack>` by default."""
    gpus_in_other_namespaces: Action | None = None
    """What becomes of pods with GPUs in namespaces that no stack manages: `deny` by default on a new cluster that
    the stack creates, `allow` on an existing one. A stack that an earlier version deployed warns until this is set."""
    controllers: ControllersArgs = ControllersArgs()
    """Which controllers (Kueue, JobSet, VolSync, KEDA, metrics-server, Prometheus, Traefik, Argo Workflows) the stack
    installs."""
    volumes: dict[Name, VolumeArgs] = Field(default_factory=dict)
    """Persistent storage, which outlives the workloads that mount it."""
    streams: dict[Name, StreamArgs] = Field(default_factory=dict)
    """Kafka topics that workloads read and write."""
    datasets: dict[Name, DatasetArgs] = Field(default_factory=dict)
    """Named, versioned collections of files on volumes."""
    queues: dict[Name, QueueArgs] = Field(default_factory=dict)
    """Kueue queues, which share the cluster between jobs."""
    cohorts: dict[Name, CohortArgs] = Field(default_factory=dict)
    """Cohorts: queues that lend to each other before they borrow from others."""
    topology: tuple[NonEmptyStr, ...] | None = None
    """Topology levels from wide to narrow, such as [zone, host], for topology-aware scheduling by Kueue. Requires
    groups with a fixed number of nodes. By default `[host]` if `min` equals `max` in all GPU groups, so that Kueue
    admits a job only when nodes have room for its pods; otherwise `[]`, with which queues only count GPUs and the
    scheduler places pods."""
    teams: dict[Name, TeamArgs] = Field(default_factory=dict)
    """Additional namespaces with queues."""
    workloads: dict[Name, WorkloadArgs] = Field(default_factory=dict)
    """Training jobs, sweeps, pipelines, model servers, scorers, recorders, notebooks and TensorBoards."""
    acknowledge: AcknowledgeArgs = AcknowledgeArgs()
    """Losses of data that this change intends. Remove the entries once they are deployed."""

    @property
    def namespace_name(self) -> str:
        """The namespace in use."""
        return self.namespace or f"tensorplane-{stack_name.current()}"

    @property
    def team_namespaces(self) -> dict[str, str]:
        """The namespace of each team."""
        return {name: args.namespace or name for name, args in self.teams.items()}

    @property
    def controllers_of_workloads(self) -> frozenset[str]:
        """The controllers of the workloads' objects, and of others': of jobs of members of teams, and those that the
        settings name, for workload stacks."""
        wanted = _FOR_OTHERS & self.controllers.model_fields_set
        # It has no key of its own: it comes with KEDA, unless another one is named.
        wanted |= {"prometheus"} if "keda" in wanted else set()
        of_members = frozenset({"jobset"} if any(one.members for one in self.teams.values()) else ())
        return (wanted | of_members).union(*(workload.controllers for workload in self.workloads.values()))

    @property
    def cluster_controllers(self) -> frozenset[str]:
        """The controllers for workloads that the cluster has, from the stack or otherwise."""
        present = frozenset(name for name in _FOR_OTHERS if getattr(self.controllers, name) == "present")
        return present | self.cluster.controllers | self.controllers_of_workloads
