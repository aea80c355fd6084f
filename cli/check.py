"""`tensorplane check`: what is wrong with a stack's settings, told without an engine and without a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pulumi

from embedded.fault import Fault
from embedded.hosts.stack_settings import declared
from stack import StackConfig

_PROJECT_NAME = "tensorplane"


def run(file: Path) -> str:
    """What to tell of a Pulumi.<stack>.yaml without mistakes; a Fault with a line for each mistake."""
    if is_encrypted(file):
        return f"{file.name}: some of it is encrypted, which only `make preview` can check"
    load(file)
    return f"{file.name}: no mistakes found"


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
