"""Which settings to suggest for a stage with more parts than a run can work on: other splits, which make fewer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tensorplane.stages import parts
from tensorplane.stages.description import Stage
from tensorplane.stages.parts import Part


def remedy(stage: Stage, found: Mapping[str, Sequence[Part]], most: int, *, grows: bool) -> str:
    """What to do. `found`: the parts of each input; `grows`: whether all parts are new, and their results will be kept.

    All parts count, not only those without a result: another split makes others of them.
    """
    apart = {each.name: found[each.name] for each in stage.inputs if not each.is_whole}
    if stage.join == "name":
        names = " and ".join(apart)
        folders = f"group the files of several keys into folders, with equal names in {names}, and set split: directory"
        return f"{folders}, or commit at most {most:,} new parts before each run" if grows else folders
    paths = {name: [path for part in of_input for path in part.paths] for name, of_input in apart.items()}
    others = {name: math.prod(len(apart[other]) for other in apart if other != name) for name in apart}
    alone = [
        f"{_split(name)} to {{batch: {_batch([paths[name]], others[name], most)}}}"
        for name in apart
        if 2 * others[name] <= most
    ]
    if alone:
        return f"set {' or '.join(alone)}"
    return f"set {' and '.join(map(_split, apart))} to {{batch: {_batch([*paths.values()], 1, most)}}}"


def _split(name: str) -> str:
    return f"inputs.{name}.split"


def _batch(paths: Sequence[Sequence[str]], others: int, most: int) -> int:
    """How many files a batch of each of these inputs has, so that a run can work on all, and on some more. `others`:
    combinations of the other inputs' parts.
    """
    # Of one input the quotient, of several a root of it.
    size = 2 * math.ceil(math.pow(others * math.prod(map(len, paths)) / most, 1 / len(paths)))
    # Batches differ in size.
    while others * math.prod(parts.batches(each, size) for each in paths) > most:
        size *= 2
    return size
