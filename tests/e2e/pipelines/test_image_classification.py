"""The example that classifies images, from scans to answers: what is new is prepared, trained on, gated and served."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.pipelines.listing import Run
from tensorplane.components.base.labels import QUEUE_LABEL
from tests.e2e.pipelines.deployed import stages_of
from tests.e2e.pipelines.images import Example
from tests.support import admitted
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("4 min of training runs; test_a_commit.py has the path of a pipeline")

_JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"


@pytest.fixture(scope="module")
def served(example: Example) -> Example:
    """The example with its first model, of three sheets and labels of two."""
    run = example.run(*example.commit(sheets=3, labels=2))
    first = _finished(prepare=(2, 2, 0), train=(1, 1, 0), export=(1, 1, 0), serve=(1, 1, 0), infer=(3, 3, 0))
    assert stages_of(run) == first, run
    return example


def _finished(**stages: tuple[int, int, int]) -> list[tuple[str, str, int | None, int, int, int]]:
    """`stages_of`: of stages that have finished: parts, done, skipped."""
    return [(stage, "finished", *found, 0) for stage, found in stages.items()]


def test_a_model_that_learned_wrong_labels_is_refused_and_the_server_keeps_the_former(served: Example) -> None:
    before = served.live()
    run = served.run(*served.commit(sheets=3, labels=3, wrong=1))
    assert stages_of(run) == [*_finished(prepare=(3, 1, 2), train=(1, 1, 0)), ("export", "failed", 1, 0, 0, 1)], run
    why = f"{run.name}/export: export: 1 of 1 parts failed"
    listed = served.pipelines.listed("classify")
    assert any(line.startswith(why) for line in listed), listed
    lines = served.pipelines.logs("classify/export")
    assert lines[0].startswith(why), lines
    (refused,) = [line for line in lines if line.startswith("part-0 │ accuracy ")]
    assert refused.endswith("; at least 0.9 is required")

    # The server lists versions that it has unloaded, too.
    assert {version: state for version, state in served.states().items() if state != "END"} == {before: "AVAILABLE"}
    assert served.live() == before
    assert all(one["version"] <= before for one in served.decisions())


def test_new_images_are_prepared_trained_on_gated_served_and_answered(served: Example) -> None:
    before = served.live()
    # The third sheet has no labels: what is on it, only the model says.
    assert {name: share > 0.8 for name, share in served.accuracy().items()} == {
        f"sheet-{number}.txt": True for number in (1, 2, 3)
    }
    run = served.run(*served.commit(sheets=4, labels=3))
    again = _finished(prepare=(3, 1, 2), train=(1, 1, 0), export=(1, 1, 0), serve=(1, 1, 0), infer=(4, 4, 0))
    assert stages_of(run) == again, run
    assert served.live() == before + 1
    (promoted,) = [one for one in served.decisions() if (one["action"], one["version"]) == ("Promoted", before + 1)]
    assert promoted["measured"]["accuracy"] > 0.8
    _admitted(served, run)
    _logged(served)
    _leads_back(served)


def _admitted(example: Example, run: Run) -> None:
    """Kueue has admitted the stage that trains, as a gang of two workers."""
    namespace = example.pipelines.access.namespace
    api = example.pipelines.access.api
    (job,) = [one for one in api.items(_JOB_SETS.format(namespace)) if run.name in _owners(one)]
    assert job["metadata"]["labels"][QUEUE_LABEL] == "training"

    uid = job["metadata"]["uid"]
    assert [one["count"] for one in admitted.by_owner(api, namespace)[uid]["spec"]["podSets"]] == [2]
    eventually(lambda: admitted.was_admitted(admitted.by_owner(api, namespace)[uid]))


def _owners(of: dict[str, Any]) -> set[str]:
    return {one["name"] for one in of["metadata"].get("ownerReferences", ())}


def _logged(example: Example) -> None:
    """The lines of a stage that is a job are those of its workers, beside those of the steps around it."""
    lines = example.pipelines.logs("classify/train")
    order = list(dict.fromkeys(line.partition("│")[0].strip() for line in lines))
    assert order == ["plan", "worker-0", "worker-1", "keep-0", "commit"], lines
    (chief,) = [line for line in lines if line.startswith("worker-0 │ ") and " percent=100.0 " in line]
    of_chief = example.pipelines.logs("classify/train", LogsOptions(role="worker", index=0))
    assert chief.removeprefix("worker-0 │ ") in of_chief
    assert not any("tensorplane: stage=" in line for line in of_chief)


def _leads_back(example: Example) -> None:
    """From an answer, and from what the server serves, to the sheets and the labels."""
    answers, served = example.lineages("answers", f"classifier@{example.live()}")
    by_name = {node.name: node for node in answers}
    assert {*by_name} == {"answers", "sheets", "live", "model", "weights", "prepared", "labels"}
    for name in ("sheets", "labels"):
        assert by_name[name].version == example.pipelines.newest(name)["version"]
        assert not by_name[name].record and by_name[name].commit["author"] == "ann"
    assert {node.name for node in served} == {"classifier", "sheets", "model", "weights", "prepared", "labels"}
    assert {node.version for node in served if node.name == "model"} == {by_name["model"].version}
