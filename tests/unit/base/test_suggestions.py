"""What is near a value with a unit, or a word for yes and no; and counts in sentences."""

import pytest

from tensorplane.components.base import suggestions
from tensorplane.components.base.plural import none_of, number_of, plural
from tests.support.problems import dev, problems_of, put


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("volumes/models/sizeGib", "8Gi", "invalid value '8Gi'; use a number (did you mean 8?)"),
        ("volumes/models/sizeGib", "1Ti", "invalid value '1Ti'; use a number (did you mean 1024?)"),
        ("workloads/digits/resources/memoryGib", "512Mi", "invalid value '512Mi'; use a number (did you mean 0.5?)"),
        ("workloads/digits/resources/cpus", "24000m", "invalid value '24000m'; use a number (did you mean 24?)"),
        # What is below the setting's least is no suggestion.
        ("workloads/digits/resources/memoryGib", "2m", "invalid value '2m'; use a number"),
        ("workloads/digits/resources/cpus", "0.5m", "invalid value '0.5m'; use a number"),
        ("volumes/models/sizeGib", "9999999Ti", "invalid value '9999999Ti'; use a number"),
        ("volumes/models/retain", "yes", "invalid value 'yes'; use true or false (did you mean true?)"),
        ("volumes/models/retain", "perhaps", "invalid value 'perhaps'; use true or false"),
        ("workloads/digits/resources/gpus", "two", "invalid value 'two'; use a whole number"),
    ],
)
def test_a_unit_or_a_word_suggests_the_value(path: str, value: str, line: str) -> None:
    tree = dev()
    put(tree, path, value)
    assert problems_of(tree) == [f"tensorplane:{path.replace('/', '.')}: {line}"]


@pytest.mark.parametrize(("given", "meant"), [("500Gi", "500"), ("2Ti", "2048"), ("1.5G", ""), ("512Mi", "")])
def test_a_whole_number_is_suggested_only_where_it_is_one(given: str, meant: str) -> None:
    assert suggestions.number(given, "diskGib", integer=True) == meant


def test_one_of_something_is_singular() -> None:
    assert [number_of(number, "GPU") for number in (0, 0.5, 1, 2)] == ["0 GPUs", "0.5 GPUs", "1 GPU", "2 GPUs"]
    assert number_of(1_234_567, "request") == "1234567 requests"
    assert [none_of(count, "pod") for count in (1, 2)] == ["its pod has not", "none of its 2 pods has"]


def test_several_of_a_kind_are_written_as_english_does() -> None:
    nouns = ("GPU", "NetworkPolicy", "Gateway", "Ingress", "StorageClass", "PersistentVolumeClaim")
    assert " ".join(map(plural, nouns)) == (
        "GPUs NetworkPolicies Gateways Ingresses StorageClasses PersistentVolumeClaims"
    )
