"""Makes `. .venv/bin/activate && pulumi preview` work: the variables in the shell, `pulumi` in the folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from tensorplane.core import whole_file
from tensorplane.toolchain import pulumi_plugins
from tensorplane.toolchain.pulumi_environment import pulumi_environment

_BEGIN = "# >>> tensorplane: where `pulumi` keeps this project's state >>>"
_END = "# <<< tensorplane <<<"
_BLOCK = re.compile(rf"\n?{re.escape(_BEGIN)}.*?{re.escape(_END)}\n", re.DOTALL)


def activate(venv: Path, *, home: Path, pulumi: Path) -> None:
    """Adds the variables of `home` to VENV/bin/activate, if it has one, and `pulumi` to its folder. Idempotent."""
    script = venv / "bin" / "activate"
    if script.exists():  # a Python outside of an environment has none
        block = _block(pulumi_environment(home, given={}))
        whole_file.write(script, _BLOCK.sub("", script.read_text()).rstrip("\n") + "\n\n" + block)
    _link(venv / "bin" / "pulumi", pulumi)


def _block(variables: Mapping[str, str]) -> str:
    lines = []
    for name, value in variables.items():
        # As in `pulumi_environment`: the user's own variables stay, and their passphrase overrides our file.
        names = [name, "PULUMI_CONFIG_PASSPHRASE"] if name.startswith("PULUMI_CONFIG_PASSPHRASE") else [name]
        unset = " && ".join(f'[ -z "${{{each}+set}}" ]' for each in names)
        lines.append(f"if {unset}; then export {name}={shlex.quote(value)}; fi")
    return "\n".join([_BEGIN, *lines, _END]) + "\n"


def _link(link: Path, pulumi: Path) -> None:
    """Links a CLI only if it is not on PATH: a package manager's upgrade would break the link."""
    if link.exists() and not link.is_symlink():
        return
    target = pulumi.resolve()
    if pulumi_plugins.on_path("pulumi", but_not_in=link.parent):
        link.unlink(missing_ok=True)
    elif link.resolve() != target:
        whole_file.link(link, target)
