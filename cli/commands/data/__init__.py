"""`tensorplane data`: versioned collections of files on volumes: history, differences, files to and from, branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tensorplane.cli import options

_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group("data", short_help="Datasets: log, files, diff, get, put, branch, label, collect.")
def click_command() -> None:
    """Datasets of a stack: versioned collections of files on its volumes.

    A DATASET can have a reference, as in digits@main~1: a branch, a label, the first 6 or more digits of a commit or
    version, or one of these with ~N for the N-th before. By default it is main.
    """


def _common(wrapped: _Command) -> _Command:
    account = click.option(
        "--account", default="default", show_default=True, help="Service account whose rights on the volume to use."
    )
    return options.stack_option(account(wrapped))


def _noted(wrapped: _Command) -> _Command:
    message = click.option("--message", "-m", default="", help="What the commit is about.")
    author = click.option("--author", help="Who commits; by default you, as this machine knows you.")
    return message(author(wrapped))


def _branch_option(wrapped: _Command) -> _Command:
    return click.option("--branch", default="main", show_default=True, help="The branch that gets the commit.")(wrapped)


@click_command.command("log")
@click.argument("dataset")
@_common
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@options.json_option()
def _log(dataset: str, stack: str, account: str, limit: int, as_json: bool) -> None:
    """Commits of a DATASET, the newest first."""
    from tensorplane.cli.commands.data import history
    from tensorplane.cli.commands.data.remote import DatasetOptions

    history.log(DatasetOptions.of(dataset, stack, account), limit=limit, as_json=as_json)


@click_command.command("diff")
@click.argument("dataset")
@click.argument("before", required=False)
@_common
@options.json_option()
def _diff(dataset: str, before: str | None, stack: str, account: str, as_json: bool) -> None:
    """Files that differ between the reference BEFORE and that of DATASET; by default from the commit before it."""
    from tensorplane.cli.commands.data import history
    from tensorplane.cli.commands.data.remote import DatasetOptions

    history.diff(DatasetOptions.of(dataset, stack, account), before, as_json=as_json)


@click_command.command("files")
@click.argument("dataset")
@click.argument("pattern", default="*")
@_common
@options.json_option()
def _files(dataset: str, pattern: str, stack: str, account: str, as_json: bool) -> None:
    """Files of a DATASET's version, with their sizes: all, or those whose path matches PATTERN.

    In a PATTERN, * is any text, also over several folders, and ? is one character. Quote it for the shell.
    """
    from tensorplane.cli.commands.data import history
    from tensorplane.cli.commands.data.remote import DatasetOptions

    history.files(DatasetOptions.of(dataset, stack, account), pattern, as_json=as_json)


@click_command.command("put")
@click.argument("dataset")
@click.argument("source", metavar="SRC")
@_common
@_branch_option
@_noted
@click.option("--at", default="", metavar="PATH", help="A folder of the dataset, whose other files stay.")
@click.option("--add", is_flag=True, help="Keep files of the dataset that SRC does not have.")
def _put(
    dataset: str,
    source: str,
    stack: str,
    account: str,
    branch: str,
    message: str,
    author: str | None,
    at: str,
    add: bool,
) -> None:
    """Commit the files of the folder SRC as the newest version of a DATASET.

    SRC is a folder of this machine, or VOLUME:/PATH, such as a prefix of a bucket that a volume mounts. Only what the
    dataset lacks is transferred. What others commit meanwhile is kept.
    """
    from tensorplane.cli.commands.data import transfer
    from tensorplane.cli.commands.data.remote import DatasetOptions

    about = {"branch": branch, "message": message, "author": transfer.author(author)}
    transfer.put(DatasetOptions.of(dataset, stack, account), source, {**about, "at": at, "add": add})


@click_command.command("get")
@click.argument("dataset")
@click.argument("target", metavar="DST")
@_common
def _get(dataset: str, target: str, stack: str, account: str) -> None:
    """Copy the files of a DATASET's version to the folder DST of this machine.

    Files that DST has already are not transferred; others there stay.
    """
    from tensorplane.cli.commands.data import transfer
    from tensorplane.cli.commands.data.remote import DatasetOptions

    transfer.get(DatasetOptions.of(dataset, stack, account), target)


@click_command.command("branch")
@click.argument("dataset")
@click.argument("name", required=False)
@_common
@click.option("--delete", is_flag=True, help="Delete it. Its commits stay where another branch or a label has them.")
@options.json_option()
def _branch(dataset: str, name: str | None, stack: str, account: str, delete: bool, as_json: bool) -> None:
    """Create the branch NAME of a DATASET at its reference; without NAME, list branches and labels."""
    from tensorplane.cli.commands.data import history
    from tensorplane.cli.commands.data.remote import DatasetOptions

    history.branch(DatasetOptions.of(dataset, stack, account), name, delete=delete, as_json=as_json)


@click_command.command("label")
@click.argument("dataset")
@click.argument("name")
@_common
@click.option("--move", is_flag=True, help="Take the label from another commit.")
@click.option("--delete", is_flag=True, help="Remove the label.")
def _label(dataset: str, name: str, stack: str, account: str, move: bool, delete: bool) -> None:
    """Label the commit that a DATASET's reference names. Retention keeps labeled versions."""
    from tensorplane.cli.commands.data import history
    from tensorplane.cli.commands.data.remote import DatasetOptions

    history.label(DatasetOptions.of(dataset, stack, account), name, move=move, delete=delete)


@click_command.command("rollback")
@click.argument("dataset")
@_common
@_branch_option
@_noted
def _rollback(dataset: str, stack: str, account: str, branch: str, message: str, author: str | None) -> None:
    """Make the version that a DATASET's reference names the newest again, as a commit of its own."""
    from tensorplane.cli.commands.data import history, transfer
    from tensorplane.cli.commands.data.remote import DatasetOptions

    about = {"branch": branch, "message": message, "author": transfer.author(author)}
    history.rollback(DatasetOptions.of(dataset, stack, account), about)


@click_command.command("collect")
@click.argument("dataset")
@_common
@click.option("--now", is_flag=True, help="Also what was written in the last 24 hours. Takes half a minute.")
def _collect(dataset: str, stack: str, account: str, now: bool) -> None:
    """Delete what no version of a DATASET has, and versions that its `retention` does not keep.

    What was written or read in the last 24 hours stays, because a commit may need it. With --now, contents that no kept
    version has are deleted whatever their age, such as what a commit that was killed has left on a full volume. Commits
    may go on meanwhile; one that is hit by it fails and can be repeated.
    """
    from tensorplane.cli.commands.data import history
    from tensorplane.cli.commands.data.remote import DatasetOptions

    history.collect_from(DatasetOptions.of(dataset, stack, account), now=now)
