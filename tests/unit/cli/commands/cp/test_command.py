"""A copy from a volume to this machine, whose pod is a folder here."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.commands.cp import command as cp
from tensorplane.cli.commands.cp import transfer
from tensorplane.cli.commands.cp.paths import VolumePath
from tensorplane.core.errors import UserError


class _Program:
    """The pod's end of one request."""

    def __init__(self, place: Path) -> None:
        self._place, self._sent = place, io.BytesIO()

    def write(self, data: bytes) -> None:
        transfer.send(str(self._place), json.loads(data), self._sent)
        self._sent.seek(0)

    def read(self, size: int) -> bytes:
        return self._sent.read(size)

    def finish(self) -> bytes:
        return b""


class _End:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self, verb: str, path: str) -> _Program:
        assert verb == "send"
        return _Program(self._folder / path)

    def entries(self, path: str) -> list[dict[str, Any]]:
        return list(transfer.entries(str(self._folder / path)))


def _copy(volume: Path, target: Path) -> None:
    cp._download(_End(volume), VolumePath("data", "raw"), target, Console())  # type: ignore[arg-type]


def test_names_that_the_file_system_takes_for_one_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("B", "b"):
        (tmp_path / "volume" / "raw" / name).mkdir(parents=True)
        (tmp_path / "volume" / "raw" / name / "x").write_text(name)
    _copy(tmp_path / "volume", tmp_path / "apart")
    assert (tmp_path / "apart" / "B" / "x").read_text() == "B"
    target = tmp_path / "target"

    def received(*arguments: Any) -> None:
        """As on macOS, where both names lead to one folder."""
        receive(*arguments)
        shutil.rmtree(target / "B")
        (target / "B").symlink_to("b")

    receive = transfer.receive
    monkeypatch.setattr(transfer, "receive", received)
    with pytest.raises(UserError) as refused:
        _copy(tmp_path / "volume", target)
    assert refused.value.lines == (
        f"B/x and b/x: are one file in {target}, whose file system takes these names for the same;"
        " copy them to another one",
    )
