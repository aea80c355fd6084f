"""Names of repos, pipelines and inputs as names of datasets, stages and inputs, which are DNS labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tensorplane.components.base.model import NAME_LIMIT, is_name


def label(name: str) -> str:
    """The nearest DNS label."""
    made = re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-")
    made = made if made[:1].isalpha() else f"p-{made}"
    return made[:NAME_LIMIT].rstrip("-")


def labels(names: Iterable[str]) -> Mapping[str, str]:
    """A DNS label for each name. Those that are labels keep their name; of others that become the same, later ones get
    a number."""
    distinct = list(dict.fromkeys(names))
    made = {name: name for name in distinct if is_name(name)}
    for name in distinct:
        if name not in made:
            made[name] = unused(label(name), made.values())
    return made


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, or with the first number that makes it another one."""
    others = {*taken}
    number = 1
    made = name
    while made in others:
        number += 1
        made = f"{name[: NAME_LIMIT - 4]}-{number}"
    return made
