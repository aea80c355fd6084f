"""Stacks deployed by an earlier commit, previewed with today's program: nothing is created, deleted or replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.recorded import recording, stacks, verdict
from tests.recorded.record import STATES
from tests.recorded.stacks import Stacks, Step
from tests.recorded.verdict import Expected

_AT_ONCE = 2
_CODE = "kubernetes:core/v1:ConfigMap"

EXPECTED = (
    Expected("replace", _CODE, r"queue\.quota-return", "code named by its content; its workload mounts the new one"),
    Expected("replace", _CODE, r"volume\.snapshots", "code named by its content; its CronJobs mount the new one"),
    Expected("replace", _CODE, ".*-ceph-mirrors-.*", "code named by its content; its Deployment mounts the new one"),
)
"""Allowed steps. A change of a stack's file or an example that adds, removes or replaces resources needs an entry, too.

Record again (`record.py`) only after a release: the new states no longer show what users of the earlier one would lose.
"""

LATER = {"gke-tpu-jobs", "mirrored", "parameter-server", "teams"}
"""Examples that the recorded commit did not have."""


@pytest.fixture(scope="module")
def previewed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[list[Step]]]]:
    """The steps of each selected stack. Two previews run at once: one uses about one core."""
    functions = (item for item in request.session.items if isinstance(item, pytest.Function))
    selected = [item for item in functions if item.module is request.module and "previewed" in item.fixturenames]
    names = [str(item.callspec.params["name"]) for item in selected]
    with (
        stacks.opened(tmp_path_factory.mktemp("recorded")) as project,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        yield {name: pool.submit(_steps, project, name) for name in names}
        pool.shutdown(cancel_futures=True)


def _steps(project: Stacks, name: str) -> list[Step]:
    recorded = (STATES / f"{name}.json").read_text()
    project.add(name, stacks.FILES[name])
    project.restore(name, recording.deployment(recorded, stacks.NAME, name))
    return project.preview(name)


@pytest.mark.parametrize("name", sorted(stacks.FILES.keys() - LATER))
def test_nothing_deployed_is_replaced(name: str, previewed: Mapping[str, Future[list[Step]]]) -> None:
    steps = previewed[name].result()
    recorded = json.loads((STATES / f"{name}.json").read_text())
    compared = {step["oldState"]["urn"].split("::", 2)[2] for step in steps if "oldState" in step}
    assert compared == {one["urn"] for one in recorded}, "the engine compares with all that is recorded"
    assert [str(each) for each in verdict.unexpected(steps, EXPECTED)] == []


def test_every_stack_is_recorded() -> None:
    assert {path.stem for path in STATES.glob("*.json")} == stacks.FILES.keys() - LATER
