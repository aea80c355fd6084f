"""Settings as the text of a stack's file, with scalars, anchors and merges as a person would type them."""

from __future__ import annotations

import re

import yaml

from tensorplane import stack_file
from tests.mutants.places import Tree

_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*")


class Typed(str):
    """A scalar that stands in the file exactly so, without quotes."""


class _Dumper(yaml.SafeDumper):
    """Writes aliases where one value is in several places, and quotes what Pulumi would not read as text."""


def _typed(dumper: yaml.SafeDumper, value: Typed) -> yaml.ScalarNode:
    # The tag that the plain text has by itself: then it is written plain.
    tag = dumper.resolve(yaml.ScalarNode, str(value), (True, False))  # type: ignore[no-untyped-call]
    return dumper.represent_scalar(tag, str(value))


def _quoted(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    plain = value and not _TIME.fullmatch(value) and stack_file.resolve(value) == value
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if plain else '"')


_Dumper.add_representer(Typed, _typed)
_Dumper.add_representer(str, _quoted)


def of(tree: Tree) -> str:
    """The file of these settings."""
    below = {f"{stack_file.PROJECT}:{section}": value for section, value in tree.items()}
    return str(yaml.dump({"config": below}, Dumper=_Dumper, sort_keys=False, width=1_000_000, allow_unicode=True))
