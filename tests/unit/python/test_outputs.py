"""Leaves of settings take what other resources produce, and check it once it is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from tensorplane.components.base.model import In, Model, NonEmptyStr


class _Network(Model):
    allowed_cidrs: tuple[In[NonEmptyStr], ...] = ()


def _resolved(value: Callable[[], Any]) -> Any:
    """The value of the output that the settings keep in place of a value."""

    async def read() -> Any:
        (found,) = _Network(allowed_cidrs=(value(),)).allowed_cidrs
        assert isinstance(found, pulumi.Output)
        return await found.future()

    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(read())
    finally:
        loop.close()


def test_a_produced_value_stays_an_output() -> None:
    assert _resolved(lambda: pulumi.Output.from_input("10.0.0.0/8")) == "10.0.0.0/8"


@pytest.mark.parametrize(("value", "reason"), [(3, "valid string"), ("", "at least 1 character")])
def test_a_produced_value_that_the_settings_refuse_ends_the_program(value: object, reason: str) -> None:
    with pytest.raises(
        pulumi.RunError, match=rf"^allowedCidrs: a value of another resource is not allowed: .*{reason}"
    ):
        _resolved(lambda: pulumi.Output.from_input(value))


def test_the_message_does_not_show_a_secret() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        _resolved(lambda: pulumi.Output.secret(["hunter2"]))
    assert "hunter2" not in str(caught.value)
