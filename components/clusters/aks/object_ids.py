"""Object ids of Entra's groups, users and service principals."""

import uuid

EXAMPLE = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


def is_object_id(value: str) -> bool:
    """Whether this is an id, in either case."""
    try:
        return str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False
