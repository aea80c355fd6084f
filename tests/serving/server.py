"""Starts the stand-in as its image does, with a small model of many signatures; leaves no process behind."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from tests.support.environment import of_machine
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS

_IMAGES = Path(__file__).resolve().parents[2] / "images"


class HalfPlus(tf.Module):  # type: ignore[misc]  # TensorFlow has no types
    """x / 2 + n, as TF Serving's own test models compute; and what else a signature can be."""

    def __init__(self, n: float) -> None:
        super().__init__()
        self.n = tf.Variable(n)

    def publish(self, base: Path, name: str, version: int | str) -> Path:
        """Saves it as a version of a model below a folder; gives the model's folder."""
        (base / name).mkdir(exist_ok=True)
        self.save(base / name / str(version))
        return base / name

    def save(self, folder: Path) -> None:
        """Writes it as a SavedModel, the way a trainer publishes one: beside, then by a rename."""
        floats = tf.TensorSpec([None], tf.float32, name="x")
        signatures = {
            "serving_default": tf.function(self._half_plus).get_concrete_function(floats),
            "two": tf.function(self._two).get_concrete_function(
                tf.TensorSpec([None], tf.float32, name="a"), tf.TensorSpec([None, 2], tf.int32, name="b")
            ),
            "text": tf.function(self._text).get_concrete_function(tf.TensorSpec([None], tf.string, name="s")),
            "picky": tf.function(self._picky).get_concrete_function(floats),
            "ragged": tf.function(self._ragged).get_concrete_function(tf.TensorSpec([None], tf.string, name="s")),
            "sparse": tf.function(self._sparse).get_concrete_function(floats),
            "complex": tf.function(self._complex).get_concrete_function(floats),
        }
        draft = folder.parent / f".draft-{folder.name}"
        tf.saved_model.save(self, str(draft), signatures)
        draft.rename(folder)

    def _half_plus(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x / 2 + self.n}

    def _two(self, a: tf.Tensor, b: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"sum": a + tf.cast(tf.reduce_sum(b, axis=1), tf.float32), "b": b}

    def _text(self, s: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"upper": tf.strings.upper(s), "raw_bytes": s}

    def _ragged(self, s: tf.Tensor) -> dict[str, Any]:
        return {"words": tf.strings.split(s), "lengths": tf.strings.length(s)}

    def _sparse(self, x: tf.Tensor) -> dict[str, Any]:
        return {"y": tf.sparse.from_dense(x)}

    def _complex(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.complex(x, x)}

    def _picky(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.control_dependencies([tf.debugging.assert_positive(x, "only positive numbers")]):
            return {"y": tf.identity(x)}


class Server:
    """A running stand-in over the models below `base`."""

    def __init__(self, process: subprocess.Popen[str], grpc_port: int, rest_port: int, base: Path) -> None:
        self.process, self.base, self.log = process, base, base / "server.log"
        self.grpc_address, self.rest = f"127.0.0.1:{grpc_port}", f"http://127.0.0.1:{rest_port}"

    def text(self, path: str) -> str:
        with urllib.request.urlopen(self.rest + path, timeout=PATIENT_SECONDS) as answer:
            return str(answer.read().decode())

    def get(self, path: str) -> tuple[int, Any]:
        return self._ask(urllib.request.Request(self.rest + path))

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._ask(urllib.request.Request(self.rest + path, data, method="POST"))

    def send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        return self._ask(urllib.request.Request(self.rest + path, body, headers, method=method))

    def predict(self, model: str = "half", **body: Any) -> tuple[int, Any]:
        return self.post(f"/v1/models/{model}:predict", body)

    def refusal(self, path: str, body: Any = None) -> tuple[int, str]:
        """The code of a wrong request, and its error, which is all of the answer."""
        code, answer = self.get(path) if body is None else self.post(path, body)
        assert answer.keys() == {"error"}
        return code, answer["error"]

    def wait(self, path: str, status: int, seconds: float = PATIENT_SECONDS) -> Any:
        """Asks until the answer has the status."""
        deadline = time.monotonic() + seconds
        answer: Any = None
        while time.monotonic() < deadline:
            try:
                answer = self.get(path)
            except OSError as error:
                answer = error
            else:
                if answer[0] == status:
                    return answer[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"{path}: {answer}, not {status}:\n{self.log.read_text()}")

    def _ask(self, request: urllib.request.Request) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(request, timeout=PATIENT_SECONDS) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


def arguments(*flags: str) -> list[str]:
    """The command line that starts the stand-in."""
    return [sys.executable, "-m", "serving", *flags]


def environment(packages: Path, base: Path) -> dict[str, str]:
    """What its image and the pod set."""
    return {
        **of_machine(),
        "PYTHONPATH": f"{_IMAGES}:{packages}",
        "MODEL_NAME": "half",
        "MODEL_BASE_PATH": str(base),
    }


@contextmanager
def running(packages: Path, base: Path, *flags: str) -> Iterator[Server]:
    """A stand-in over the models below `base`, stopped at the end."""
    grpc_port, rest_port = free_ports(2)
    with (base / "server.log").open("w") as sink:
        process = subprocess.Popen(
            arguments(f"--port={grpc_port}", f"--rest_api_port={rest_port}", *flags),
            env=environment(packages, base),
            stdout=sink,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield Server(process, grpc_port, rest_port, base)
    finally:
        process.kill()
        process.wait()
