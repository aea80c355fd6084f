"""Files that pods get from the project or from an installed Python package."""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator

from components.base.model import Line, refuse

PACKAGE = "package:"

_PART_LIMIT = 240
"""Length of a path element, which becomes a ConfigMap key of at most 253 characters with a number as prefix."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def _target(value: str) -> str:
    parts = value.split("/")
    if any(part in ("", ".", "..") or not set(part) <= _SAFE for part in parts):
        refuse("a relative path of letters, digits, dashes, dots and underscores, such as train.py")
    if any(len(part) > _PART_LIMIT for part in parts):
        refuse(f"a path whose elements have at most {_PART_LIMIT} characters each")
    return value


def _source(value: str) -> str:
    path = PurePosixPath(value.removeprefix(PACKAGE))
    if not value or path.is_absolute() or ".." in path.parts:
        refuse(f"a file of the project (examples/digits/train.py) or of a Python package ({PACKAGE}NAME/data.csv)")
    return value


Target = Annotated[Line, AfterValidator(_target)]
"""Path in the pod, relative to the working directory."""
Source = Annotated[Line, AfterValidator(_source)]
"""File of the project, or `package:NAME/PATH` for a data file of an installed Python package."""
