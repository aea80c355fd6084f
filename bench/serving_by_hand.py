"""The stand-in of TensorFlow Serving started by hand: the same image, flags and model, without a cluster."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import image_root, waiting
from bench.by_hand import free_ports
from embedded.images import serving_image

_PATIENT_SECONDS = 120.0


@contextmanager
def serving(model: Path, name: str) -> Iterator[int]:
    """The REST port of a server of one model's folder."""
    image = serving_image.image()
    with tempfile.TemporaryDirectory(prefix="bench-serving-") as folder:
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
        process = subprocess.Popen(image_root.command(root, environment, argv), stdout=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{rest}/v1/models/{name}/metadata"
            waiting.until(lambda: _answers(url), _PATIENT_SECONDS, lambda: "the server by hand does not answer")
            yield rest
        finally:
            # unshare ignores SIGTERM; when it is killed, it takes the server with it.
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        # A server of this machine, which speaks HTTP.
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310
            return True
    except OSError:
        return False
