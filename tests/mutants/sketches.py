"""Plausible values for settings, made from the models that check them: so a new setting is tried without being told."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from tensorplane.components.base.family import Variant
from tensorplane.components.base.model import Model
from tensorplane.components.catalog.accelerators import ACCELERATORS
from tensorplane.stack import StackConfig
from tests.mutants.places import NAMED, REFERENCES, At, Tree, each_value
from tests.mutants.values import VALUES

_WORDS: dict[str, list[Any]] = {"accelerator": [*ACCELERATORS], **VALUES["words"]}


class Corpus:
    """The values that the stacks in hand have for each key."""

    def __init__(self, trees: Iterable[Tree]) -> None:
        self.values: dict[str, list[Any]] = defaultdict(list)
        for tree in trees:
            for at, value in each_value(tree):
                self.values[str(at[-1])].append(value)


def free(tree: Tree) -> list[tuple[At, FieldInfo]]:
    """The settings that could be given besides, with their places."""
    return [(at, field) for at, field, is_given in _fields(tree, StackConfig, ()) if not is_given]


def given(tree: Tree) -> Iterator[At]:
    """The places of the settings that are given: of keys that a model knows, and no names of the user's own."""
    return (at for at, _, is_given in _fields(tree, StackConfig, ()) if is_given)


def _fields(node: Any, annotation: Any, at: At) -> Iterator[tuple[At, FieldInfo, bool]]:
    if isinstance(node, dict):
        # A list of one may be written as the one.
        model = _model(annotation, node) or _model(_item(annotation), node)
        if model is None:
            inner = _map_value(annotation)
            for key, value in node.items():
                yield from _fields(value, inner, (*at, key))
            return
        for name, field in model.model_fields.items():
            key = field.alias or name
            yield (*at, key), field, key in node
            if key in node:
                yield from _fields(node[key], field.annotation, (*at, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _fields(value, _item(annotation), (*at, index))


@dataclass(frozen=True)
class Sketcher:
    """Draws values for a stack's settings: plausible ones, or nearly."""

    tree: Tree
    corpus: Corpus
    chance: random.Random

    def value(self, key: str, field: Any, depth: int = 0) -> Any:
        """A value that the annotation of a field allows, or nearly."""
        annotation, limits = (field.annotation, field.metadata) if isinstance(field, FieldInfo) else _unwrapped(field)
        option = self.chance.choice([each for each in _options(annotation) if each is not NoneType] or [str])
        option, more = _unwrapped(option)
        return self._of_option(key, option, [*limits, *more], depth)

    def _of_option(self, key: str, option: Any, limits: list[Any], depth: int) -> Any:
        origin = get_origin(option)
        if origin is Literal:
            return self.chance.choice(get_args(option))
        if option is bool:
            return self.chance.random() < 0.7
        if option in (int, float):
            return _number(option, limits, self.chance)
        if isinstance(option, type) and issubclass(option, Model):
            return self._of_model(option, depth)
        known = [*_WORDS.get(key, []), *self.corpus.values.get(key, []), *_names(key, self.tree)]
        if known and self.chance.random() < 0.85:
            return self.chance.choice(known)
        if origin in (list, tuple):
            return [self.value(key, _item(option), depth + 1) for _ in range(self.chance.randint(1, 2))]
        if origin is dict:
            names = [*_names(key, self.tree), "team", "a"]
            return {self.chance.choice(names): self.value("", get_args(option)[1], depth + 1)}
        return self.chance.choice(["a", "team", "x-1"])

    def _of_model(self, model: type[Model], depth: int) -> dict[str, Any]:
        if issubclass(model, Variant) and model.is_family:
            model = self.chance.choice([model.variants[kind] for kind in sorted(model.variants)])
        made = {}
        for name, field in model.model_fields.items():
            key = field.alias or name
            if field.is_required() or key == "kind" or (depth < 3 and self.chance.random() < 0.3):
                made[key] = self.value(key, field, depth + 1)
        if "kind" in model.model_fields:
            made["kind"] = model.model_fields["kind"].default or made["kind"]
        return made


def _number(option: Any, limits: list[Any], chance: random.Random) -> int | float:
    low = next((limit.ge for limit in limits if hasattr(limit, "ge")), None)
    high = next((limit.le for limit in limits if hasattr(limit, "le")), None)
    usual = [1, 2, 3, 8, 10, 64, 100, 500, 3000]
    ends = [end for end in (low, high) if end is not None]
    fitting = [each for each in usual if (low is None or each >= low) and (high is None or each <= high)]
    made: float = chance.choice([*fitting, *fitting, *ends] or [1])
    return int(made) if option is int else made if chance.random() < 0.7 else made + 0.5


def _names(key: str, tree: Tree) -> list[str]:
    section = {**REFERENCES, "teams": "teams", "volumes": "volumes", "streams": "streams"}.get(key)
    found = tree.get(section) if section else None
    return sorted(found) if isinstance(found, dict) and section in NAMED else []


def _unwrapped(annotation: Any) -> tuple[Any, list[Any]]:
    if get_origin(annotation) is not Annotated:
        return annotation, []
    inner, *metadata = get_args(annotation)
    found, more = _unwrapped(inner)
    return found, [*_flat(metadata), *more]


def _flat(metadata: Iterable[Any]) -> list[Any]:
    return [limit for each in metadata for limit in (each.metadata if isinstance(each, FieldInfo) else [each])]


def _options(annotation: Any) -> Iterator[Any]:
    bare, limits = _unwrapped(annotation)
    if get_origin(bare) in (Union, UnionType):
        for option in get_args(bare):
            yield from _options(option)
    elif not _is_output(bare):
        yield Annotated[bare, *limits] if limits else bare


def _is_output(annotation: Any) -> bool:
    return "Output[" in repr(annotation)


def _model(annotation: Any, node: Mapping[str, Any]) -> type[Model] | None:
    """The model of a map in the settings, by its kind where there are several."""
    options = [_unwrapped(option)[0] for option in _options(annotation)]
    for model in options:
        if isinstance(model, type) and issubclass(model, Variant) and model.is_family:
            return model.variants.get(str(node.get("kind")))
    models = [model for model in options if isinstance(model, type) and issubclass(model, Model)]
    if len(models) > 1:
        models = [model for model in models if model.model_fields["kind"].default == node.get("kind")]
    return models[0] if models else None


def _map_value(annotation: Any) -> Any:
    found = [bare for option in _options(annotation) if get_origin(bare := _unwrapped(option)[0]) is dict]
    return get_args(found[0])[1] if found else str


def _item(annotation: Any) -> Any:
    found = [bare for option in _options(annotation) if get_origin(bare := _unwrapped(option)[0]) in (list, tuple)]
    return get_args(found[0])[0] if found else str
