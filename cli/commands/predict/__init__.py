"""`tensorplane predict SERVER`: a prediction of a deployed model."""

from __future__ import annotations

from typing import IO

import click

from tensorplane.cli import options


@click.command("predict")
@options.server_argument()
@click.argument("request_file", metavar="[FILE]", type=click.File("rb"), default="-")
@options.stack_option
@options.team_option
@click.option("--version", type=click.IntRange(min=1), help="A version instead of the newest one that is served.")
@click.option("--label", help="The version of this label.")
@click.option("--signature", help="A signature instead of `serving_default`.")
def click_command(
    target: str,
    request_file: IO[bytes],
    stack: str,
    team: str | None,
    version: int | None,
    label: str | None,
    signature: str | None,
) -> None:
    """Ask a model server for predictions.

    The request is JSON in FILE, or on standard input: the body of TensorFlow Serving's REST API with `instances` or
    `inputs`, or only the list of instances. The answer is JSON. SERVER/MODEL names one of a server's several models.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.predict import command
    from tensorplane.core.errors import UserError

    if version and label:
        raise UserError("--version: conflicts with --label, which names a version as well; remove one of them")
    version_options = command.PredictOptions(target, version, label)
    request = command.body(request_file.read(), signature)
    command.run(Access.of(stack, team, options.kubeconfig_context()), version_options, request)
