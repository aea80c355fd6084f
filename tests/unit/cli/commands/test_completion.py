"""`tensorplane completion`: a real shell completes commands, options and stacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane.cli.__main__ import main
from tensorplane.core.paths import PROJECT
from tensorplane.toolchain import launchers


def _completed(bin_dir: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    launchers.install_command(bin_dir)
    typed = " ".join(f"'{word}'" for word in ("tensorplane", *words))
    program = f"""
    export PATH={bin_dir}:{Path(sys.executable).parent}:$PATH
    eval "$(tensorplane completion bash)"
    COMP_WORDS=({typed}) COMP_CWORD={len(words)}
    _tensorplane_completion tensorplane
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    shown = subprocess.run(["bash", "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    return shown.stdout.split()


def test_bash_completes_commands_options_and_stacks(tmp_path: Path) -> None:
    assert _completed(tmp_path, "vol") == ["volumes"]
    assert _completed(tmp_path, "check", "--cl") == ["--cluster"]
    assert _completed(tmp_path, "check", "--stack", "stag") == ["staging"]
    assert _completed(tmp_path, "predict", "--stack", "dev", "dig") == ["digits-server"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_TENSORPLANE_COMPLETE" in capsys.readouterr().out
