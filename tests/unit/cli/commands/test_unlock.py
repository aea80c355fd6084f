"""`unlock` removes the lock of a killed update, and leaves other backends to Pulumi."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tensorplane.cli.commands import unlock
from tensorplane.core.errors import UserError
from tests.support.state_locks import dead_process, locked_by


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder that plain `pulumi` has in a new home."""
    for name in ("PULUMI_BACKEND_URL", "TENSORPLANE_INSTANCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "tensorplane" / "stacks" / "pulumi"


def test_unlock_clears_the_lock_of_a_killed_update_of_a_cloud_stack(own_state: Path) -> None:
    lock, pid = locked_by(own_state, dead_process(), stack="prod"), dead_process()
    lock.write_text(json.dumps({"pid": pid, "hostname": socket.gethostname(), "timestamp": "now"}))
    assert unlock.unlock("prod", "") == f"stack prod: removed the lock of process {pid}, which no longer runs"
    assert not lock.exists()
    assert unlock.unlock("prod", "") == "stack prod: no lock"


def test_unlock_leaves_a_backend_that_is_no_folder_to_pulumi(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://states")
    with pytest.raises(UserError, match="s3://states; remove its lock with: pulumi cancel --stack prod"):
        unlock.unlock("prod", "")
