"""`tensorplane check`: what is wrong with a stack's settings, told without an engine and without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pulumi

import stack_file
from components.settings import Settings
from embedded.fault import Fault
from embedded.hosts.stack_settings import read
from stack import StackConfig

if TYPE_CHECKING:
    from embedded.kube import Kube


def run(file: Path, api: Kube | None = None) -> str:
    """What to tell of a Pulumi.<stack>.yaml without mistakes; a Fault with a line for each mistake.

    With the API of the stack's cluster, what is there is compared, too.
    """
    config = load(file)
    # An environment of Pulumi ESC may have what the file has not.
    if "environment" not in read(file).others and (nothing := Settings.of_file(read(file)).declares_nothing()):
        raise Fault(nothing)
    if api:
        compare(config, api)
    notes = [f"note: {note}" for note in config.notes()]
    unread = ", ".join(encrypted(file))
    left = f"; Pulumi alone can check what is encrypted: {unread}" if unread else ""
    return "\n".join([*notes, f"{file.name}: no mistakes found{left}"])


def compare(config: StackConfig, api: Kube) -> None:
    """Settings without mistakes and what is in their cluster; a Fault with a line for each that do not go together."""
    # Imported here: the client of Kubernetes' API takes as long as the check of the settings.
    from cli import live_check

    wrong = live_check.faults(config.volumes, config.cluster, config.namespace_name, api)
    if lines := [str(fault) for fault in wrong]:
        raise Fault(*lines)


def encrypted(file: Path, *sections: str) -> list[str]:
    """The keys of values that the engine alone can read, in some sections or in all."""
    unread = Settings.of_file(read(file)).unread
    return [f"tensorplane:{'.'.join(path)}" for path in unread if not sections or path[0] in sections]


def load(file: Path) -> StackConfig:
    """The settings in a Pulumi.<stack>.yaml, without what is encrypted. A Fault with a line for each mistake."""
    pulumi.runtime.configure(pulumi.runtime.Settings(project=stack_file.PROJECT, stack=file.name.split(".")[1]))
    settings = Settings.of_file(read(file))
    try:
        return StackConfig.load(settings)
    except pulumi.RunError as error:
        raise Fault(*str(error).splitlines()) from None
