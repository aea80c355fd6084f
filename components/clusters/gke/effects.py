"""Effects of updates of GKE's resources on nodes and pods."""

from tensorplane.components.clusters.effects import ROLLED, Effect, Effects

_NODE_POOL = "gcp:container/nodePool:NodePool"

EFFECTS = Effects(
    _NODE_POOL,
    r"(cluster|location|name|placementPolicy)$|nodeConfig\.(guestAccelerators|localSsdCount|preemptible|spot)",
    None,
    True,
    (
        Effect(_NODE_POOL, r"version$", ROLLED),
        Effect(_NODE_POOL, r"nodeLocations", "nodes in removed zones are deleted, and their pods restart elsewhere"),
    ),
    {"gcp:kms/cryptoKey:CryptoKey": "nobody can decrypt what it encrypts: the cluster's Secrets"},
)
