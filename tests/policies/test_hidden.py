"""200 ways to hide GPUs from the quota: each is refused alone, and none hides another in one stack."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from tests.policies import hidden
from tests.policies.conftest import Violations
from tests.policies.hidden import Trick

TRICKS = hidden.tricks()


def test_there_are_enough() -> None:
    assert len(TRICKS) >= 200


@pytest.mark.parametrize("trick", [each for each in TRICKS if each.gpus is None], ids=lambda trick: trick.name)
def test_what_cannot_be_counted_is_refused(violations: Violations, trick: Trick) -> None:
    assert violations(*trick.resources, maxGpus=64) != []


def test_all_together_are_counted_or_refused(violations: Violations) -> None:
    refused = sum(len(violations(*each.resources, maxGpus=10**6)) for each in TRICKS)
    assert refused >= sum(each.gpus is None for each in TRICKS)
    # A trick that is refused may also request GPUs that are counted.
    counted = sum(_requested(violations(*each.resources, maxGpus=0)) for each in TRICKS)
    assert counted >= sum(each.gpus or 0 for each in TRICKS)
    *_, others, asked = violations(*(resource for each in TRICKS for resource in each.resources), maxGpus=0)
    assert others.startswith(f"and {refused - 5} more;")
    assert _requested([asked]) == counted


def _requested(messages: Iterable[str]) -> int:
    """The GPUs that are counted."""
    return sum(int(number) for each in messages for number in re.findall(r"request (\d+) GPUs; the quota", each))
