"""Imported pipelines as the text of settings."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import yaml

from tensorplane.cli.pachyderm.convert import Imported
from tensorplane.stack_file import dumping

_LINE_WIDTH = 110
_COMMENT = 100


class _Dumper(dumping.Dumper):
    """Writes what has nothing inside it on one line, and texts of several lines as such."""

    def ignore_aliases(self, data: object) -> bool:
        """What comes twice is written twice."""
        return True


class _Lines(dict[str, Any]):
    """A map whose keys have a line each."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = dumping.style_of(text) or ("|" if "\n" in text else None)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=_is_short(items))


def _map(dumper: yaml.SafeDumper, items: Mapping[str, Any]) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", items, flow_style=_is_short(list(items.values())))


def _is_short(values: list[Any]) -> bool:
    plain = all(not isinstance(one, dict | list) and "\n" not in f"{one}" for one in values)
    return plain and sum(len(f"{one}") for one in values) < _LINE_WIDTH


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(dict, _map)
_Dumper.add_representer(_Lines, lambda dumper, items: dumper.represent_mapping("tag:yaml.org,2002:map", items, False))


def dumped(content: Mapping[str, Any]) -> str:
    """A map as YAML in its order, each of its keys on a line."""
    made: str = yaml.dump(_Lines(content), Dumper=_Dumper, sort_keys=False, width=_LINE_WIDTH, allow_unicode=True)
    return made


def settings(imported: Imported, sections: Mapping[str, Any]) -> str:
    """The text of `config:`, with what the specs say about stages as comments. `sections`: those before the
    workloads."""
    parts = ["config:\n"]
    for name, content in sections.items():
        parts.append(f"  tensorplane:{name}:\n" + _indented(dumped(content), 4))
    if imported.workloads:
        parts.append("  tensorplane:workloads:\n")
    for name, workload in imported.workloads.items():
        head = {key: value for key, value in workload.items() if key != "stages"}
        parts.append(f"    {name}:\n" + _indented(dumped(head), 6) + "      stages:\n")
        for stage, content in workload["stages"].items():
            about = textwrap.wrap(" ".join(_printable(imported.about.get(stage, "")).split()), _COMMENT)
            comment = "".join(f"        # {line}\n" for line in about)
            parts.append(f"{comment}        {stage}:\n" + _indented(dumped(content), 10))
    return "".join(parts)


def _printable(text: str) -> str:
    """The text without what no comment of YAML may have, such as colors of a terminal."""
    return "".join(each if each.isprintable() or each.isspace() else "?" for each in text)


def _indented(text: str, by: int) -> str:
    return textwrap.indent(text, " " * by)
