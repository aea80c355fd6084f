"""Types of values in settings: bucket names, hosts, images, intervals and ages, mount paths."""

import ipaddress
import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from tensorplane.components.base import suggestions
from tensorplane.components.base.model import Line, folders, refuse_all_but

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
BUCKET_RULE = "bucket name: 3 to 63 lower-case letters, digits, dots and dashes"
_DIRECTORY_BUCKET = "--x-s3"


def is_bucket_name(value: str) -> bool:
    """Whether a bucket of S3 may have this name."""
    return bool(_BUCKET.fullmatch(value)) and ".." not in value


def _check_bucket_name(value: str) -> str:
    if not is_bucket_name(value):
        refuse_all_but(f"a {BUCKET_RULE}")
    if value.endswith(_DIRECTORY_BUCKET):
        refuse_all_but("a general purpose bucket (directory buckets are not supported)")
    return value


BucketName = Annotated[str, AfterValidator(_check_bucket_name)]
"""Name of an existing bucket."""


_DNS_LABEL = "[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?"
_DNS_NAME = re.compile(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*\.?")
_DNS_NAME_LIMIT = 253


def is_host(value: str) -> bool:
    """Whether this is a DNS name or an IP address."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        # Only digits and dots, but not an address: not a name either.
        return (
            len(value) <= _DNS_NAME_LIMIT and bool(_DNS_NAME.fullmatch(value)) and not re.fullmatch(r"[0-9.]+", value)
        )
    return True


def _check_host(value: str) -> str:
    if not is_host(value):
        refuse_all_but("the name or the address of a host alone, such as nfs.example.org or 10.0.0.7")
    return value


Host = Annotated[str, Field(min_length=1), AfterValidator(_check_host)]
"""A host by its name or address, without a port."""


# The grammar of github.com/distribution/reference, by which containerd, too, reads what a pod names.
_REGISTRY_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REGISTRY = rf"(?:{_REGISTRY_LABEL}(?:\.{_REGISTRY_LABEL})*|\[[a-fA-F0-9:]+\])"
_PATH_PART = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_DIGEST = "sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}"
_IMAGE = re.compile(
    rf"(?P<name>(?:{_REGISTRY}(?::(?P<port>[0-9]{{1,5}}))?/)?{_PATH_PART}(?:/{_PATH_PART})*)"
    rf"(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{{0,127}})?(?:@(?:{_DIGEST}))?"
)
_IMAGE_ID = re.compile("[a-f0-9]{64}")
_IMAGE_NAME_LIMIT, _LAST_PORT = 255, 65535
_IMAGE_RULE = "an image as [registry[:port]/]path[:tag][@digest], its path in lower case: docker.io/team/train:1.4"


def is_image(value: str) -> bool:
    """Whether a container runtime can read this as the reference of an image."""
    found = _IMAGE.fullmatch(value)
    # A bare identifier refers to a local image, not to one in a registry.
    if found is None or _IMAGE_ID.fullmatch(value):
        return False
    return len(found["name"]) <= _IMAGE_NAME_LIMIT and int(found["port"] or 1) in range(1, _LAST_PORT + 1)


def _check_image(value: str) -> str:
    if not is_image(value):
        refuse_all_but(_IMAGE_RULE, _nearest_image(value))
    return value


def _nearest_image(value: str) -> str:
    """The value without scheme and spaces and with its path in lower case, if that is valid; else empty."""
    plain = re.sub(r"^[a-z+]+://", "", value.strip())
    path, colon, tag = plain.rpartition(":")
    tries = (plain, f"{path.lower()}{colon}{tag}", plain.lower())
    return next((one for one in tries if is_image(one)), "")


Image = Annotated[str, Field(min_length=1), AfterValidator(_check_image)]
"""The reference of a container image."""


_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

_INTERVAL = re.compile(r"[1-9]\d{0,3}[mhd]")
_AGE = re.compile(r"[1-9]\d{0,4}[hdw]")


def _check_interval(value: str) -> str:
    return _checked_time(value, _INTERVAL, "mhd", "minutes, hours or days, such as 15m, 1h or 1d")


def _check_age(value: str) -> str:
    return _checked_time(value, _AGE, "hdw", "an age in hours, days or weeks, such as 36h, 30d or 8w")


def _checked_time(value: str, form: re.Pattern[str], units: str, rule: str) -> str:
    if not form.fullmatch(value):
        near = suggestions.duration(value, units)
        refuse_all_but(rule, near if form.fullmatch(near) else "")
    return value


Interval = Annotated[str, AfterValidator(_check_interval)]
Age = Annotated[str, AfterValidator(_check_age)]


def seconds(time: str) -> int:
    """An interval or an age in seconds."""
    return round(int(time[:-1]) * _UNITS[time[-1]].total_seconds())


_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys")
RESERVED = ("/tmp", "/opt/tensorplane", *_SYSTEM, "/usr", "/var/run")  # noqa: S108  # paths in the pod
"""Paths where no volume may be mounted, because it would hide files of the image or of tensorplane."""


def _check_mount_path(value: str) -> str:
    parts = value.split("/")
    if parts[0] or len(parts) < 2 or any(part in ("", ".", "..") for part in parts[1:]) or ":" in value:
        refuse_all_but("an absolute path such as /models")
    for taken in RESERVED:
        if f"{value}/".startswith(f"{taken}/") or taken.startswith(f"{value}/"):
            refuse_all_but(f"a path neither inside nor around {taken}, which is reserved, such as /data")
    return folders(value)


MountPath = Annotated[Line, AfterValidator(_check_mount_path)]
"""An absolute path in pods that is not reserved."""
