"""Kinds of brokers: one file or folder each."""

from components.base.family import load_family

load_family(__name__, __path__)
