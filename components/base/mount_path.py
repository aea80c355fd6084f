"""Mount paths of volumes."""

from typing import Annotated

from pydantic import AfterValidator

from components.base.model import Line, folders, refuse

_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys")
RESERVED = ("/tmp", "/opt/tensorplane", *_SYSTEM, "/usr", "/var/run")  # noqa: S108  # paths in the pod
"""Paths where no volume may be mounted, because it would hide files of the image or of tensorplane."""


def _mount_path(value: str) -> str:
    parts = value.split("/")
    if parts[0] or len(parts) < 2 or any(part in ("", ".", "..") for part in parts[1:]) or ":" in value:
        refuse("an absolute path such as /models")
    for taken in RESERVED:
        if f"{value}/".startswith(f"{taken}/") or taken.startswith(f"{value}/"):
            refuse(f"a path neither inside nor around {taken}, which is reserved, such as /data")
    return folders(value)


MountPath = Annotated[Line, AfterValidator(_mount_path)]
"""An absolute path in pods that is not reserved."""
