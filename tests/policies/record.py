"""Records what the engine sends the pack of each stack: `.venv/bin/python -m tests.policies.record [NAME…]`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.policies import previews, recordings
from tests.recorded import stacks

FILES = {f"stack-{name}" if file.name.startswith("Pulumi.") else name: file for name, file in stacks.FILES.items()}
"""The settings of each stack, by the name of its golden."""


def main(names: Sequence[str]) -> None:
    """Writes a file a stack, and removes those of stacks that are no more."""
    recordings.FOLDER.mkdir(exist_ok=True)
    for former in {path.stem: path for path in recordings.FOLDER.glob("*.json")}.keys() - FILES.keys():
        (recordings.FOLDER / f"{former}.json").unlink()
    for name in names or FILES:
        with tempfile.TemporaryDirectory(prefix="tensorplane-record-") as root:
            found = previews.judged(Path(root), FILES[name], previews.config_of_file(FILES[name]))
        assert found.sent, found.output
        (recordings.FOLDER / f"{name}.json").write_text(recordings.text(name, recordings.of_engine(found.sent)))
        print(name, "" if found.passed else found.output[-3000:], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
