"""The stand-in of TensorFlow Serving started by hand: the same image, flags and model, without a cluster.

It gets the processors' share of the pod that it is compared with. Otherwise the comparison would be one of shares: the
kernel gives a pod's processes together what the pod requests, and each thread outside of pods as much as a whole pod.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench import image_root, instance, waiting
from bench.by_hand import free_ports
from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import cgroups
from tensorplane.images import serving_image

_PATIENT_SECONDS = 120.0


@contextmanager
def serving(model: Path, name: str, pod: str) -> Iterator[int]:
    """The REST port of a server of one model's folder, with the processors' share of a pod (its UID)."""
    image = serving_image.image()
    with tempfile.TemporaryDirectory(prefix="bench-serving-") as folder, _beside(pod) as group:
        root = Path(folder)
        image_root.extract(image, root)
        shutil.copytree(model, root / "models" / name)
        grpc, rest = free_ports(2)
        environment = {
            **image.env,
            "PATH": "/usr/bin:/bin",
            "HOME": "/tmp",  # noqa: S108  # inside the image, as in a pod
            "USER": "tensorplane",
        }
        argv = [
            *image.entrypoint,
            f"--port={grpc}",
            f"--rest_api_port={rest}",
            f"--model_name={name}",
            f"--model_base_path=/models/{name}",
        ]
        join = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"))
        process = subprocess.Popen([*join, *image_root.command(root, environment, argv)], stdout=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{rest}/v1/models/{name}/metadata"
            waiting.until(lambda: _answers(url), _PATIENT_SECONDS, lambda: "the server by hand does not answer")
            yield rest
        finally:
            # The signal that unshare promises its child when it dies is lost when the child changes its user.
            _kill(group)
            process.wait()


@contextmanager
def _beside(pod: str) -> Iterator[Path]:
    """A cgroup beside a pod's, with the same share of the processors."""
    found = [
        (group, setting)
        for folder in cgroups.folders(instance.BENCH)
        for setting in ("cpu.shares", "cpu.weight")
        for group in folder.rglob(f"pod{pod}")
        if (group / setting).exists()
    ]
    if not found:
        raise UserError(f"pod {pod}: no cgroup has its share of the processors")
    of_pod, setting = found[0]
    group = of_pod.parent / "by-hand"
    group.mkdir()
    try:
        (group / setting).write_text((of_pod / setting).read_text())
        yield group
    finally:
        waiting.until(lambda: _removed(group), _PATIENT_SECONDS, lambda: f"{group}: processes still use it")


def _kill(group: Path) -> None:
    for pid in (group / "cgroup.procs").read_text().split():
        os.kill(int(pid), signal.SIGKILL)


def _removed(group: Path) -> bool:
    """The kernel takes a moment to release processes that just died."""
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def _answers(url: str) -> bool:
    try:
        # A server of this machine, which speaks HTTP.
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310
            return True
    except OSError:
        return False
