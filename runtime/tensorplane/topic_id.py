"""Which topic a name stands for: Kafka gives each topic an id (KIP-516), and a recreated one another id.

Offsets belong to an id: those of a recreated topic, and of its mirror in another cluster, are of other records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from confluent_kafka import KafkaError, KafkaException, TopicCollection, Uuid
from confluent_kafka.admin import AdminClient

_ANSWER_SECONDS = 30.0
_WITHOUT_ID = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError._UNSUPPORTED_FEATURE,
}
"""What brokers answer that have no such topic now, or no ids."""
_NO_ID = str(Uuid(0, 0))


class TopicIds:
    """Asks brokers for the id of a topic."""

    def __init__(self, topic: str, client: Mapping[str, str]) -> None:
        """`client`: settings of librdkafka."""
        self._topic = topic
        self._client: dict[str, str | int | float | bool] = {**client, "reconnect.backoff.max.ms": 1000}
        self._admin = AdminClient(self._client)

    def ask(self, seconds: float = _ANSWER_SECONDS) -> Callable[[], str | None]:
        """Asks, and returns what waits for the answer, at most so long: `now` at some moment in between."""
        topics = TopicCollection([self._topic])
        asked = self._admin.describe_topics(topics, request_timeout=seconds)[self._topic]

        def answer() -> str | None:
            try:
                return _text(asked.result().topic_id)
            except KafkaException as error:
                if error.args[0].code() in _WITHOUT_ID:
                    return None
                # As in `reading`: a client that has had no answer may get none any more.
                self._admin = AdminClient(self._client)
                raise

        return answer

    def now(self, seconds: float = _ANSWER_SECONDS) -> str | None:
        """The id; None if brokers give none, as before Kafka 2.8, or the topic does not exist now. Raises
        KafkaException if no broker answers."""
        return self.ask(seconds)()


def differ(before: str | None, now: str | None) -> bool:
    """Whether two ids are of different topics. An unknown id, None, says nothing."""
    return before is not None and now is not None and before != now


def problem(topic: str, before: str | None, now: str | None) -> str:
    """What is wrong where they differ."""
    return f"topic {topic}: was recreated, or is in another Kafka cluster (its id is {now}, before {before})"


def _text(found: Uuid) -> str | None:
    return None if str(found) == _NO_ID else str(found)
