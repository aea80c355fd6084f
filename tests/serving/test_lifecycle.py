"""A server's life: not ready without a version, swaps that no client notices, broken versions, flags, a clean stop.

Source: tensorflow/serving, g3doc/architecture.md ("Availability Preserving Policy"), g3doc/serving_config.md, main.cc.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.serving.server import HalfPlus, Server, arguments, environment, running
from tests.support.waiting import PATIENT_SECONDS, eventually


def test_versions_come_are_swapped_and_go_and_a_broken_one_does_no_harm(stubs: Path, tmp_path: Path) -> None:
    models = tmp_path / "half"
    models.mkdir()
    with running(stubs, tmp_path) as server:
        assert "Latest(half)" in server.wait("/v1/models/half/metadata", 404)["error"]
        assert server.predict(instances=[1.0])[0] == 404

        # TF Serving's own example is in a folder of such a name.
        HalfPlus(1.0).save(models / "00000001")
        server.wait("/v1/models/half/metadata", 200)
        answers = _asked_while(server, lambda: _swap(server, models))
        assert {status for status, _ in answers} == {200}
        values = [answer["predictions"][0] for _, answer in answers]
        assert values == sorted(values), "never back to the old version"
        assert {values[0], values[-1]} == {1.5, 2.5}
        eventually(lambda: _status(server, 1)["state"] == "END")

        (models / "3").mkdir()
        (models / "3" / "saved_model.pb").write_bytes(b"not a model")
        server.wait("/v1/models/half/versions/3", 200)
        # It is tried again after a minute: the state and the error are of one answer.
        ended = eventually(lambda: (found := _status(server, 3))["state"] == "END" and found)
        assert ended["status"]["error_message"]
        assert server.predict(instances=[1.0]) == (200, {"predictions": [2.5]})

        shutil.rmtree(models / "3")
        shutil.rmtree(models / "2")
        server.wait("/v1/models/half/versions/1/metadata", 200)

        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENT_SECONDS) == 0
        assert "stopped" in server.log.read_text()


def _status(server: Server, version: int) -> dict[str, Any]:
    """What it says of a version."""
    (status,) = server.get(f"/v1/models/half/versions/{version}")[1]["model_version_status"]
    return dict(status)


def _swap(server: Server, models: Path) -> None:
    HalfPlus(2.0).save(models / "2")
    server.wait("/v1/models/half/versions/2/metadata", 200)


def _asked_while(server: Server, change: Callable[[], None]) -> list[tuple[int, Any]]:
    """Answers to requests that went on, one after the other, before, during and after the change."""
    answers = [server.predict(instances=[1.0])]
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            answers.append(server.predict(instances=[1.0]))
        answers.append(server.predict(instances=[1.0]))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        change()
    finally:
        over.set()
        asking.join()
    return answers


@pytest.mark.parametrize("flag", ["--ssl_config_file=/etc/ssl", "--modelname=digits"])
def test_a_flag_that_is_not_honoured_is_refused_by_name(stubs: Path, tmp_path: Path, flag: str) -> None:
    done = subprocess.run(
        arguments(flag), env=environment(stubs, tmp_path), capture_output=True, text=True, timeout=PATIENT_SECONDS
    )
    assert done.returncode == 2
    assert f"unknown {flag.partition('=')[0]};" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly("a start of TensorFlow for one line")
def test_a_port_in_use_is_one_line_and_an_error(server: Server, stubs: Path, tmp_path: Path) -> None:
    port = server.grpc_address.partition(":")[2]
    done = subprocess.run(
        arguments(f"--port={port}", "--rest_api_port=0"),
        env=environment(stubs, tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENT_SECONDS,
    )
    assert done.returncode == 1
    assert f"cannot listen on port {port}" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
