"""Files that pods get from the project or from an installed Python package."""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator

from components.base.model import Line, refuse

PACKAGE = "package:"
FOLDER = "."
"""Target of a folder whose files are in the working directory itself."""

_PART_LIMIT = 240
"""Length of a path element, which becomes a ConfigMap key of at most 253 characters with a number as prefix."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def _target(value: str) -> str:
    if value == FOLDER:
        return value
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


def _script(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or path.suffix != ".py":
        refuse("a Python file of the project, such as mine/train.py; for other programs set command")
    _target(path.name)
    return value


def of_script(script: str) -> dict[str, str]:
    """What a script brings, as `files`: its folder as the working directory, or itself if it is in the project's root.

    The root also has the stack files and all that belongs to other jobs.
    """
    path = PurePosixPath(script)
    folder = str(path.parent)
    return {path.name: script} if folder == FOLDER else {FOLDER: folder}


Target = Annotated[Line, AfterValidator(_target)]
"""Path in the pod, relative to the working directory."""
Source = Annotated[Line, AfterValidator(_source)]
"""File or folder of the project, or `package:NAME/PATH` for a data file of an installed Python package."""
Script = Annotated[Line, AfterValidator(_script)]
"""Python file of the project."""
