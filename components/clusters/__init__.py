"""Clusters: a file or a folder for each kind."""

from components.base.family import load_family

load_family(__name__, __path__)
