"""Where pods may see a volume."""

from typing import Annotated

from pydantic import AfterValidator

from components.model import refuse

RESERVED = ("/tmp", "/opt/tensorplane", "/proc", "/sys", "/dev", "/etc")  # noqa: S108  # paths in the pod
"""Paths where no volume may be mounted."""


def _mount_path(value: str) -> str:
    parts = value.split("/")
    if parts[0] or len(parts) < 2 or any(part in ("", ".", "..") for part in parts[1:]) or ":" in value:
        refuse("an absolute path such as /models")
    if any(f"{value}/".startswith(f"{taken}/") or taken.startswith(f"{value}/") for taken in RESERVED):
        refuse(f"a path neither inside nor around {', '.join(RESERVED)}")
    return value


MountPath = Annotated[str, AfterValidator(_mount_path)]
"""An absolute path in pods, apart from those that every pod has."""
