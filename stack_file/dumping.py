"""Writes YAML for programs in Go, such as Pulumi, helm and kubectl: they read texts that PyYAML leaves unquoted,
as 1e3, as numbers or as true and false."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from tensorplane.stack_file import resolve

_TRUTH = ("y", "Y", "n", "N")
"""Of YAML 1.1, to helm and kubectl."""
_BREAKS = ("\x85", "\u2028", "\u2029")
"""Ends of lines to some readers; between double quotes they are escaped."""


class Dumper(yaml.SafeDumper):
    """Quotes texts that would be read as something else."""


def style_of(text: str) -> str | None:
    """The quotes that a text needs; None if PyYAML knows."""
    is_misread = text in _TRUTH or not isinstance(resolve(text), str) or any(each in text for each in _BREAKS)
    return '"' if is_misread else None


def dumped(document: Any, **options: Any) -> str:
    """A document in its order."""
    return dumped_all([document], **options)


def dumped_all(documents: Iterable[Any], **options: Any) -> str:
    """Documents in their order. `options`: those of `yaml.dump_all`."""
    made: str = yaml.dump_all(documents, Dumper=Dumper, sort_keys=False, **options)
    return made


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style_of(text))


Dumper.add_representer(str, _text)
