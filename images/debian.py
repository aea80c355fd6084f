"""Files of Debian (or Ubuntu) packages, not installed: apt resolves, downloads and verifies, dpkg-deb unpacks."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.images.base_python import BasePython
from tensorplane.images.oci import NONROOT

# Dependencies of Python's standard library that nothing in the images uses: package management, and the C libraries of
# the modules `nis` and `dbm.ndbm`.
_UNUSED = {
    "dpkg",
    "tar",
    "libacl1",
    "libmd0",
    "libpcre2-8-0",
    "libselinux1",
    "libzstd1",
    "media-types",
    "readline-common",
    "libnsl2",
    "libtirpc3",
    "libtirpc3t64",
    "libtirpc-common",
    "libgssapi-krb5-2",
    "libk5crypto3",
    "libkeyutils1",
    "libkrb5-3",
    "libkrb5support0",
    "libcom-err2",
    "libdb5.3",
    "libdb5.3t64",
}
_UNUSED_PATHS = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/lintian",
    "usr/share/bug",
    "usr/share/info",
    "usr/share/applications",
    "usr/share/pixmaps",
    "usr/share/binfmts",
    "usr/share/gcc",
    "usr/share/gdb",
    "usr/share/python3",
    "usr/lib/python3*/test",
    "usr/lib/python3*/idlelib",
    "usr/lib/python3*/tkinter",
    "usr/lib/python3*/turtle*",
    "usr/lib/python3*/lib2to3",
    "usr/lib/python3*/ensurepip",
    "usr/lib/python3*/pydoc_data",
    "usr/lib/python3*/config-3*",
    "usr/lib/*/gconv",
    "usr/lib/*/audit",
    "usr/include",
    "var",
)
_MERGED = ("bin", "lib", "lib64", "sbin")


class Apt:
    """apt with its own state in a folder: without root, without the machine's lock, without installed packages."""

    def __init__(self, folder: Path, step: Step) -> None:
        self._step = step
        self._downloads = folder / "downloads"
        for each in (folder / "state/lists/partial", folder / "cache/archives/partial", self._downloads):
            each.mkdir(parents=True)
        (folder / "status").touch()
        settings = {
            "Dir::State": folder / "state",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "APT::Sandbox::User": "root",
            "APT::Install-Recommends": "false",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        self._options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        step.note("reading Debian's package lists")
        self._run("apt-get", "-q", "update")

    def python(self) -> str:
        """The distribution's Python, as `3.11`."""
        text = self._run("apt-cache", "depends", "python3")
        if not (found := re.search(r"Depends: python(3\.\d+)$", text, re.MULTILINE)):
            raise UserError(
                "images: this machine's apt sources have no python3; add the sources of a Debian or Ubuntu release"
            )
        return found[1]

    def closure(self, packages: Sequence[str]) -> list[str]:
        """The packages with their dependencies, as `name=version`, without those that the images omit."""
        plan = self._run("apt-get", "-qq", "--simulate", "install", *packages)
        found = re.findall(r"^Inst (\S+) \((\S+)", plan, re.MULTILINE)
        return sorted(f"{name}={version}" for name, version in found if name.partition(":")[0] not in _UNUSED)

    def unpack(self, packages: Iterable[str], root: Path) -> None:
        """Downloads the packages, which apt verifies against the signed lists, and unpacks their files under `root`."""
        self._step.note("downloading Debian packages")
        self._run("apt-get", "-q", "download", *packages)
        for package in sorted(self._downloads.glob("*.deb")):
            self._step.note(f"unpacking {package.name.partition('_')[0]}")
            _unpack(package, root)
            package.unlink()

    def _run(self, *argv: str) -> str:
        return command([argv[0], *self._options, *argv[1:]], step=self._step, cwd=self._downloads)


def base(root: Path, step: Step) -> None:
    """The base layer of images with Python: the interpreter, a shell, a user, nothing else."""
    with scratch("apt") as folder:
        apt = Apt(folder, step)
        python = f"python{apt.python()}"
        for name in _MERGED:
            (root / "usr" / name).mkdir(parents=True)
            (root / name).symlink_to(f"usr/{name}")
        apt.unpack(apt.closure([python, "libstdc++6", "busybox-static"]), root)
    for name in ("python3", "python"):  # as the public TensorFlow image has them
        (root / "usr/bin" / name).symlink_to(python)
    # A shell and its tools, for `kubectl exec`.
    for applet in command([root / "usr/bin/busybox", "--list"]).split():
        if not (root / "usr/bin" / applet).exists():
            (root / "usr/bin" / applet).symlink_to("busybox")
    _slim(root)
    accounts(root)
    BasePython(root).compile(root / f"usr/lib/{python}", root, step)


def pause(root: Path, step: Step) -> None:
    """The sandbox of a pod: catatonit, a static init that waits and reaps orphans."""
    with scratch("apt") as folder:
        Apt(folder, step).unpack(["catatonit"], root)
    for folder in root.iterdir():
        if folder.name != "usr":
            shutil.rmtree(folder)
    shutil.rmtree(root / "usr/share")


def accounts(root: Path) -> None:
    """The user of every container, and the only folder that it may write to."""
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/passwd").write_text(
        f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{NONROOT}:{NONROOT}:nonroot:/tmp:/sbin/nologin\n"
    )
    (root / "etc/group").write_text(f"root:x:0:\nnonroot:x:{NONROOT}:\n")
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)


def _unpack(package: Path, root: Path) -> None:
    # Not `dpkg-deb -x`: it would replace the links of the merged /usr by folders.
    contents = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    unpacked = subprocess.run(
        ["tar", "-x", "--no-same-owner", "--keep-directory-symlink", "-C", root],
        stdin=contents.stdout,
        capture_output=True,
        text=True,
    )
    if contents.stdout:
        contents.stdout.close()
    if contents.wait() or unpacked.returncode:
        raise UserError(f"images: cannot unpack {package.name}: {unpacked.stderr.strip() or 'dpkg-deb failed'}")


def _slim(root: Path) -> None:
    for pattern in _UNUSED_PATHS:
        for path in root.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
