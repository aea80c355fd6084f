"""Storage backends: a file, or a folder where a backend makes resources of a cloud."""

from components.base.family import load_family

load_family(__name__, __path__)
