"""Fixtures of the unit tests: the stack built under Pulumi mocks, and goldens of what it registers."""

import gc
import os

import pytest

from tests.support import goldens, rendering
from tests.support.rendering import Golden, Render, Rendered

# The modules of three clouds' SDKs stay once they are there. Looking through them for garbage as often as Python does
# took a quarter of the processors' time of test_examples.py.
gc.set_threshold(100_000, 50, 100)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same places on every machine, and no cluster but the one that the settings name."""
    monkeypatch.setenv("TENSORPLANE_HOME", "/instance-home")
    monkeypatch.delenv("TENSORPLANE_CONTEXT", raising=False)
    monkeypatch.delenv("PULUMI_CONFIG", raising=False)


@pytest.fixture
def render() -> Render:
    """Run a program as Pulumi would, and see what it registered."""
    return rendering.run


@pytest.fixture
def golden() -> Golden:
    """Compare with the recorded rendering; `UPDATE_GOLDEN=1` records it anew, and the review reads the diff."""

    def compare(name: str, rendered: Rendered) -> None:
        texts = goldens.of(rendered)
        if os.environ.get("UPDATE_GOLDEN"):
            goldens.write(name, texts)
        recorded = goldens.read(name)
        assert recorded, f"no golden {name}: record it with UPDATE_GOLDEN=1"
        assert texts.keys() == recorded.keys()
        for file, text in texts.items():
            assert text == recorded[file], f"{name}/{file}"

    return compare
