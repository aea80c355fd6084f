"""`tensorplane volumes`: a stack's volumes, their snapshots and mirrors, data left from deleted ones, and mounts."""

from __future__ import annotations

import click

from tensorplane.cli import options


class _Volumes(click.Group):
    """Without the name of another command, `list`, with its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_command = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_command else ["list", *args])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "list", self.commands["list"], args


@click.group("volumes", cls=_Volumes, short_help="Volumes, snapshots, mirrors, data left; mount one.")
def click_command() -> None:
    """Volumes of a stack. Without a COMMAND: list them, as `volumes list` does, with its options."""


@click_command.command("list")
@click.argument("name", required=False)
@options.stack_option
@options.json_option()
@click.option(
    "--bring-back", is_flag=True, help="Print the objects that restore VolumeSnapshotContent NAME as a snapshot."
)
def _list(name: str | None, stack: str, as_json: bool, bring_back: bool) -> None:
    """Volumes, snapshots, mirrors, and data left from deleted volumes.

    With NAME, the snapshots of this volume.
    """
    from tensorplane.cli.commands.volumes import command
    from tensorplane.core import terminal

    command.run(
        command.VolumesOptions(stack, options.kubeconfig_context(), name, as_json, bring_back), terminal.console()
    )


@click_command.command("mount")
@click.argument("name")
@click.argument("path", type=click.Path())
@options.stack_option
@click.option("--read-only", is_flag=True, help="Mount it read-only.")
@click.option("--account", default="default", show_default=True, help="Service account whose rights on it to use.")
def _mount(name: str, path: str, stack: str, read_only: bool, account: str) -> None:
    """Mount a volume of the embedded cluster on this machine, at the folder PATH.

    `umount PATH` ends it, and so does `tensorplane down`.
    """
    from tensorplane.cli.commands.volumes import mount

    print(mount.run(mount.MountOptions(name, path, stack, options.kubeconfig_context(), account, read_only)))
