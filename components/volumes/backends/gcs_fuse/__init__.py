"""Volumes on GKE that are Cloud Storage buckets, mounted by Cloud Storage FUSE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.cidr import inner_network
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import known
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import members
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.gcs_fuse.settings import EVERYBODY, GcsFuseSettings
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import copy_name, google

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace

_HOUR = 3600


class GcsFuse(GcsFuseSettings):
    """A Cloud Storage bucket in the cluster's region. Files are objects: slow to open, fast to read, without locks."""

    kind: Literal["gcsFuse"] = "gcsFuse"

    def makes(self, name: str, args: VolumeSettings) -> Iterator[tuple[str, str]]:
        if self.bucket is None:
            yield from copy_name.both("bucket", name, args)
        everybody = args.readers is None and args.writers is None
        for who in [EVERYBODY] if everybody else members.accounts({*(args.readers or ()), *(args.writers or ())}):
            yield "bucket permission", f"{name}-{who}"

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        if self.bucket:
            it = "the bucket" if (bucket := known(self.bucket)) is None else f"bucket {bucket}"
            for key, given in (("kmsKey", self.kms_key), ("mirrorKmsKey", self.mirror_kms_key)):
                if given:
                    yield Problem(
                        ("backend", key),
                        f"applies to a new bucket only; remove it, and configure {it} itself",
                    )
            if args.mirror and args.mirror.to.region:
                yield Problem(
                    ("mirror",),
                    f"is not supported for the existing {it}; remove mirror, or bucket to create one",
                )
        else:
            yield from google.mirror_problems(args, cluster, key=self.kms_key, copy_key=self.mirror_kms_key)
            if self.hierarchical is not None:
                yield Problem(
                    ("backend", "hierarchical"), "applies to an existing bucket only; set bucket, or remove it"
                )
        yield from self._addresses(cluster)
        for key, accounts in (("readers", args.readers), ("writers", args.writers)):
            for group in members.groups(accounts):
                reason = f"group:{group} cannot have rights on a bucket; list the service accounts of its pods"
                yield Problem((key,), reason)
        if args.mirror and (every := args.mirror.every_seconds) and every < _HOUR:
            yield Problem(("mirror", "every"), f"{args.mirror.every} is too short for Storage Transfer; set 1h or more")

    def _addresses(self, cluster: ClusterArgs) -> Iterator[Problem]:
        for index, cidr in enumerate(self.addresses or ()):
            if isinstance(found := inner_network(cidr), str):
                yield Problem(("backend", "addresses", str(index)), found)
        if cluster.existing_network and not self.addresses:
            remedy = (
                "set the addresses of storage.googleapis.com in its DNS, such as 199.36.153.8/30 for "
                "private.googleapis.com"
            )
            yield Problem(("backend", "addresses"), f"missing, but the cluster uses an existing network; {remedy}")

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of Google Cloud is only needed on its own clusters.
        from tensorplane.components.volumes.backends.gcs_fuse import bucket_network

        own = [backend for args in volumes.values() if isinstance(backend := args.backend, GcsFuse)]
        return bucket_network.open_way(cluster, namespace, [cidr for one in own for cidr in one.addresses or ()])

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.gcs_fuse import bucket

        return bucket.claim(self, request, opts)
