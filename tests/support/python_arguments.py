"""The arguments of `tensorplane.pulumi`, as types: generated from the same models as the settings of YAML."""

from __future__ import annotations

import inspect
import textwrap
import types
from collections.abc import Collection
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import InstanceOf
from pydantic.json_schema import SkipJsonSchema

from tensorplane.components.base import field_docs
from tensorplane.components.base.family import Variant
from tensorplane.components.base.model import Model
from tensorplane.components.base.produced import Produced
from tensorplane.stack.settings import StackConfig
from tensorplane.workloads.kinds import WorkloadArgs

_HEAD = '''"""The arguments of stacks and workloads, as types, from the settings' models: UPDATE_GOLDEN=1 pytest
tests/unit/python/test_arguments.py"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import pulumi

'''
_LINE = 120


def module() -> str:
    """The text of `runtime/tensorplane/pulumi/arguments.py`."""
    models: dict[str, str] = {}
    kinds = [kind for _, kind in sorted(WorkloadArgs.variants.items())]
    # In a program, a stack has its own workloads and no platform in another stack.
    classes = [_class(StackConfig, models, without=("platform", "workloads"))]
    classes += [_class(kind, models, without=("kind",)) for kind in kinds]
    imports = "\n".join(sorted(f"from {home} import {name}" for name, home in models.items()))
    # A class of a kind's name is the workload.
    shown = sorted(models.keys() - {_name(kind) for kind in kinds})
    shown += ["StackArguments", *(f"{_name(kind)}Arguments" for kind in kinds)]
    exported = "\n".join(f'    "{name}",' for name in sorted(shown))
    return f"{_HEAD}{imports}\n\n__all__ = [\n{exported}\n]\n\n\n" + "\n\n\n".join(classes) + "\n"


def _name(kind: type[Model]) -> str:
    return kind.__name__.removesuffix("Args").removesuffix("Config")


def _class(kind: type[Model], models: dict[str, str], *, without: Collection[str]) -> str:
    lines = [f"class {_name(kind)}Arguments(TypedDict, total=False):"]
    lines += [f'    """{_doc(inspect.getdoc(kind) or "", 4)}"""', ""]
    for name, field in kind.model_fields.items():
        if name in without:
            continue
        shown = _type(field.annotation, models)
        lines.append(f"    {name}: {f'Required[{shown}]' if field.is_required() else shown}")
        if text := field_docs.docstring(kind, name):
            lines.append(f'    """{_doc(text, 4)}"""')
    return "\n".join(lines)


def _doc(text: str, indent: int) -> str:
    flat = " ".join(text.split("\n\n")[0].split()).replace("\\", "\\\\")
    wrapped = textwrap.wrap(flat, _LINE - indent - 6)
    return f"\n{' ' * indent}".join(wrapped)


def _type(annotation: Any, models: dict[str, str]) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(arguments[0], models)
    if origin in (Union, types.UnionType):
        return _union(arguments, models)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    if origin is dict:
        return f"Mapping[{_type(arguments[0], models)}, {_type(arguments[1], models)}]"
    if origin in (list, tuple):
        return f"Sequence[{_type(arguments[0], models)}]"
    return _class_type(annotation, models)


def _class_type(annotation: Any, models: dict[str, str]) -> str:
    if annotation in (None, type(None)):
        return "None"
    if annotation in (str, int, float, bool):
        return str(annotation.__name__)
    if not (inspect.isclass(annotation) and issubclass(annotation, Model)):
        return "Any"
    found = [*(_named(each, models) for each in _choices(annotation)), "Mapping[str, Any]"]
    # Such a model has a short form, as a mount that is a path alone.
    before = (each.info.mode == "before" for each in annotation.__pydantic_decorators__.model_validators.values())
    return " | ".join([*found, *(["str"] if any(before) else [])])


def _choices(model: type[Model]) -> list[type[Model]]:
    """The variants of a family, or the model itself."""
    if issubclass(model, Variant) and model.is_family and model.variants:
        return [each for _, each in sorted(model.variants.items())]
    return [model]


def _named(model: type[Model], models: dict[str, str]) -> str:
    assert models.get(model.__name__, model.__module__) == model.__module__, f"two models are called {model.__name__}"
    models[model.__name__] = model.__module__
    return model.__name__


def _union(arguments: tuple[Any, ...], models: dict[str, str]) -> str:
    plain = [each for each in arguments if not _is_produced(each)]
    found = list(dict.fromkeys(part for each in plain for part in _type(each, models).split(" | ")))
    if len(plain) == len(arguments):
        return " | ".join(found)
    of_value, others = [each for each in found if each != "None"], ["None"] if "None" in found else []
    return " | ".join([f"pulumi.Input[{' | '.join(of_value)}]", *others])


def _is_produced(annotation: Any) -> bool:
    """Whether it stands for an output of another resource."""
    if get_origin(annotation) is Annotated:
        arguments: tuple[Any, ...] = get_args(annotation)
        return _is_produced(arguments[0])
    return annotation in (Produced, InstanceOf[Produced], SkipJsonSchema[InstanceOf[Produced]])
