"""Records the state of every stack as this commit deploys it: `.venv/bin/python -m tests.recorded.record`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.recorded import recording, stacks

STATES = Path(__file__).with_name("states")


def main() -> None:
    """Writes a file a stack, and removes those of stacks that are no more."""
    STATES.mkdir(exist_ok=True)
    for former in {path.stem: path for path in STATES.glob("*.json")}.keys() - stacks.FILES.keys():
        (STATES / f"{former}.json").unlink()
    with tempfile.TemporaryDirectory(prefix="tensorplane-record-") as root, stacks.opened(Path(root)) as project:
        for name, settings in stacks.FILES.items():
            project.add(name, settings)
            (STATES / f"{name}.json").write_text(recording.text(project.deploy(name)))
            print(name, flush=True)


if __name__ == "__main__":
    main()
