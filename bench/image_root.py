"""An image's files in a folder, in which a program runs as in a container, but without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tensorplane.core.step import Step
from tensorplane.images.oci import NONROOT, Image

_FOLDERS = ("proc", "dev", "tmp")
# The mounts, and what the program starts, end with its namespaces.
_ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot --userspec={user}:{user} "$0" "$@"'


def extract(image: Image, root: Path) -> None:
    """Unpacks the image's layers."""
    for recipe in image.recipes:
        recipe.layer(Step("image")).extract(root)
    for name in _FOLDERS:
        (root / name).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    # A temporary folder is its owner's alone, and the program runs as another user.
    root.chmod(0o755)


def command(root: Path, environment: Mapping[str, str], argv: Sequence[str]) -> list[str]:
    """What runs a program of the image, as the user of its pods and with this environment alone."""
    enter = _ENTER.format(user=NONROOT)
    return [
        *("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, str(root)),
        *("/bin/busybox", "env", "-i", *(f"{name}={value}" for name, value in environment.items())),
        *argv,
    ]
