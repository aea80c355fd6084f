"""Installs the project's and the tests' Python packages into this environment when their pins have changed."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

from tensorplane.core.paths import PACKAGE, PROJECT
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain import pip_settings

STACKS = (PROJECT / "requirements.txt",)
"""The requirements of a stack's program, in a checkout of tensorplane."""
WITHOUT_DEPENDENCIES = PROJECT / "tests" / "requirements-no-deps.txt"
"""Requirements that pip installs alone, because they ask for `tensorflow`, which its CPU build does not satisfy."""
MODELS = {
    package: PACKAGE / "plugins" / "cloud_models" / f"requirements-{package}.txt"
    for package in ("aws", "azure-native", "gcp")
}
"""What each cloud publishes about values, for previews without it. Read and never run, so installed alone."""
_SEPARATE_FILES = (WITHOUT_DEPENDENCIES, *MODELS.values())
TESTS = (*STACKS, PROJECT / "requirements-aks.txt", PROJECT / "tests" / "requirements.txt", *_SEPARATE_FILES)
"""The requirements of `make test`: every cloud's SDK, and the tests' own packages."""


def is_missing(requirements: Iterable[Path], prefix: Path | None = None) -> bool:
    """Whether the pins of one of the files differ from those that were installed last."""
    return not _digests(requirements).items() <= _installed(prefix).items()


def install(step: Step, requirements: Iterable[Path], prefix: Path | None = None) -> None:
    """Installs all files at once, so that their versions fit each other."""
    step.note("reading requirements")
    python = str((prefix or Path(sys.prefix)) / "bin" / "python")
    configuration = command([python, "-m", "pip", "config", "list"], step=step)
    install, settings = pip_settings.installer(python, configuration)
    requirements = list(requirements)
    alone = [path for path in requirements if path in _SEPARATE_FILES]
    resolved = [path for path in requirements if path not in _SEPARATE_FILES]
    for options, files in (((), resolved), (("--no-deps",), alone)):
        if files:
            listings = (word for path in files for word in ("--requirement", str(path)))
            command([*install, *options, *listings], step=step, env=settings)
    # Written last, so that a killed installation is repeated.
    done = _installed(prefix) | _digests(requirements)
    _stamp(prefix).write_text("".join(f"{name} {digest}\n" for name, digest in done.items()))


def _stamp(prefix: Path | None) -> Path:
    return (prefix or Path(sys.prefix)) / ".tensorplane-packages"


def _installed(prefix: Path | None) -> dict[str, str]:
    stamp = _stamp(prefix)
    lines = [line.split() for line in stamp.read_text().splitlines()] if stamp.exists() else []
    return {words[0]: words[1] for words in lines if len(words) == 2}


def _digests(requirements: Iterable[Path]) -> dict[str, str]:
    python = sys.version.encode()
    return {_name(path): hashlib.sha256(python + path.read_bytes()).hexdigest() for path in requirements}


def _name(path: Path) -> str:
    root = next((root for root in (PACKAGE, PROJECT) if path.is_relative_to(root)), None)
    return str(path.relative_to(root) if root else path)
