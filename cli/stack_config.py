"""The checked settings of a Pulumi.<stack>.yaml, read without an engine and without a cluster."""

from __future__ import annotations

from pathlib import Path

from tensorplane import stack
from tensorplane.components.base import stack_name
from tensorplane.components.base.settings import Settings
from tensorplane.driver.stack_settings import StackSettings, read
from tensorplane.stack import ResolvedStack


def file(stack: str) -> Path:
    """The project's Pulumi.<stack>.yaml. A UserError if it does not exist."""
    return StackSettings(stack, Path()).source()


def load(file: Path) -> ResolvedStack:
    """The settings in a Pulumi.<stack>.yaml, without encrypted values. A UserError with a line for each problem."""
    stack_name.configure(file.name.split(".")[1])
    return stack.load(Settings.of_file(read(file)))


def encrypted(file: Path, *sections: str) -> list[str]:
    """The keys of encrypted values, which only the engine can read, in some sections or in all."""
    unread = Settings.of_file(read(file)).unread
    return [f"tensorplane:{'.'.join(path)}" for path in unread if not sections or path[0] in sections]
