"""What `tensorplane data put` sees in a folder of this machine."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tensorplane.cli.commands.data import local


def test_a_file_that_somebody_appends_to_has_the_size_of_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a log, whose former content the dataset has already: nothing is sent that would show the difference."""
    log, about = tmp_path / "log", os.fstat
    log.write_text("zero")

    def appended_to(descriptor: int) -> os.stat_result:
        if os.path.samestat(about(descriptor), log.stat()):
            with log.open("a") as writer:
                writer.write("more")
        return about(descriptor)

    monkeypatch.setattr(os, "fstat", appended_to)
    found = local.files(tmp_path)
    assert found == {"log": (hashlib.sha256(b"zero").hexdigest(), 4, False)}
