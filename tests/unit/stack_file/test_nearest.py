"""What a mistyped name is taken for, everywhere the same."""

import subprocess

import pytest

from tensorplane.stack_file.nearest import did_you_mean, nearest
from tests.support.rendering import PROJECT

NAMES = ("t4", "v100", "a10", "a100-40gb", "a100-80gb", "l4", "h100-80gb", "h100-nvl", "h200", "tpu-v4")


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("a100", ["a100-40gb", "a100-80gb"]),
        ("H100", ["h100-80gb", "h100-nvl"]),
        ("h100-80gb-sxm", ["h100-80gb"]),
        ("T4", ["t4"]),
        ("", []),
        ("quantum", []),
    ],
)
def test_what_begins_with_the_text_comes_before_what_looks_like_it(typed: str, names: list[str]) -> None:
    assert nearest(typed, NAMES) == names


def test_at_most_three_names_are_suggested() -> None:
    assert nearest("m7i", ["m7i.large", "m7i.xlarge", "m7i.2xlarge", "m7i.4xlarge"]) == [
        "m7i.2xlarge",
        "m7i.4xlarge",
        "m7i.large",
    ]
    assert did_you_mean("us-west-2z", ["us-west-2a", "us-west-2b", "eu-west-1a"]).count(",") == 1


def test_no_second_rule() -> None:
    argv = ["git", "grep", "--files-with-matches", "import difflib", "--", "*.py", ":!tests"]
    found = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split()
    assert found == ["stack_file/nearest.py"]
