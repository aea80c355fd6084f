"""The kubeconfig of a cluster that a stack created, from the stack's outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tensorplane import toolchain
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.driver.stack_settings import call
from tensorplane.stack_file import dumping


def get_kubeconfig(stack: str, environment: Mapping[str, str]) -> str:
    """The kubeconfig's content. `environment`: the variables with which `pulumi` finds the stack."""
    pulumi = toolchain.tools().path("pulumi")
    try:
        outputs = call([pulumi, "stack", "output", "--json", "--show-secrets", "--stack", stack], PROJECT, environment)
    except UserError as error:
        if "no stack named" not in str(error):
            raise
        outputs = "{}"
    if not (found := json.loads(outputs).get("kubeconfig")):
        raise UserError(f"stack {stack}: its cluster does not exist yet; create it with: {command_lines.deploy(stack)}")
    return str(found)


def get_team_kubeconfig(stack: str, team: str, namespace: str, environment: Mapping[str, str]) -> str:
    """The one for a team's members, with the team's namespace. It has no credentials: the cloud's client logs in
    whoever uses it."""
    found = json.loads(get_kubeconfig(stack, environment))
    (context,) = found["contexts"]
    name = f"{context['name']}-{team}"
    own = {"name": name, "context": {**context["context"], "namespace": namespace}}
    return dumping.dumped({**found, "current-context": name, "contexts": [own]})
