"""A program that was killed while it used a cluster leaves no key of its kubeconfig behind."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tensorplane.core.paths import PROJECT
from tests.support import asking_server

USED = """
import os
import signal
import sys
from pathlib import Path

from tensorplane.components.volumes import cluster_api
from tensorplane.core.kube import Kube
from tensorplane.core.errors import UserError

path = Path(sys.argv[1])
of_file, of_text = Kube.of(path), Kube.of_text(path.read_text(), remedy="")
# The second one connects again, with a WebSocket.
for kube in (of_file, of_text):
    print(kube.get("/version"))
    try:
        kube.websocket("/exec")
    except UserError as fault:
        print(fault)
for given in (str(path), path.read_text()):
    print(cluster_api.connect(given, None).get("/version")["major"])
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
_TEXTS = ("buildDate", "compiler", "gitCommit", "gitTreeState", "gitVersion", "goVersion", "platform")
VERSION = json.dumps({"major": "1", "minor": "36", **dict.fromkeys(_TEXTS, "")}).encode()


class _Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path.startswith("/version")
        self.send_response(200 if found else 404)
        body = VERSION if found else b""
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def given(tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of an API server that answers to nobody without the kubeconfig's key."""
    with asking_server.running(tmp_path / "keys", _Api) as config:
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump(config))
        yield file


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no files in memory")
def test_a_killed_program_leaves_no_file(given: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    used = subprocess.run(
        [sys.executable, "-c", USED, str(given)], cwd=PROJECT, env=environment, capture_output=True, text=True
    )
    assert used.returncode == -signal.SIGKILL, used.stderr
    first, exec_, *others = used.stdout.splitlines()
    assert "'minor': '36'" in first
    assert exec_ == "/exec: the server answers 404"
    assert others == [first, exec_, "1", "1"]
    assert list(temporary.iterdir()) == []
