"""The Python of a base layer, run on this machine for steps that require the image's own Python."""

from __future__ import annotations

from pathlib import Path

from tensorplane.core.step import Step
from tensorplane.core.tasks import command


class BasePython:
    """The Python of an unpacked base layer, run in place through the layer's own loader and libraries."""

    def __init__(self, root: Path) -> None:
        self._home = root / "usr"
        self._loader = next(root.glob("usr/lib/*/ld-linux-*.so.*"))
        self._program = next(path for path in root.glob("usr/bin/python3.*") if path.suffix[1:].isdigit())
        self.version = self._program.name.removeprefix("python")

    def packages(self, root: Path) -> Path:
        """Its folder for packages from outside Debian, below another layer's root."""
        return root / f"usr/local/lib/python{self.version}/dist-packages"

    def run(self, *arguments: str | Path, step: Step | None = None) -> str:
        """Runs it to its end and returns what it printed."""
        argv = [self._loader, "--library-path", self._loader.parent, self._program, *arguments]
        return command(argv, step=step, env={"PYTHONHOME": str(self._home), "PYTHONPATH": ""})

    def glibc_minor(self) -> int:
        """The y of its glibc 2.y: wheels for newer versions do not load."""
        return int(self.run("-c", "import os; print(os.confstr('CS_GNU_LIBC_VERSION').rpartition('.')[2])"))

    def compile(self, folder: Path, root: Path, step: Step) -> None:
        """Adds bytecode to every module: a container's root is read-only, so it is never written there.

        It is not checked against the source: modification times differ between images, and neither file can change.
        """
        step.note("compiling Python modules")
        self.run(
            *("-m", "compileall", "-q", "-j", "2", "--invalidation-mode", "unchecked-hash"),
            *("-s", root, "-p", "/", folder),
            step=step,
        )
