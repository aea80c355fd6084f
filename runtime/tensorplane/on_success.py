"""What a job does once its command has succeeded: a command, and the publication of its model to a model server.

The launcher runs it in the job's first pod, so it finds the files, volumes and variables of the command. It is a single
process: it has no TF_CONFIG, because the other workers may have ended.

    launch.py [--on-success COUNT WORD…] [--publish-to FOLDER] COMMAND…

It only requires the standard library, because the launcher uses it after any command.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorplane import lineage
from tensorplane.errors import UsageError
from tensorplane.model_versions import newest
from tensorplane.publish import copy_newest

COMMAND, PUBLISH = "--on-success", "--publish-to"
"""The launcher's options: a number of words that follow, and a folder."""
VERSION_DIR = "MODEL_VERSION_DIR"
"""Variable of the command with the folder of the newest version in MODEL_DIR; not set without one."""
MOST_TRIES = 3
"""How often it is tried. Training is not repeated because of it."""
_OF_TRAINING = ("TF_CONFIG", "TENSORPLANE_STEPS", "TENSORPLANE_GPUS")
"""Variables that only the job's own command has."""


@dataclass(frozen=True)
class OnSuccess:
    """What the settings state; the command comes before the publication, which does not happen if it fails."""

    command: tuple[str, ...] = ()
    publish_to: Path | None = None

    @property
    def identity(self) -> str:
        """A digest, with which the run records that it has been done."""
        stated = [list(self.command), str(self.publish_to or "")]
        return hashlib.sha256(json.dumps(stated).encode()).hexdigest()[:16]

    def environment(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The variables of the command."""
        found = {name: value for name, value in environment.items() if name not in _OF_TRAINING}
        base = Path(environment.get("MODEL_DIR", ""))
        if "MODEL_DIR" in environment and (version := newest(base)):
            found[VERSION_DIR] = str(base / str(version))
        return found

    def publish(self, environment: Mapping[str, str] = os.environ) -> int:
        """Publishes the newest version in MODEL_DIR, and returns its number in the other folder.

        Raises NoVersion if there is none, and UsageError if it is another run's.
        """
        if self.publish_to is None:
            raise UsageError("no folder to publish to")
        return copy_newest(Path(environment["MODEL_DIR"]), self.publish_to, run=lineage.run(environment))


def split(arguments: Sequence[str]) -> tuple[OnSuccess | None, list[str]]:
    """What the launcher's arguments state, None if they state nothing, and the job's command."""
    words = list(arguments)
    command: tuple[str, ...] = ()
    publish_to: Path | None = None
    if words[:1] == [COMMAND]:
        end = 2 + int(words[1])
        command, words = tuple(words[2:end]), words[end:]
    if words[:1] == [PUBLISH]:
        publish_to, words = Path(words[1]), words[2:]
    return (OnSuccess(command, publish_to) if command or publish_to else None), words
