"""`tensorplane catalog`: the rows of the catalog that match the filters, as a table or as JSON."""

from __future__ import annotations

import click

from tensorplane.cli import options


@click.command("catalog")
@click.option("--cloud", help="One of them, such as eks.")
@click.option("--accelerator", help="One of them, such as t4, a100-80gb, tpu-v5e.")
@click.option("--kind", help="gpu, tpu or cpu (default: gpu and tpu).")
@click.option("--min-memory", default="0", metavar="GIB", help="Minimum GiB of memory per accelerator.")
@click.option("--region", help="Offers and prices of this region (default: those of the cheapest region).")
@click.option("--withdrawn", is_flag=True, help="Withdrawn accelerators, with their successors.")
@options.json_option("Every fact, with its source.")
def click_command(min_memory: str, withdrawn: bool, as_json: bool, **filters: str | None) -> None:
    """Accelerators and machines, where they are, their prices."""
    from tensorplane.cli.commands.catalog import command
    from tensorplane.core import terminal

    # Unset variables of make arrive as empty texts.
    given = {name: value or None for name, value in filters.items()}
    wanted = command.CatalogFilters(**given, min_memory=command.gibibytes(min_memory or "0"), withdrawn=withdrawn)
    command.run(wanted, as_json, terminal.console())
