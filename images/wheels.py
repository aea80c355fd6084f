"""Python packages for an image: PyPI's wheels for the image's Python (not this machine's), slimmed and compiled."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import sys
from pathlib import Path

from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.images.base_python import BasePython

# Files that a running program never reads: headers, stubs for type checkers, tests.
_UNUSED_PATHS = (
    "bin",
    "tensorflow/include",
    "tensorflow/xla_aot_runtime_src",
    "**/tests",
    "**/testdata",
    "**/*_test.py",
    "**/*.a",
    "**/*.h",
    "**/*.pyi",
    "**/*.pyx",
    "**/*.pxd",
    "*.dist-info/RECORD",
    "*.dist-info/sboms",
)


def install(requirements: Path, root: Path, python: BasePython, step: Step, *, slim: bool = True) -> None:
    """Installs the pinned packages for the image's Python. The file also pins their dependencies.

    `slim`: removes what these packages do not read. Not for packages that nobody has tried without it.
    """
    target = python.packages(root)
    target.mkdir(parents=True, exist_ok=True)
    step.note("downloading Python packages")
    with scratch("pip") as temporary:
        command(
            [
                *(sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"),
                *("--progress-bar", "off", "--no-deps", "--no-compile", "--only-binary", ":all:", "--target", target),
                *("--implementation", "cp", "--python-version", python.version),
                *(word for tag in _platforms(python) for word in ("--platform", tag)),
                *("--requirement", requirements),
            ],
            step=step,
            # Next to the target, so that pip's last step is a rename; removed by a later run if this one is killed.
            env={"TMPDIR": str(temporary)},
        )
    if slim:
        step.note("slimming")
        _slim(target)
    python.compile(target, root, step)


def _platforms(python: BasePython) -> list[str]:
    machine = platform.machine()
    newest_first = [f"manylinux_2_{minor}_{machine}" for minor in range(python.glibc_minor(), 4, -1)]
    return [*newest_first, f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}"]


def _slim(packages: Path) -> None:
    for pattern in _UNUSED_PATHS:
        for path in list(packages.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    for library in packages.rglob("*.so*"):
        strip_symbols(library)


# The fields of a 64-bit little-endian ELF file header, the only kind on the machines that the images are built for.
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")


def strip_symbols(library: Path) -> int:
    """Removes the symbol tables of a shared library, as sstrip does: the loader does not read them.

    Truncates the file after its last loaded segment; returns the removed bytes, 0 if it is not an ELF file."""
    with library.open("r+b") as file:
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or head[:6] != b"\x7fELF\x02\x01":
            return 0
        fields = list(_HEADER.unpack(head))
        segments_at, segment_size, segment_count = fields[5], fields[9], fields[10]
        end = segments_at + segment_size * segment_count
        for number in range(segment_count):
            file.seek(segments_at + number * segment_size)
            _, _, offset, _, _, size, _, _ = _SEGMENT.unpack(file.read(_SEGMENT.size))
            end = max(end, offset + size)
        dropped: int = file.seek(0, os.SEEK_END) - end
        if segment_count == 0 or dropped <= 0:
            return 0
        fields[6], fields[11], fields[12], fields[13] = 0, 0, 0, 0  # where the section headers are, and how many
        file.seek(0)
        file.write(_HEADER.pack(*fields))
        file.truncate(end)
    return dropped
