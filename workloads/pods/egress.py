"""Destinations outside the job that its pods may connect to."""

import ipaddress
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from components.base.model import Line, Model, refuse

INTERNET = "internet"
_METADATA = ipaddress.ip_address("169.254.169.254")
_EXAMPLE = f"addresses as a CIDR, such as 203.0.113.0/24, or {INTERNET}"


def _destination(value: str) -> str:
    if value == INTERNET:
        return value
    try:
        found = ipaddress.ip_network(value, strict=False)
    except ValueError:
        refuse(f"{_EXAMPLE}; a NetworkPolicy knows no host names")
    if str(found) != value:
        refuse(_EXAMPLE, str(found))
    if _METADATA in found:
        refuse(f"a range without {_METADATA}, where clouds give out the node's credentials; {INTERNET} has none")
    return value


class Destination(Model):
    """Addresses that the job's pods may connect to. The addresses alone are enough: `egress: [10.20.0.0/16]`."""

    cidr: Annotated[Line, AfterValidator(_destination)]
    """Addresses as a CIDR, or `internet`: all public addresses."""
    ports: Annotated[list[Annotated[int, Field(ge=1, le=65535)]], Field(default_factory=list)]
    """TCP ports. All ports and protocols by default."""

    @model_validator(mode="before")
    @classmethod
    def _cidr_alone(cls, value: Any) -> Any:
        return {"cidr": value} if isinstance(value, str) else value


def _one(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Egress = Annotated[list[Destination], BeforeValidator(_one)]
"""Destinations; `internet` alone is enough."""
