"""`tensorplane settings`: every key of the stack's settings as Markdown, or those of one page of docs/settings."""

from __future__ import annotations

import click


@click.command("settings")
@click.argument("page", default="")
def click_command(page: str) -> None:
    """Every key of a stack's settings, as Markdown.

    PAGE is one of docs/settings, such as queues or cluster-eks (default: all).
    """
    from tensorplane.cli.commands.settings import reference
    from tensorplane.core.errors import UserError

    pages = reference.pages()
    if page and page not in pages:
        raise UserError(f"page {page} does not exist; choose one of {', '.join(sorted(pages))}")
    print("\n".join([pages[page]] if page else pages.values()), end="")
