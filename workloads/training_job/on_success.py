"""What a job does once its command has succeeded."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from components.base.model import NAME_RULE, Argument, Model, is_name, refuse


def _server_model(value: str) -> str:
    server, slash, model = value.partition("/")
    if not is_name(server) or (slash and not is_name(model)):
        refuse(f"the name of a model server, or SERVER/MODEL; each is {NAME_RULE}")
    return value


ServerModel = Annotated[str, AfterValidator(_server_model)]


class OnSuccess(Model):
    """What the job's first pod does once the command has succeeded, with its files, volumes and variables.

    If it fails three times, the job fails without training again. With `checkpoints`, a change of it, or a correction
    and another deployment, only repeats this.
    """

    command: Annotated[list[Argument], Field(min_length=1)] | None = None
    """Command of a single process, without TF_CONFIG. MODEL_VERSION_DIR is the folder of the model's newest version."""
    publish: ServerModel | None = None
    """Model server of the stack, as `SERVER/MODEL` if it has several models, that gets the newest version in `model`,
    after `command` if both are set: a version for which it fails is never served. The job mounts the server's
    volume."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.command is None and self.publish is None:
            refuse("command, publish or both")
        return self
