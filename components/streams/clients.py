"""Clients of a stream: one KafkaUser each, with a certificate and ACLs."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from tensorplane.components.base.model import Model
from tensorplane.components.base.problems import Key, Problem, unknown_name
from tensorplane.components.streams.topic import TopicName


class ClientArgs(Model):
    """A consumer group, or a producer."""

    topics: Annotated[list[TopicName], Field(min_length=1)] | None = None
    """Its topics; all topics of the stream by default."""

    def check(self, path: Key, declared: Sequence[str]) -> Iterator[Problem]:
        """Problems of unknown topics."""
        for topic in self.topics or ():
            if topic not in declared:
                problem = unknown_name((*path, "topics"), "topic", topic, declared)
                yield Problem(problem.path, problem.reason, given=((*path[:-2], "topics"),))


def reader_spec(group: str, topics: Sequence[str]) -> dict[str, Any]:
    """The spec of a KafkaUser that reads these topics in one consumer group."""
    return _user([*(_allow("topic", topic, "Describe", "Read") for topic in topics), _allow("group", group, "Read")])


def writer_spec(topics: Sequence[str]) -> dict[str, Any]:
    """The spec of a KafkaUser that writes to these topics."""
    return _user([_allow("topic", topic, "Describe", "Write") for topic in topics])


def mirror_spec(topics: Sequence[str], groups: Sequence[str]) -> dict[str, Any]:
    """The spec of a KafkaUser that copies these topics, and these groups' offsets, to another Kafka cluster."""
    return _user(
        [
            *(_allow("topic", topic, "Describe", "DescribeConfigs", "Read") for topic in topics),
            *(_allow("group", group, "Describe") for group in groups),
        ]
    )


def _user(rights: list[dict[str, Any]]) -> dict[str, Any]:
    return {"authentication": {"type": "tls"}, "authorization": {"type": "simple", "acls": rights}}


def _allow(kind: str, name: str, *operations: str) -> dict[str, Any]:
    resource = {"type": kind, "name": name, "patternType": "literal"}
    return {"type": "allow", "resource": resource, "operations": list(operations)}
