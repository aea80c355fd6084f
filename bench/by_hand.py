"""The digits program launched by hand: two processes on this machine that connect over the loopback interface.

They run in the training image's files, unpacked from the same layers, so that Python, TensorFlow and every library are
identical to those of pods. Only tensorplane's additions are absent: containers, pod network, DNS, limits, control
plane.
"""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console

from bench import image_root
from tensorplane.core.progress import Progress
from tensorplane.core.step import Step
from tensorplane.core.tasks import Task, command, run_all
from tensorplane.images import training
from tensorplane.images.oci import NONROOT
from tensorplane.workloads.pods import pod, sources

_APP = Path("opt/tensorplane/app")
_LIBRARY = Path("opt/tensorplane/lib")
WORKERS = 2

Line = tuple[float, str]


class Program:
    """The image's files in a folder, with the program, as in a pod."""

    def __init__(self, root: Path) -> None:
        self._root = root
        image_root.extract(training.image(), root)

    def add(self, files: dict[str, Path]) -> None:
        """Copies the program's files and tensorplane's library to their paths in pods."""
        for name, source in files.items():
            target = self._root / _APP / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        for name, content in sources.library().items():
            target = self._root / _LIBRARY / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def run(self, run: str, script: str, settings: dict[str, str]) -> list[Line]:
        """The chief's log lines with their times, after all workers have ended."""
        written = self._root / "models" / run
        written.mkdir(parents=True)
        shutil.chown(written, NONROOT, NONROOT)
        folders = {"MODEL_DIR": f"/models/{run}/model", "CHECKPOINT_DIR": f"/models/{run}/checkpoints"}
        addresses = [f"127.0.0.1:{port}" for port in free_ports(WORKERS)]
        lines: list[Line] = []
        tasks = []
        for index in range(WORKERS):
            config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            environment = {**settings, **folders, "TF_CONFIG": json.dumps(config)}
            listener = _stamping(lines) if index == 0 else _ignoring
            task = partial(self._worker, script, environment, listener)
            tasks.append(Task(f"worker {index} by hand", task))
        with Progress(Console(quiet=True)) as progress:
            run_all(tasks, progress)
        return lines

    def _worker(self, script: str, settings: dict[str, str], listener: Callable[[str], None], _: Step) -> None:
        environment = {
            **training.ENVIRONMENT,
            **settings,
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"/{_LIBRARY / pod.ARCHIVE}",
            "HOME": "/tmp",  # noqa: S108  # inside the image, as in a pod
            "USER": "tensorplane",
        }
        argv = ("/usr/bin/python3", f"/{_APP}/{script}")
        command(image_root.command(self._root, environment, argv), watch=listener)


def _stamping(lines: list[Line]) -> Callable[[str], None]:
    return lambda line: lines.append((time.time(), line))


def _ignoring(_: str) -> None:
    pass


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
