"""Checks of what the parts of a stage's inputs are joined by."""

from collections.abc import Iterator

from components.base.problems import Key, Problem
from workloads.pipeline.input_settings import StageInput
from workloads.pipeline.join_key import JoinKey
from workloads.pipeline.stage_settings import StageArgs


def find_problems(stage: StageArgs, at: Key) -> Iterator[Problem]:
    """Keys that nothing is joined by, and those to which no name can be equal. `at`: the path of the stage."""
    stated = {name: one.key for name, one in stage.inputs.items() if one.key}
    for name, key in stated.items():
        yield from _of_input(stage, stage.inputs[name], key, (*at, "inputs", name))
    texts = {name: stated[name].groups if name in stated else 1 for name, one in stage.inputs.items() if _joined(one)}
    if stage.join == "name" and len({*texts.values()}) > 1:
        most = max(texts, key=lambda name: texts[name])
        least = next(name for name, count in texts.items() if count != texts[most])
        reason = f"has {texts[most]} pairs of parentheses, but the key of {least} is {_counted(texts[least])}"
        given = tuple((*at, "inputs", name, "key") for name in texts if name != most)
        remedy = "give each key of the stage the same number of parentheses"
        yield Problem((*at, "inputs", most, "key"), f"{reason}; {remedy}", given=given)


def _of_input(stage: StageArgs, source: StageInput, key: JoinKey, at: Key) -> Iterator[Problem]:
    where = (*at, "key")
    if stage.join != "name":
        reason = "is set, but only join: name compares keys; set that, or remove key"
        yield Problem(where, reason, given=((*at[:-2], "join"),))
    elif source.split.is_whole:
        reason = "is set, but the input is not split, so it has no parts to join; set its split, or remove key"
        yield Problem(where, reason, given=((*at, "split"),))
    elif source.split.by == "directory" and key.pattern and "/" in key.pattern:
        reason = f"{key.pattern!r} has a slash, but parts of split: directory are at the top of the dataset"
        yield Problem(where, f"{reason}; remove it, or set split: file", given=((*at, "split"),))


def _joined(source: StageInput) -> bool:
    return not source.split.is_whole


def _counted(texts: int) -> str:
    return "one text" if texts == 1 else f"{texts} texts"
