"""Python packages that a job adds to the training image."""

from typing import Annotated

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import AfterValidator

from components.base.model import Line, refuse


def _package(value: str) -> str:
    try:
        found = Requirement(value)
    except InvalidRequirement:
        refuse("a package of the index with its versions, such as pandas==2.2.3")
    if found.url or found.marker:
        refuse("a package of the index with its versions, such as pandas==2.2.3, without address and condition")
    return value


Package = Annotated[Line, AfterValidator(_package)]
"""A package of pip's index: `pandas==2.2.3`, `pandas>=2.2,<3`, `pandas`."""
