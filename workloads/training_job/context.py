"""`JobContext`: what a plan needs besides the settings, as plain data, without Pulumi and without a cluster."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorplane.components.base.labels import MANAGED_BY, TENSORPLANE
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.files import Bundle, bundle, bundles, fits_one, shared_library
from tensorplane.workloads.pods.mounts import Location, Mountable
from tensorplane.workloads.pods.objects import Identity
from tensorplane.workloads.pods.streams import Client

REQUIREMENTS = "requirements.txt"
"""The file, in `pod.PACKAGES`, with the packages that the pods install."""


@dataclass(frozen=True)
class Placement:
    """Where the pods of a role run."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    """The parts of a pod's spec that select nodes: nodeSelector, tolerations, affinity, runtimeClassName."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations for schedulers and autoscalers."""
    network: Mapping[str, str] = field(default_factory=dict)
    """Extended resources for the network between nodes."""


@dataclass(frozen=True)
class JobContext:
    """What a plan needs besides the settings: names, and what the platform has for the job. Plain values, known without
    a cluster."""

    name: str
    """The job's name, also that of its service account."""
    namespace: str
    placement: Mapping[str, Placement]
    """Where the pods of each role run, by the role's name."""
    volumes: Mapping[str, Mountable] = field(default_factory=dict)
    """The volumes that the settings name."""
    streams: Mapping[str, Client] = field(default_factory=dict)
    """How the job reaches the streams that the settings name."""
    queue_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that put a job into its queue; none for a job without one."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The contents of the settings' files, by path in the pod."""
    library: Mapping[str, bytes] = field(default_factory=dict)
    """tensorplane's library, by path in `pod.LIBRARY`."""
    shares_library: bool = False
    """Whether the pods mount the library that all jobs of the stack in this namespace share (`files.shared_library`),
    instead of one of the job's own."""
    in_secret: Collection[str] = ()
    """Names of the settings' variables whose values are in a Secret, under the same names; the others are plain."""
    packages: Sequence[str] = ()
    """Lines of a requirements file, with hashes: packages that the pods install on a volume."""
    publish_to: Location | None = None
    """The folder of the model server to which the settings publish."""
    publisher: str | None = None
    """The run in whose name the job publishes; None: its own."""
    reproduces: Mapping[str, Any] = field(default_factory=dict)
    """Of the model's version that the job makes again, what the library's `lineage.py` says."""
    account: str | None = None
    """The pods' service account; None: one of the job's own, with its name."""
    managed_by: str = TENSORPLANE[MANAGED_BY]
    """What creates the objects, as their label says."""

    @property
    def identity(self) -> Identity:
        """The owner of the job's objects."""
        return Identity(self.name, self.namespace, "training", self.managed_by)

    @property
    def mounted_library(self) -> Bundle:
        """The library that the pods mount."""
        return shared_library(self.library) if self.shares_library else self.own_library

    @property
    def library_resource(self) -> str:
        """Pulumi's name of the ConfigMap with that library."""
        return self.mounted_library.name if self.shares_library else f"{self.name}-runtime"

    @property
    def own_library(self) -> Bundle:
        """The library in a ConfigMap of the job's own."""
        return bundle(f"{self.name}-runtime", self.library)

    def own_bundles(self) -> list[Bundle]:
        """The job's ConfigMaps, without the one that jobs share."""
        found = self.bundles()
        if self.shares_library:
            found.pop(pod.LIBRARY, None)
        return [part for parts in found.values() for part in parts]

    def bundles(self) -> dict[str, list[Bundle]]:
        """The files of its pods, by mount path: one ConfigMap, or the parts of an archive."""
        text = "".join(f"{line}\n" for line in self.packages).encode()
        found = {
            pod.APP: bundles(f"{self.name}-files", self.files),
            # Always one, because the library unpacks the others.
            pod.LIBRARY: [self.mounted_library] if self.library else [],
            pod.PACKAGES: [bundle(f"{self.name}-packages", {REQUIREMENTS: text})] if text else [],
        }
        return {at: parts for at, parts in found.items() if parts}

    @property
    def archived(self) -> set[str]:
        """Mount paths whose ConfigMaps are the parts of an archive."""
        return set() if fits_one(self.files) else {pod.APP}
