"""Streams: Kafka topics with their consumer groups and producers."""

# Importing any module of this package registers all kinds of brokers.
from tensorplane.components.streams import brokers as brokers
