"""The checked settings of a stack, read without an engine and without a cluster."""

from __future__ import annotations

from pathlib import Path

from tensorplane import stack
from tensorplane.components.base import stack_name
from tensorplane.components.base.settings import Settings
from tensorplane.driver.stack_settings import StackSettings, declared, has_settings, read
from tensorplane.stack import ResolvedStack


def file(stack: str) -> Path:
    """The project's Pulumi.<stack>.yaml. A UserError if it does not exist."""
    return StackSettings(stack, Path()).source()


def load(file: Path) -> ResolvedStack:
    """The settings in a Pulumi.<stack>.yaml, or those that a program in its place declared at the last update, without
    encrypted values and what other resources produce. A UserError with a line for each problem."""
    stack_name.configure(file.name.split(".")[1])
    return stack.load(Settings.of_file(declared(file)))


def is_of_program(file: Path) -> bool:
    """Whether a program has declared the settings in place of the file: then it checks them, too."""
    return not has_settings(read(file)) and has_settings(declared(file))


def encrypted(file: Path, *sections: str) -> list[str]:
    """The keys of encrypted values, which only the engine can read, in some sections or in all."""
    unread = Settings.of_file(declared(file)).unread
    return [f"tensorplane:{'.'.join(path)}" for path in unread if not sections or path[0] in sections]
