"""What holds of every stack, found by building many of them: too slow for the unit tests, and in the same world."""

from tests.unit.conftest import environment

__all__ = ["environment"]
