"""A KafkaMirrorMaker2, which copies topics and offsets of consumer groups to another Kafka cluster."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components import versions
from tensorplane.components.base import value_types
from tensorplane.components.streams.base_settings import MirrorArgs
from tensorplane.components.streams.brokers.strimzi.spec import CONTAINER, POD

# The same topic names on both sides, for failover.
_SAME_NAMES = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
# Stored at the target, so that the source is read only.
_AT_TARGET = {"offset-syncs.topic.location": "target"}


def mirror_maker_spec(
    name: str, args: MirrorArgs, source: Mapping[str, Any], topics: Sequence[str], groups: Sequence[str]
) -> dict[str, Any]:
    """The spec of a KafkaMirrorMaker2. `source`: its connection to the stream."""
    mirror: dict[str, Any] = {
        "source": source,
        "sourceConnector": {
            "tasksMax": args.tasks,
            "autoRestart": {"enabled": True},
            # ACLs are declared on each side separately. -1: the target brokers' default.
            "config": {
                "replication.factor": -1,
                "offset-syncs.topic.replication.factor": -1,
                "sync.topic.acls.enabled": False,
                **_AT_TARGET,
                **_SAME_NAMES,
            },
        },
        "topicsPattern": _any_of(topics),
    }
    if groups:
        mirror["checkpointConnector"] = {
            "tasksMax": 1,
            "autoRestart": {"enabled": True},
            "config": {
                "checkpoints.topic.replication.factor": -1,
                "sync.group.offsets.enabled": True,
                "sync.group.offsets.interval.seconds": value_types.seconds(args.every),
                "emit.checkpoints.interval.seconds": value_types.seconds(args.every),
                # Finds new groups sooner than by the default of ten minutes.
                "refresh.groups.interval.seconds": value_types.seconds(args.every),
                **_AT_TARGET,
                **_SAME_NAMES,
            },
        }
        mirror["groupsPattern"] = _any_of(groups)
    own = f"__{name}-mirror"
    storages = {f"{kind}StorageTopic": f"{own}-{kind}" for kind in ("config", "offset", "status")}
    copies = {f"{kind}.storage.replication.factor": -1 for kind in ("config", "offset", "status")}
    return {
        "version": versions.KAFKA,
        "replicas": 1,
        "target": {**args.to.mirror_maker("target"), "groupId": f"{name}-mirror", **storages, "config": copies},
        "mirrors": [mirror],
        "template": {"pod": POD, "connectContainer": CONTAINER},
    }


def _any_of(names: Sequence[str]) -> str:
    return "|".join(re.escape(name).replace("\\-", "-") for name in names)
