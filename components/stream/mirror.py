"""A stream's mirror: its topics copied to another Kafka as they are written, and how far each group has read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from components import interval, versions
from components.faults import Fault, Key
from components.interval import Interval
from components.model import Model
from components.stream.endpoint import Endpoint
from components.stream.strimzi_spec import CONTAINER, POD

MIRROR = "mirror"
"""The user as whom a stream is copied, after the stream's name."""

# The same names on both sides, so that a reader that fails over asks for the same topic.
_SAME_NAMES = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
# Kept at the target, so that the source is only read from.
_AT_TARGET = {"offset-syncs.topic.location": "target"}


class MirrorArgs(Model):
    """Where the copy is. Records go there as they come; the setting is about groups."""

    to: Endpoint
    """The other Kafka. Its user may create topics and write to them, and alter groups."""
    every: Interval = "1m"
    """How often the groups' progress is copied. It is never ahead: after a failover some records are read twice."""
    tasks: Annotated[int, Field(ge=1, le=1000)] = 1
    """Parts that copy side by side; more than there are partitions do nothing."""

    def check(self, path: Key, own: str) -> Iterator[Fault]:
        """A mirror needs another place."""
        yield from self.to.check((*path, "to"))
        if set(self.to.bootstrap.split(",")) & set(own.split(",")):
            reason = f"got {self.to.bootstrap!r}, the stream's own Kafka: need another one"
            yield Fault((*path, "to", "bootstrap"), reason)


def mirror_maker_spec(
    name: str, args: MirrorArgs, source: Mapping[str, Any], topics: Sequence[str], groups: Sequence[str]
) -> dict[str, Any]:
    """The spec of a KafkaMirrorMaker2. `source` is how it reaches the stream."""
    mirror: dict[str, Any] = {
        "source": source,
        "sourceConnector": {
            "tasksMax": args.tasks,
            "autoRestart": {"enabled": True},
            # Rights are declared at each side by itself. -1: as many copies as the target's brokers say.
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
                "sync.group.offsets.interval.seconds": interval.seconds(args.every),
                "emit.checkpoints.interval.seconds": interval.seconds(args.every),
                # A group that begins to read later is found as soon; by itself it would take ten minutes.
                "refresh.groups.interval.seconds": interval.seconds(args.every),
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
