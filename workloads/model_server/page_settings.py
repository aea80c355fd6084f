"""A web page that shows a model's inputs and outputs."""

from typing import Annotated

from pydantic import Field

from components.base.model import Model


class ModelPageArgs(Model):
    """A web page of a model server: its inputs, drawn with the mouse or as JSON, and the answer.

    Everybody who reaches the server may open it; it has no login.
    """

    ink: Annotated[float, Field(gt=0, le=1e6)] = 1
    """The value of a full pixel of a picture, such as 16 for digits with pixels from 0 to 16, or 255."""
