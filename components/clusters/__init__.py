"""Kinds of clusters: one file or folder each."""

from tensorplane.components.base.family import load_family

load_family(__name__, __path__)
