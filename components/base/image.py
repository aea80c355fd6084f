"""References of container images in settings, as registries and container runtimes read them."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from components.base.model import refuse

# The grammar of github.com/distribution/reference, by which containerd, too, reads what a pod names.
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])"
_PART = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_DIGEST = "sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_HOST}(?::(?P<port>[0-9]{{1,5}}))?/)?{_PART}(?:/{_PART})*)"
    rf"(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{{0,127}})?(?:@(?:{_DIGEST}))?"
)
_IDENTIFIER = re.compile("[a-f0-9]{64}")
_NAME_LIMIT, _LAST_PORT = 255, 65535
_ALLOWED = "an image as [registry[:port]/]path[:tag][@digest], its path in lower case: docker.io/team/train:1.4"


def is_reference(value: str) -> bool:
    """Whether a container runtime can read this as the reference of an image."""
    found = _REFERENCE.fullmatch(value)
    # A bare identifier refers to a local image, not to one in a registry.
    if found is None or _IDENTIFIER.fullmatch(value):
        return False
    return len(found["name"]) <= _NAME_LIMIT and int(found["port"] or 1) in range(1, _LAST_PORT + 1)


def _image(value: str) -> str:
    if not is_reference(value):
        refuse(_ALLOWED, _nearest(value))
    return value


def _nearest(value: str) -> str:
    """The value without scheme and spaces and with its path in lower case, if that is valid; else empty."""
    plain = re.sub(r"^[a-z+]+://", "", value.strip())
    path, colon, tag = plain.rpartition(":")
    tries = (plain, f"{path.lower()}{colon}{tag}", plain.lower())
    return next((one for one in tries if is_reference(one)), "")


Image = Annotated[str, Field(min_length=1), AfterValidator(_image)]
"""The reference of a container image."""
