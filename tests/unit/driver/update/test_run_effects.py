"""What a preview and `make up` say of each run: it goes on, from where, or another begins, and because of what."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tensorplane.driver.update import run_effects
from tensorplane.driver.update.engine_events import list_job_steps
from tensorplane.workloads.training_job.context import Placement
from tests.support.run_events import SECRET, UNKNOWN, Event, events, files, hidden, planned, secret

GOLDEN = Path(__file__).parent / "golden.txt"


class Cluster:
    """A cluster that has one JobSet with one pod."""

    def __init__(self, log: str = "", phase: str = "Running", *, completed: bool = False) -> None:
        conditions = [{"type": "Completed", "status": "True"}] if completed else []
        self._job_set = {"status": {"conditions": conditions}}
        self._log, self._phase = log, phase

    def get(self, path: str) -> dict[str, Any]:
        assert "/namespaces/ml/jobsets/digits-" in path
        return self._job_set

    def items(self, path: str, labelSelector: str) -> list[dict[str, Any]]:  # noqa: N803 (the API's name)
        names = (f"{labelSelector.partition('=')[2]}-worker-0-{index}-x7k2p" for index in (1, 0))
        return [{"metadata": {"name": name}, "status": {"phase": self._phase}} for name in names]

    def text(self, path: str, tailLines: str) -> str:  # noqa: N803
        return self._log if "-worker-0-0-" in path else "tensorplane: saved=9999\n"


BEFORE = planned()
LARGER = planned(BEFORE, resources={"memoryGib": 8})
WORKERS = planned(BEFORE, strategy={"kind": "multiWorkerMirrored", "workers": 4})
BARE = {"checkpoints": None}
SAVED = "tensorplane: workers=2 step=0 steps=600 resumed=False\ntensorplane: saved=300\ntensorplane: saved=400\n"
T4, L4 = (Placement({"nodeSelector": {"tensorplane.dev/accelerator": name}}) for name in ("t4", "l4"))
ONE_GPU = planned(resources={"gpus": 1}, placement=T4)
TWO_GPUS = planned(ONE_GPU, resources={"gpus": 2}, placement=L4)
IN_SECRET: dict[str, Any] = {"env": {"STEPS": "600", "TOKEN": "x"}, "in_secret": {"TOKEN"}}
WITH_SECRET = planned(**IN_SECRET, secret="digits-env-1")
NEXT_SECRET = planned(WITH_SECRET, **IN_SECRET, secret="digits-env-2")
OTHER_IMAGE = planned(BEFORE, image="team/train:2")


def changed(**settings: Any) -> list[Event]:
    return events(BEFORE, planned(BEFORE, **settings))


CASES: dict[str, tuple[Sequence[Event], Cluster | None]] = {
    "larger, while it trains": (events(BEFORE, LARGER), Cluster(SAVED)),
    "larger, after it was stopped": (events(BEFORE, LARGER), Cluster(SAVED, "Failed")),
    "larger, before its first checkpoint": (events(BEFORE, LARGER), Cluster(SAVED.splitlines()[0], "Failed")),
    "larger, code without the library": (events(BEFORE, LARGER), Cluster("epoch 3\n")),
    "larger, in a cloud": (events(BEFORE, LARGER), None),
    "larger, finished": (events(BEFORE, LARGER), Cluster(completed=True)),
    "larger, finished, another program": (
        events(planned(command=["train"]), planned(planned(command=["train"]), command=["train"], maxRestarts=5)),
        Cluster(completed=True),
    ),
    "larger, without checkpoints": (
        events(planned(**BARE), planned(planned(**BARE), **BARE, resources={"memoryGib": 8})),
        None,
    ),
    "larger, finished without checkpoints": (
        events(planned(**BARE), planned(planned(**BARE), **BARE, resources={"memoryGib": 8})),
        Cluster(completed=True),
    ),
    "more workers": (events(BEFORE, WORKERS), Cluster(SAVED, "Succeeded")),
    "more workers, finished": (events(BEFORE, WORKERS), Cluster(completed=True)),
    "another accelerator": (events(ONE_GPU, TWO_GPUS), None),
    "deleted from the cluster": (
        [*events(BEFORE, LARGER)[:1], *events(None, LARGER)[1:2], *events(BEFORE, LARGER)[2:]],
        Cluster("", "Pending"),
    ),
    "encrypted image, larger": (hidden(events(BEFORE, LARGER), SECRET), None),
    "command": (changed(command=["python3", "other.py"]), None),
    "files": (changed(files={"train.py": b"print(2)"}), None),
    "a variable": (changed(env={"STEPS": "700", "SEED": "1"}), None),
    "variables that come and go": (changed(env={"STEPS": "600", "RATE": "0.1"}), None),
    "image": (changed(image="team/train:2"), None),
    "strategy": (changed(strategy={"kind": "single"}), None),
    "volumes": (changed(volumes={"models": "/elsewhere"}), None),
    "streams": (changed(streams={"events": {"group": "trainer"}}), None),
    "model": (changed(model={"volume": "models", "path": "digits"}), None),
    "checkpoints": (changed(checkpoints={"volume": "models", "path": "elsewhere"}), None),
    "attempt": (changed(attempt=2), None),
    "several": (changed(attempt=2, command=["python3"], env={"STEPS": "700", "SEED": "1"}), None),
    "an encrypted variable": ([*events(WITH_SECRET, NEXT_SECRET), secret("data.TOKEN")], None),
    "an encrypted variable, not told which": ([*events(WITH_SECRET, NEXT_SECRET), secret("data")], None),
    "an encrypted variable, known after the update": (
        [*hidden(events(WITH_SECRET, NEXT_SECRET), UNKNOWN), secret("stringData.TOKEN"), files()],
        None,
    ),
    "encrypted settings": (hidden(events(BEFORE, OTHER_IMAGE), SECRET), None),
    "an image that is known after the update": (hidden(events(BEFORE, OTHER_IMAGE), UNKNOWN), None),
    "nothing": (events(BEFORE, planned(BEFORE)), None),
    "new": (events(None, BEFORE), None),
    "taken out": (events(BEFORE, None), None),
}


def test_each_case_is_said_as_recorded() -> None:
    said = {name: run_effects.effect_lines(list_job_steps(found), api) for name, (found, api) in CASES.items()}  # type: ignore[arg-type]
    text = "".join(f"{name}: {' | '.join(lines) or '-'}\n" for name, lines in said.items())
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


LAST = "restarts digits from its last checkpoint, saved every 100 steps"


class Away(Cluster):
    """A cluster that stops answering after its JobSet was read."""

    def text(self, path: str, tailLines: str) -> str:  # noqa: N803
        raise UserError("the cluster does not answer")


def test_a_cluster_that_does_not_answer_stops_no_preview() -> None:
    (line,) = run_effects.effect_lines(list_job_steps(events(BEFORE, LARGER)), Away())  # type: ignore[arg-type]
    assert line == f"{LAST}; if it has already finished, its new pods exit at once"


@pytest.mark.parametrize("name", CASES)
def test_no_line_has_a_value_of_a_variable(name: str) -> None:
    found, api = CASES[name]
    (line,) = run_effects.effect_lines(list_job_steps(found), api) or ("",)  # type: ignore[arg-type]
    assert not any(value in line for value in ("600", "700", "0.1", "[secret]", UNKNOWN))
