"""Streams: topics of a Kafka, and who reads and writes them."""

# Whoever imports a module of this room knows all kinds of brokers.
from components.streams import brokers as brokers
