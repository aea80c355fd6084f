"""IPv4 address ranges in settings."""

import ipaddress


def network_of(cidr: str) -> ipaddress.IPv4Network | str:
    """The range that a CIDR names, or why it names none."""
    try:
        return ipaddress.IPv4Network(cidr)
    except ValueError:
        pass
    try:
        near = f" (did you mean {ipaddress.IPv4Network(cidr, strict=False)}?)"
    except ValueError:
        near = ""
    return f"got {cidr!r}, need IPv4 addresses as a CIDR, such as 10.0.0.0/16{near}"
