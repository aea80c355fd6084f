"""The image of the broker that keeps streams: Debian's headless Java, Kafka's published jars, a shell. No Python."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.images import debian
from tensorplane.images.layer import Recipe
from tensorplane.images.oci import Image, architecture
from tensorplane.toolchain import kafka

NAME = "tensorplane.local/kafka:4.3.1"
_LIBS = "opt/kafka/libs"
"""The path of the jars in Apache's own image."""
# Libraries that a broker's Java links to. Its package also depends on those for graphics, printing and smart cards.
_LINKED = ("zlib1g", "libstdc++6", "busybox-static")
_UNUSED = ("usr/share", "var", "usr/lib/jvm/*/jmods", "usr/lib/jvm/*/lib/server/classes_nocoops.jsa", "usr/lib/*/gconv")
_MERGED = ("bin", "lib", "lib64", "sbin")


def _java(root: Path, step: Step) -> None:
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    with scratch("apt") as folder:
        apt = debian.Apt(folder, step)
        apt.unpack([*apt.closure(_LINKED), _runtime(apt.closure(["default-jre-headless"]))], root)
    home = next(root.glob("usr/lib/jvm/java-*-openjdk-*"))
    # Settings that the package's script would copy.
    for default in home.glob("lib/jvm.cfg-default"):
        shutil.copyfile(default, _resolved(home / "lib/jvm.cfg", root))
    (root / "usr/bin/java").symlink_to(f"/{home.relative_to(root)}/bin/java")
    for applet in ("sh", "cat", "ls", "df"):
        (root / "usr/bin" / applet).symlink_to("busybox")
    for pattern in _UNUSED:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    debian.accounts(root)


def _runtime(packages: Sequence[str]) -> str:
    """The package with Java itself, in the version of this Debian release."""
    return next(package for package in packages if re.match(r"openjdk-\d+-jre-headless", package))


def _resolved(link: Path, root: Path) -> Path:
    """The target of an absolute link, below `root`."""
    return root / str(link.readlink()).lstrip("/") if link.is_symlink() else link


def _jars(root: Path, step: Step) -> None:
    shutil.copytree(kafka.obtain(step), root / _LIBS)


JAVA = Recipe("java", _java, sources=("kafka_image.py", "debian.py"), inputs=(architecture(),))
KAFKA = Recipe("kafka", _jars, sources=("kafka_image.py",), inputs=(kafka.BROKER.folder.name,))


def image() -> Image:
    """The image that brokers run in."""
    return Image(NAME, (JAVA, KAFKA), env={"CLASSPATH": f"/{_LIBS}/*"})
