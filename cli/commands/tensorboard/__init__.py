"""`tensorplane tensorboard NAME`: a TensorBoard on this machine's port, for a declared one or for a training job."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("tensorboard")
@click.argument("name")
@options.stack_option
@click.option("--port", type=click.IntRange(1, 65535), help="Port of this machine; by default 6006, or a free one.")
@click.option("--open", "opens", is_flag=True, help="Open it in a browser.")
@click.option("--image", help="Image with TensorBoard for the pod, if that of the training job has none.")
def click_command(name: str, stack: str, port: int | None, opens: bool, image: str | None) -> None:
    """Show TensorBoard on a port of this machine, until Ctrl-C.

    NAME is a workload of kind `tensorboard`, or a training job with `tensorboard`, as in `tensorplane logs`: then a pod
    shows the event files, and is deleted at the end.
    """
    from tensorplane.cli.access import Access
    from tensorplane.cli.commands.tensorboard import command
    from tensorplane.core import terminal

    access = Access.of(stack, None, options.kubeconfig_context())
    command.run(access, name, terminal.console(), port=port, opens=opens, image=image)
