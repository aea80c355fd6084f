"""What a killed update left behind: whose lock may be broken, and which objects may exist."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from embedded import recover
from embedded.deploy import diagnostics
from embedded.fault import Fault


def _lock(backend: Path, pid: int, host: str = "") -> Path:
    lock = backend / ".pulumi" / "locks" / "organization" / "tensorplane" / "dev" / "1.json"
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps({"pid": pid, "hostname": host or socket.gethostname(), "timestamp": "now"}))
    return lock


def _dead() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_the_lock_of_a_dead_process_is_broken(tmp_path: Path) -> None:
    lock = _lock(tmp_path, _dead())
    recover.break_stale_locks(tmp_path, "dev")
    assert not lock.exists()


def test_the_lock_of_a_process_that_is_no_pulumi_is_broken(tmp_path: Path) -> None:
    lock = _lock(tmp_path, 1)
    recover.break_stale_locks(tmp_path, "dev")
    assert not lock.exists()


def test_the_lock_of_a_live_pulumi_stays_and_is_named(tmp_path: Path) -> None:
    waits = "print(flush=True); input()  # pulumi"
    with subprocess.Popen([sys.executable, "-c", waits], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout and child.stdout.readline()  # its command line can be read once it runs
            lock = _lock(tmp_path, child.pid)
            with pytest.raises(Fault, match=f"process {child.pid} on .* is updating it"):
                recover.break_stale_locks(tmp_path, "dev")
            assert lock.exists()
        finally:
            child.kill()


def test_the_lock_of_another_machine_stays(tmp_path: Path) -> None:
    lock = _lock(tmp_path, os.getpid(), "elsewhere")
    with pytest.raises(Fault, match="on elsewhere"):
        recover.break_stale_locks(tmp_path, "dev")
    assert lock.exists()


def test_another_stacks_lock_is_left_alone(tmp_path: Path) -> None:
    lock = _lock(tmp_path, _dead())
    recover.break_stale_locks(tmp_path, "prod")
    assert lock.exists()


def _export(*operations: dict[str, Any]) -> dict[str, Any]:
    resources = [{"urn": "urn:stack", "type": "pulumi:pulumi:Stack"}]
    return {"version": 3, "deployment": {"resources": resources, "pending_operations": list(operations)}}


def _creating(urn: str, kind: str, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"type": "creating", "resource": {"urn": urn, "type": kind, "custom": True, "inputs": inputs}}


def test_nothing_pending_needs_nothing() -> None:
    assert recover.settled(_export()) is None


def test_what_was_being_created_is_entered_under_the_id_of_its_inputs() -> None:
    settled = recover.settled(
        _export(
            _creating("urn:ns", "kubernetes:core/v1:Namespace", {"metadata": {"name": "a"}}),
            _creating("urn:svc", "kubernetes:core/v1:Service", {"metadata": {"name": "s-1f", "namespace": "a"}}),
            _creating("urn:rel", "kubernetes:helm.sh/v3:Release", {"name": "kueue", "namespace": "kueue-system"}),
        )
    )
    assert settled is not None
    ids = {one["urn"]: one.get("id") for one in settled["deployment"]["resources"]}
    assert ids == {"urn:stack": None, "urn:ns": "a", "urn:svc": "a/s-1f", "urn:rel": "kueue-system/kueue"}
    assert settled["deployment"]["pending_operations"] == []


def test_a_resource_that_the_state_has_is_not_entered_twice() -> None:
    export = _export(_creating("urn:ns", "kubernetes:core/v1:Namespace", {"metadata": {"name": "a"}}))
    export["deployment"]["resources"].append({"urn": "urn:ns", "type": "kubernetes:core/v1:Namespace", "id": "a"})
    settled = recover.settled(export)
    assert settled is not None
    assert len(settled["deployment"]["resources"]) == 2


def test_other_operations_and_other_providers_resources_are_dropped() -> None:
    settled = recover.settled(
        _export(
            {"type": "deleting", "resource": {"urn": "urn:x", "type": "kubernetes:core/v1:Secret"}},
            _creating("urn:p", "pulumi:providers:kubernetes", {}),
        )
    )
    assert settled is not None
    assert [one["urn"] for one in settled["deployment"]["resources"]] == ["urn:stack"]


OUTPUT = """Updating (dev):
 +  kubernetes:core/v1:Service server creating (0s)
Diagnostics:
  pulumi:pulumi:Stack (tensorplane-dev):
    warning: using pulumi-language-python from $PATH at /somewhere/pulumi-language-python
    error: update failed

  kubernetes:core/v1:Service (server):
    error: Service a/server was not created: it exists

Resources:
    1 errored
"""


def test_a_failed_update_is_told_by_its_errors_alone() -> None:
    assert diagnostics(OUTPUT) == [
        "kubernetes:core/v1:Service (server):",
        "  Service a/server was not created: it exists",
    ]
