"""The key that encrypts Kubernetes secrets in etcd, and GKE's right to use it."""

from collections.abc import Mapping, Sequence

import pulumi
from pulumi_gcp import kms, projects

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.gke.access import Api
from tensorplane.components.clusters.gke.settings import GkeSettings

_ROTATION = f"{90 * 24 * 3600}s"


def secrets_key(
    name: str,
    args: GkeSettings,
    apis: Mapping[Api, pulumi.Resource],
    agent: projects.ServiceIdentity,
    opts: pulumi.ResourceOptions,
) -> tuple[pulumi.Input[str], Sequence[pulumi.Resource]]:
    """The key's name, and resources that must exist before a cluster can use it."""
    key: pulumi.Input[str]
    if args.encryption_key:
        key = as_input(args.encryption_key)
    else:
        # Auto-named, because a key ring can never be deleted and a second cluster of this name requires another.
        after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[apis["cloudkms"]]))
        ring = kms.KeyRing(f"{name}-keys", location=args.region, opts=after)
        key = kms.CryptoKey(
            f"{name}-secrets", key_ring=ring.id, purpose="ENCRYPT_DECRYPT", rotation_period=_ROTATION, opts=opts
        ).id
    grant = kms.CryptoKeyIAMMember(
        f"{name}-agent-secrets",
        crypto_key_id=key,
        role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
        member=agent.member,
        opts=opts,
    )
    return key, [grant]
