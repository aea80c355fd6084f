"""State of an earlier version, in the cluster's home: all of it is found again, whatever moment a kill chose."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embedded.carried_over import carry_over
from embedded.fault import Fault
from embedded.paths import Instance
from embedded.target import Target

_STATES = {"dev": "the embedded one", "prod": "a cloud's"}


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    """An instance whose state an earlier version keeps beside the cluster's data."""
    for name in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    instance = Instance()
    states = instance.home / "pulumi" / ".pulumi" / "stacks" / "tensorplane"
    states.mkdir(parents=True)
    for name, text in _STATES.items():
        (states / f"{name}.json").write_text(text)
    (instance.home / "passphrase").write_text("secret")
    (instance.home / "passphrase").chmod(0o600)
    (instance.home / "settings").mkdir()
    (instance.home / "settings" / "Pulumi.dev.yaml").write_text("encryptionsalt: v1:ours\n")
    return instance


def _found(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in (folder / ".pulumi" / "stacks" / "tensorplane").glob("*.json")}


def _is_carried_over(instance: Instance) -> None:
    assert _found(instance.stacks / "pulumi") == _STATES
    assert (instance.stacks / "passphrase").read_text() == "secret"
    assert (instance.stacks / "passphrase").stat().st_mode & 0o777 == 0o600
    assert "v1:ours" in (instance.stacks / "settings" / "Pulumi.dev.yaml").read_text()
    # A shell that was activated before goes on in the same state.
    assert _found(instance.home / "pulumi") == _STATES
    assert (instance.home / "pulumi").resolve() == (instance.stacks / "pulumi").resolve()


def test_state_passphrase_and_salt_are_found_by_the_next_command(earlier: Instance) -> None:
    variables = Target("", earlier, cloud="eks").environment()
    assert variables["PULUMI_BACKEND_URL"] == f"file://{earlier.stacks}/pulumi?metadata=skip"
    assert Path(variables["PULUMI_CONFIG_PASSPHRASE_FILE"]).read_text() == "secret"
    _is_carried_over(earlier)
    shutil.rmtree(earlier.home)
    assert _found(earlier.stacks / "pulumi") == _STATES, "what deletes the cluster does not reach it"


def test_doing_it_again_changes_nothing(earlier: Instance) -> None:
    carry_over(earlier)
    (earlier.stacks / "pulumi" / "mine").touch()
    carry_over(earlier)
    assert (earlier.stacks / "pulumi" / "mine").exists()
    _is_carried_over(earlier)


class _Killed(BaseException):
    """The end of a process, at a moment that the test chooses."""


_STEPS = ("os.rename", "os.symlink", "os.link", "os.mkdir", "shutil.copytree")


@pytest.mark.parametrize("disks", [1, 2])
def test_a_kill_at_any_step_loses_nothing(
    earlier: Instance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, disks: int
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(earlier.home, whole)
    moments = 0
    while True:
        with monkeypatch.context() as patched:
            if disks == 2:
                _on_two_disks(patched, earlier)
            _kill_after(patched, moments)
            try:
                carry_over(earlier)
                break
            except _Killed:
                moments += 1
        with monkeypatch.context() as patched:
            if disks == 2:
                _on_two_disks(patched, earlier)
            carry_over(earlier)
        _is_carried_over(earlier)
        shutil.rmtree(earlier.home)
        shutil.rmtree(earlier.stacks)
        shutil.copytree(whole, earlier.home)
    assert moments > 4
    _is_carried_over(earlier)


def _kill_after(patched: pytest.MonkeyPatch, steps: int) -> None:
    """Ends the process before its next step once so many are done."""
    left = [steps]

    def counted(step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            if not left[0]:
                raise _Killed
            left[0] -= 1
            return step(*args, **kwargs)

        return run

    for name in _STEPS:
        module, function = name.split(".")
        patched.setattr(sys.modules[module], function, counted(getattr(sys.modules[module], function)))


def _on_two_disks(patched: pytest.MonkeyPatch, instance: Instance) -> None:
    rename = os.rename

    def refuses(source: Any, target: Any, **kwargs: Any) -> None:
        crosses = Path(source).is_relative_to(instance.home) != Path(target).is_relative_to(instance.home)
        if crosses:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target, **kwargs)

    patched.setattr(os, "rename", refuses)


def test_it_waits_for_an_update_that_is_at_work(earlier: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = earlier.home / "pulumi" / ".pulumi" / "locks" / "organization" / "tensorplane" / "prod" / "1.json"
    lock.parent.mkdir(parents=True)
    lock.write_text(json.dumps({"pid": 1, "hostname": f"not {socket.gethostname()}", "timestamp": "now"}))
    with pytest.raises(Fault, match="stack prod: process 1 on not"):
        carry_over(earlier)
    assert _found(earlier.home / "pulumi") == _STATES


def test_two_states_are_never_mixed(earlier: Instance) -> None:
    """A return to the earlier version, after this one, makes a second state under a passphrase of its own."""
    states = earlier.stacks / "pulumi" / ".pulumi" / "stacks" / "tensorplane"
    states.mkdir(parents=True)
    (states / "prod.json").write_text("another")
    (earlier.stacks / "passphrase").write_text("another")
    with pytest.raises(Fault, match="has dev, prod, made by an earlier version"):
        carry_over(earlier)
    assert _found(earlier.home / "pulumi") == _STATES
    assert (states / "prod.json").read_text() == "another"


def test_a_passphrase_that_the_user_set_needs_no_file(earlier: Instance) -> None:
    (earlier.home / "passphrase").unlink()
    carry_over(earlier)
    assert _found(earlier.stacks / "pulumi") == _STATES
    assert not (earlier.stacks / "passphrase").exists()


def test_a_machine_without_earlier_state_gets_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    carry_over(Instance())
    assert not list(tmp_path.iterdir())
