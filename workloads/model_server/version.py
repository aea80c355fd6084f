"""The number of a model's version."""

from typing import Annotated

from pydantic import Field

Version = Annotated[int, Field(ge=1, lt=2**63)]
"""The number of a version, which is the name of its folder."""
