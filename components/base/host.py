"""Hosts in settings: a name that DNS resolves, or an address."""

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, Field

from components.base.model import refuse

_LABEL = "[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_NAME_LIMIT = 253


def is_host(value: str) -> bool:
    """Whether this is a DNS name or an IP address."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        # Only digits and dots, but not an address: not a name either.
        return len(value) <= _NAME_LIMIT and bool(_NAME.fullmatch(value)) and not re.fullmatch(r"[0-9.]+", value)
    return True


def _host(value: str) -> str:
    if not is_host(value):
        refuse("the name or the address of a host alone, such as nfs.example.org or 10.0.0.7")
    return value


Host = Annotated[str, Field(min_length=1), AfterValidator(_host)]
"""A host by its name or address, without a port."""
