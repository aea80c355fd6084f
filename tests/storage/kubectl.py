"""The few commands of kubectl that `tensorplane volumes` prints, run against the tests' cluster."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from kubernetes import client, config

CONTENTS = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
_KINDS = {
    "pv": "/api/v1/persistentvolumes",
    "volumesnapshotcontent": CONTENTS,
}
_TYPES = {"json": "application/json-patch+json", "merge": "application/merge-patch+json"}


def run(kubeconfig: Path, line: str) -> None:
    """Runs a line of them as it was printed. What is not such a command is an error."""
    api = config.new_client_from_config(str(kubeconfig))
    for command in line.split("; "):
        program, verb, *words = shlex.split(command, comments=True)
        assert (program, verb in ("patch", "delete")) == ("kubectl", True), command
        parser = argparse.ArgumentParser()
        parser.add_argument("kind", choices=_KINDS)
        parser.add_argument("name")
        parser.add_argument("--type", default="merge", choices=_TYPES)
        parser.add_argument("-p", type=json.loads)
        given = parser.parse_args(words)
        _call(api, verb, f"{_KINDS[given.kind]}/{given.name}", given.p, _TYPES[given.type])


def _call(api: client.ApiClient, verb: str, path: str, body: Any, kind: str) -> None:
    api.call_api(
        path,
        verb.upper(),
        body=body,
        header_params={"Content-Type": kind, "Accept": "application/json"},
        auth_settings=["BearerToken"],
        _preload_content=False,
    )
