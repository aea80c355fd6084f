"""The kinds of Kafka that keep streams: a file or a folder for each."""

from components.base.family import load_family

load_family(__name__, __path__)
