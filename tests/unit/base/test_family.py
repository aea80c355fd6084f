"""Open families: variants by kind, errors that list them, no kind twice; quantities as the API server keeps them."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tensorplane.components.base import quantities
from tensorplane.components.base.family import Variant
from tensorplane.components.base.model import Model


class Shape(Variant, family=True):
    """A family for these tests."""

    kind: str


class Square(Shape):
    kind: Literal["square"] = "square"
    side: int


class Circle(Shape):
    kind: Literal["circle"] = "circle"
    radius: int


class Drawing(Model):
    shapes: dict[str, Shape]


def test_kind_chooses_the_variant() -> None:
    drawing = Drawing.model_validate({"shapes": {"a": {"kind": "circle", "radius": 1}, "b": Square(side=2)}})
    assert drawing.shapes == {"a": Circle(radius=1), "b": Square(side=2)}


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValidationError, match="'circle', 'square'"):
        Drawing.model_validate({"shapes": {"a": {"kind": "line"}}})


def test_the_schema_lists_the_variants() -> None:
    schema = TypeAdapter(Drawing).json_schema()
    assert schema["properties"]["shapes"]["additionalProperties"]["discriminator"]["mapping"].keys() == {
        "circle",
        "square",
    }


def test_a_kind_is_taken_once() -> None:
    with pytest.raises(TypeError, match="kind 'circle' is already taken"):

        class _Disc(Shape):
            kind: Literal["circle"] = "circle"

    assert Shape.variants["circle"] is Circle


def test_families_do_not_share_variants() -> None:
    assert set(Shape.variants) == {"circle", "square"}


@given(st.integers(1, 10**7))
def test_cpus_keep_every_thousandth(milli: int) -> None:
    text = quantities.cpus(milli / 1000)
    assert (int(text[:-1]) if text.endswith("m") else int(text) * 1000) == milli
    assert not text.endswith("000m")


@given(st.integers(1, 10**7))
def test_gibibytes_keep_every_mebibyte(mebi: int) -> None:
    text = quantities.gibibytes(mebi / 1024)
    assert (int(text[:-2]) if text.endswith("Mi") else int(text[:-2]) * 1024) == mebi
    assert text.endswith("Gi") == (mebi % 1024 == 0)


def test_quantities_round_up() -> None:
    assert quantities.cpus(0.0001) == "1m"
    assert quantities.gibibytes(0.0001) == "1Mi"
