"""`tensorplane policies`: where the policy pack is, for `pulumi --policy-pack`."""

from __future__ import annotations

import click


@click.command("policies")
def click_command() -> None:
    """The folder of the policy pack, for plain `pulumi`."""
    from tensorplane.driver.update import policy_pack

    print(policy_pack.PACK)
