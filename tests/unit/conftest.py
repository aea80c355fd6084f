"""Fixtures of the unit tests: the stack built under Pulumi mocks, and goldens of what it registers."""

import gc
import os
import socketserver
from collections.abc import Iterator

import pulumi
import pytest
from hypothesis import given
from hypothesis.strategies import none

from tensorplane.components.base import stack_name
from tests.support import goldens, rendering
from tests.support.rendering import Golden, Render, Rendered

# The modules of three clouds' SDKs stay once they are there. Looking through them for garbage as often as Python does
# took a quarter of the processors' time of test_examples.py.
gc.set_threshold(100_000, 50, 100)

# A server that is stopped looks for it twice a second otherwise.
socketserver.BaseServer.serve_forever.__defaults__ = (0.02,)


def pytest_collection_finish() -> None:
    """The modules of the tests stay as well."""
    gc.freeze()
    # Hypothesis looks for garbage at its first test, which takes seconds once much has been rendered.
    given(none())(lambda _: None)()


def pytest_sessionfinish() -> None:
    """pytest looks for garbage five times at the end, in all that was rendered."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="package")
def environment() -> Iterator[None]:
    """The same places on every machine, and no cluster but the one that the settings name.

    Fixtures of whole modules have it too, and what they render is the same in any order.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORPLANE_HOME", "/instance-home")
        patch.delenv("TENSORPLANE_CONTEXT", raising=False)
        patch.delenv("PULUMI_CONFIG", raising=False)
        yield


@pytest.fixture(autouse=True)
def stack_dev() -> None:
    """The stack's name is kept for the whole process: a test that chose another one chose it for itself."""
    stack_name.configure("")
    pulumi.runtime.configure(pulumi.runtime.Settings(project="tensorplane", stack="dev"))


@pytest.fixture
def render() -> Render:
    """Run a program as Pulumi would, and see what it registered."""
    return rendering.run


@pytest.fixture(scope="session")
def newly_recorded() -> Iterator[dict[str, goldens.Golden]]:
    """Goldens that are recorded at the end, together."""
    found: dict[str, goldens.Golden] = {}
    yield found
    if found:
        goldens.record(found)


@pytest.fixture
def golden(newly_recorded: dict[str, goldens.Golden]) -> Golden:
    """Compare with the recorded rendering; `UPDATE_GOLDEN=1` records it anew, and the review reads the diff."""

    def compare(name: str, rendered: Rendered) -> None:
        found = goldens.of(rendered)
        if os.environ.get("UPDATE_GOLDEN"):
            newly_recorded[name] = found
            return
        recorded = goldens.read(name)
        assert recorded, f"no golden {name}: record it with UPDATE_GOLDEN=1"
        assert found.keys() == recorded.keys()
        for file, part in found.items():
            # As text, because 1 and True are equal.
            assert goldens.text(part) == goldens.text(recorded[file]), f"{name}/{file}"

    return compare
