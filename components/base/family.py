"""Open families of settings: a variant is one file in the family's folder, chosen in YAML by `kind`."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from typing import Any, ClassVar

from pydantic_core import core_schema

from tensorplane.components.base.model import Model

UNTRIED = (
    "Not run so far: this project has read its sources and documentation, and tests it with mocks and recorded states."
)


class Variant(Model):
    """Base of a family (`family=True`) and, through it, of the family's variants.

    Wherever a family is a field's type, pydantic sees a union of its variants, tagged by `kind`. Validation, JSON
    schema and errors follow from that; the variant's own methods are its behaviour.
    """

    variants: ClassVar[dict[str, type["Variant"]]] = {}
    """The family's variants by kind, filled as their modules are imported."""
    is_family: ClassVar[bool] = True
    untried: ClassVar[str] = ""
    """What this project has not run of it, as its page says where a reader chooses it. Empty: tests run it."""

    def __init_subclass__(cls, *, family: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.is_family = family
        if family:
            cls.variants = {}

    @classmethod
    def __pydantic_init_subclass__(cls, *, family: bool = False, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        # A class between the family and its variants, such as a variant's settings apart from its behaviour, has none.
        if family or "kind" not in inspect.get_annotations(cls):
            return
        kind = cls.model_fields["kind"].default
        if kind in cls.variants:
            raise TypeError(f"{cls.__module__}: kind {kind!r} is already taken by {cls.variants[kind].__module__}")
        cls.variants[kind] = cls

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        schema: core_schema.CoreSchema
        if cls.is_family and cls.variants:
            choices = {kind: handler.generate_schema(variant) for kind, variant in sorted(cls.variants.items())}
            schema = core_schema.tagged_union_schema(choices, discriminator="kind")
        else:
            schema = super().__get_pydantic_core_schema__(source, handler)
        return schema


def load_family(package: str, path: Iterable[str]) -> None:
    """Imports every module of a family's folder, so that its variants are known. Called once, by the package itself.

    `component` is imported where it is created.
    """
    for module in sorted(module.name for module in pkgutil.iter_modules(path)):
        if module != "component":
            importlib.import_module(f"{package}.{module}")
