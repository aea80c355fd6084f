"""Where an installed package has its models. The packages are read, never imported."""

from __future__ import annotations

import functools
import importlib.metadata
from pathlib import Path

_MODULES = {"google-api-python-client": "googleapiclient"}
"""Top modules of packages that are not named after them."""


@functools.cache
def source(package: str) -> str:
    """The package and its installed version, as `botocore 1.2.3`; empty without the package."""
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.cache
def folder(package: str) -> Path:
    """The folder of the package's top module."""
    found = importlib.metadata.distribution(package)
    return Path(str(found.locate_file(_MODULES.get(package, package.replace("-", "/")))))
