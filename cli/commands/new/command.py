"""Writes the files of `project/` into a new folder. They are those of a project with the name `my-platform`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tensorplane.core import extras
from tensorplane.core.errors import UserError
from tensorplane.stack_file import PROJECT
from tensorplane.stack_file.file_problems import some

_TEMPLATE = Path(__file__).parent / "project"
_NAME, _REQUIREMENT = "my-platform", f"{extras.PACKAGE}[dev]"
_HIDDEN = "dot-"
"""What a file's or folder's name begins with, here, that begins with a dot there."""
_VALID = re.compile(r"[A-Za-z0-9_.-]{1,100}")
"""Names that Pulumi takes."""


def write(folder: Path, name: str | None = None) -> list[str]:
    """Writes the project into a folder that does not exist or is empty, apart from an environment and a repository.

    Returns what to do next, a line each. `name`: the project's; by default the folder's. A UserError with all problems.
    """
    target = folder.absolute()
    name = name or target.name
    if problems := [*_problems_of_name(name), *_problems_of_folder(folder)]:
        raise UserError(*problems)
    for path, text in _files(name).items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [
        f"cd {shlex.quote(str(folder))}",
        "tensorplane check   # mistakes in Pulumi.dev.yaml; there are none yet",
        "tensorplane up      # on a cluster that starts on this machine, or with --context NAME; README.md says more",
    ]


def _files(name: str) -> dict[str, str]:
    """The project's files by their paths."""
    found = {}
    for source in sorted(_TEMPLATE.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            path = re.sub(rf"^{_HIDDEN}", ".", source.relative_to(_TEMPLATE).as_posix())
            found[path] = source.read_text().replace(_NAME, name)
    found["requirements.txt"] = found["requirements.txt"].replace(_REQUIREMENT, extras.pinned("dev"))
    return found


def _problems_of_name(name: str) -> Iterator[str]:
    rename = "choose another with --name"
    if not _VALID.fullmatch(name):
        yield f"{name}: a project's name has 1 to 100 letters, digits, dashes, underscores and periods; {rename}"
    elif name == PROJECT:
        yield f"{name}: tensorplane's own repository has this name, and its states; {rename}"


def _problems_of_folder(folder: Path) -> Iterator[str]:
    if not folder.exists():
        return
    if not folder.is_dir():
        yield f"{folder}: is a file; name a new folder"
    elif found := sorted(each.name for each in folder.iterdir() if not _may_stay(each)):
        yield f"{folder}: is not empty, it has {some(found, 'and')}; name a new folder"


def _may_stay(entry: Path) -> bool:
    return entry.name == ".git" or (entry / "pyvenv.cfg").exists()
