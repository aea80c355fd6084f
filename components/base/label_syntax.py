"""What Kubernetes accepts as the key and the value of a label or taint."""

import re

LABEL_KEY_RULE = (
    "letters, digits, dashes, dots and underscores between letters or digits, at most 63, perhaps after a domain and /"
)
LABEL_VALUE_RULE = "letters, digits, dashes, dots and underscores between letters or digits, at most 63"
_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_DOMAIN_LIMIT = 253


_NO_PART = re.compile(r"[^A-Za-z0-9._-]+")
LABEL_VALUE_LIMIT = 63


def nearest_label(value: str) -> str:
    """The label name or value nearest to this text; empty if it has no letter or digit."""
    return _NO_PART.sub("-", value).strip("._-")[:LABEL_VALUE_LIMIT].rstrip("._-")


def is_label_key(key: str) -> bool:
    """Whether this is a valid key of a label or taint."""
    domain, slash, name = key.rpartition("/")
    fits = not slash or (len(domain) <= _DOMAIN_LIMIT and _DOMAIN.fullmatch(domain) is not None)
    return fits and _PART.fullmatch(name) is not None


def is_label_value(value: str) -> bool:
    """Whether this is a valid value of a label or taint."""
    return value == "" or _PART.fullmatch(value) is not None
