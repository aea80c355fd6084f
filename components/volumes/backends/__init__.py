"""Storage backends: one file each, or a folder if the backend creates cloud resources."""

from components.base.family import load_family

load_family(__name__, __path__)
