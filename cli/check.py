"""`tensorplane check`: what is wrong with a stack's settings, told without an engine and without a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pulumi

from embedded.fault import Fault
from embedded.hosts.stack_settings import declared
from stack import StackConfig

if TYPE_CHECKING:
    from embedded.kube import Kube

_PROJECT_NAME = "tensorplane"


def run(file: Path, api: Kube | None = None) -> str:
    """What to tell of a Pulumi.<stack>.yaml without mistakes; a Fault with a line for each mistake.

    With the API of the stack's cluster, what is there is compared, too.
    """
    if is_encrypted(file):
        return f"{file.name}: some of it is encrypted, which only `make preview` can check"
    config = load(file)
    if api:
        compare(config, api)
    notes = [f"note: {note}" for note in config.notes()]
    return "\n".join([*notes, f"{file.name}: no mistakes found"])


def compare(config: StackConfig, api: Kube) -> None:
    """Settings without mistakes and what is in their cluster; a Fault with a line for each that do not go together."""
    # Imported here: the client of Kubernetes' API takes as long as the check of the settings.
    from cli import live_check

    wrong = live_check.faults(config.volumes, config.cluster, config.namespace_name, api)
    if lines := [str(fault) for fault in wrong]:
        raise Fault(*lines)


def is_encrypted(file: Path) -> bool:
    """Whether some of the settings can be read by the engine alone."""
    return any(isinstance(value, dict) and "secure" in value for value in declared(file).values())


def load(file: Path) -> StackConfig:
    """The settings in a Pulumi.<stack>.yaml. A Fault with a line for each thing that is wrong with them."""
    config = declared(file)
    pulumi.runtime.set_all_config({_key(key): _stored(value) for key, value in config.items()})
    pulumi.runtime.configure(pulumi.runtime.Settings(project=_PROJECT_NAME, stack=file.name.split(".")[1]))
    try:
        return StackConfig.load()
    except pulumi.RunError as error:
        raise Fault(*str(error).splitlines()) from None


def _stored(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _key(written: object) -> str:
    # Pulumi takes a key without a namespace as the project's own.
    return str(written) if ":" in str(written) else f"{_PROJECT_NAME}:{written}"
