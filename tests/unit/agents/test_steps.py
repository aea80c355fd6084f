"""The agent of a pipeline's steps: which it sees in a run, how it answers, and that no run waits for ever."""

from __future__ import annotations

import base64
import copy
import errno
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from tensorplane.agents.steps import workflow as argo_workflow
from tensorplane.agents.steps.cluster import Cluster
from tensorplane.agents.steps.controller import MOST_TRIES, Controller
from tensorplane.agents.steps.workflow import Step
from tensorplane.components.base.labels import STAGE
from tensorplane.datasets import Dataset
from tensorplane.datasets.store import Store
from tensorplane.stages import steps
from tests.support.pipeline_runs import RUN, SECOND, Ran, workflow
from tests.support.waiting import PATIENT_SECONDS
from tests.unit.agents.fake_api_server import FakeApiServer

_PATH = f"/apis/argoproj.io/v1alpha1/namespaces/vision/workflows/{RUN}"


def _young() -> dict[str, Any]:
    """A run whose first stage is to be planned."""
    return workflow({"clean": Ran(0, None)})


def test_a_run_tells_which_steps_it_waits_for() -> None:
    (step,) = argo_workflow.list_steps(_young())
    assert (step.run, step.name, step.key) == (RUN, "plan", (RUN, step.node))
    assert json.loads(step.stage)["name"] == "clean"
    there = [(json.loads(one.stage)["name"], one.name, one.is_over) for one in argo_workflow.list_steps(SECOND)]
    assert there == [("count", "commit", False), ("embed", "commit", False)], "its parts are at work"


def test_a_commit_is_told_when_the_pods_have_ended() -> None:
    run = copy.deepcopy(SECOND)
    (work,) = (one for one in run["status"]["nodes"].values() if (one["type"], one["templateName"]) == ("DAG", "count"))
    work["phase"] = "Failed"
    assert [step.is_over for step in argo_workflow.list_steps(run)] == [True, False]


def test_the_description_is_of_the_template_that_the_run_began_with() -> None:
    run = _young()
    (about,) = (one for one in run["status"]["storedWorkflowTemplateSpec"]["templates"] if one["name"] == "clean")
    changed = copy.deepcopy(run)
    assert about["metadata"]["annotations"][STAGE] == next(argo_workflow.list_steps(changed)).stage
    changed["status"]["storedWorkflowTemplateSpec"]["templates"] = []
    assert list(argo_workflow.list_steps(changed)) == []


def test_a_cancelled_run_waits_for_nothing() -> None:
    run = _young()
    run["spec"]["shutdown"] = "Stop"
    assert list(argo_workflow.list_steps(run)) == []


def _packed(run: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(run["status"]["nodes"]).encode()
    status = {**run["status"], "nodes": None, "compressedNodes": base64.b64encode(gzip.compress(text)).decode()}
    return {**run, "status": status}


def test_a_large_run_is_read_and_changed_as_argo_packs_it() -> None:
    run = _young() | {"metadata": {**_young()["metadata"], "resourceVersion": "7"}}
    packed = _packed(run)
    (step,) = argo_workflow.list_steps(packed)
    assert step == next(argo_workflow.list_steps(run))
    plain, changed = (argo_workflow.node_patch(one, step.node, {"phase": "Succeeded"}) for one in (run, packed))
    assert plain["metadata"] == changed["metadata"] == {"resourceVersion": "7"}
    assert plain["status"] == {"nodes": {step.node: {"phase": "Succeeded"}}}
    after = argo_workflow.nodes({**packed, "status": changed["status"]})
    assert after == {**run["status"]["nodes"], step.node: {**run["status"]["nodes"][step.node], "phase": "Succeeded"}}


@pytest.fixture
def cluster(api_server: FakeApiServer) -> Cluster:
    return Cluster(api_server.client, "vision", "texts")


def _with_version(run: Mapping[str, Any]) -> dict[str, Any]:
    return {**run, "metadata": {**run["metadata"], "resourceVersion": "7"}}


def test_an_answer_is_the_outputs_of_the_node(api_server: FakeApiServer, cluster: Cluster) -> None:
    run = _with_version(_young())
    (step,) = argo_workflow.list_steps(run)
    api_server.answers["GET", _PATH] = 200, run
    cluster.succeed(step, "parts=1", {"summary": "{}", "items": "[]"})
    (body,) = [body for method, path, body in api_server.asked if (method, path) == ("PATCH", _PATH)]
    change = body["status"]["nodes"][step.node]
    assert (change["phase"], change["message"], body["metadata"]) == ("Succeeded", "parts=1", {"resourceVersion": "7"})
    assert change["outputs"]["parameters"] == [
        {"name": "items", "value": "[]", "valueFrom": {"supplied": {}}},
        {"name": "summary", "value": "{}", "valueFrom": {"supplied": {}}},
    ]
    assert change["finishedAt"].endswith("Z")


def test_a_step_that_has_an_answer_already_gets_no_other(api_server: FakeApiServer, cluster: Cluster) -> None:
    (step,) = argo_workflow.list_steps(_young())
    done = _with_version(_young())
    done["status"]["nodes"][step.node]["phase"] = "Failed"
    api_server.answers["GET", _PATH] = 200, done
    cluster.succeed(step, "parts=1", {})
    api_server.answers["GET", _PATH] = 404, {}
    cluster.fail(step, "too late")
    assert {method for method, _, _ in api_server.asked} == {"GET"}


class _Runs:
    """A cluster whose runs wait for some steps until they are answered."""

    def __init__(self, *steps: Step) -> None:
        self.there = list(steps)
        self.answers: list[tuple[str, str, str]] = []
        self.lost = 0
        """How many answers do not arrive."""

    def list_steps(self) -> list[Step]:
        return list(self.there)

    def succeed(self, step: Step, said: str, outputs: Mapping[str, str]) -> None:
        self._answered(step, "succeeded", f"{said} {sorted(outputs)}")

    def fail(self, step: Step, why: str) -> None:
        self._answered(step, "failed", why)

    def _answered(self, step: Step, how: str, text: str) -> None:
        if self.lost:
            self.lost -= 1
            raise OSError("the API server does not answer")
        self.there.remove(step)
        self.answers.append((step.name, how, text))


class _AtOnce(Executor):
    """Runs what is submitted in place."""

    def submit(self, work: Any, /, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*args, **named))
        return future


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The description of a stage on a volume, and the newest commit of its input."""
    texts = Dataset(tmp_path / "datasets/texts")
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.txt").write_text("a")
    stage = {
        "pipeline": "texts",
        "name": "upper",
        "decisive": {"image": "one"},
        "inputs": [
            {
                "name": "texts",
                "dataset": "texts",
                "root": str(texts.store.root),
                "folder": "datasets/texts",
                "by": "file",
            }
        ],
        "dataset": "upper",
        "root": str(tmp_path / "datasets/upper"),
        "folder": "datasets/upper",
        "rules": {},
        "shared_out": True,
    }
    yield json.dumps(stage), texts.commit(source, whole=True).id


def _controller(runs: _Runs) -> Controller:
    return Controller(runs, _AtOnce(), pause=lambda seconds: None)


def _look(work: Controller) -> bool:
    work.observe()
    return work.reconcile()


def test_the_steps_of_a_stage_make_its_version(volume: tuple[str, str], tmp_path: Path) -> None:
    about, commit = volume
    runs = _Runs(Step("run-1", "1", "plan", about, {"texts": commit}))
    work = _controller(runs)
    assert not _look(work)
    out = next((tmp_path / "datasets/upper/runs").glob("*.out-*"))
    (out / "a.txt").write_text("A")
    runs.there.append(Step("run-1", "2", "commit", about, {}))
    assert _look(work)
    assert work.reconcile(), "its results may come without a change of the run"
    assert [name for name, _, _ in runs.answers] == ["plan"]
    given = {"item": "0", "out": str(out.relative_to(tmp_path)), "id": "x", "in-texts": "unused"}
    runs.there.append(Step("run-1", "3", "keep", about, given))
    _look(work)
    work.reconcile()
    runs.there.append(Step("run-1", "4", "clean", about, {}))
    _look(work)
    assert [(name, how) for name, how, _ in runs.answers] == [
        (name, "succeeded") for name in ("plan", "keep", "commit", "clean")
    ]
    said = [text for _, _, text in runs.answers]
    assert said[0] == "parts=1 unchanged=0 former=0 new=1 changed=0 left_out=0 ['items', 'summary']"
    assert said[1] == "item=0 files=1 []"
    assert said[2].startswith("committed=upper@")
    assert (Dataset(tmp_path / "datasets/upper").open() / "a.txt").read_text() == "A"
    assert not list((tmp_path / "datasets/upper/runs").iterdir())


def test_a_commit_whose_pods_have_ended_does_not_wait_for_results(volume: tuple[str, str]) -> None:
    about, commit = volume
    runs = _Runs(Step("run-1", "1", "plan", about, {"texts": commit}))
    work = _controller(runs)
    _look(work)
    runs.there.append(Step("run-1", "2", "commit", about, {}, is_over=True))
    _look(work)
    name, how, why = runs.answers[-1]
    assert (name, how) == ("commit", "failed")
    assert why.startswith("upper: 1 of 1 parts failed ('a.txt'), and mayFail is 0")


def test_a_full_volume_fails_a_step_at_once(volume: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    about, commit = volume
    runs = _Runs(Step("run-1", "1", "plan", about, {"texts": commit}))
    work = _controller(runs)
    _look(work)
    runs.there.append(Step("run-1", "2", "commit", json.dumps({**json.loads(about), "may_fail": 1}), {}, is_over=True))
    monkeypatch.setattr(Dataset, "put", full)
    _look(work)
    _, how, why = runs.answers[-1]
    assert how == "failed"
    where = r"does not fit on its volume, which has \S+ \wi?B of \S+ \wi?B free"
    remedy = "make the volume larger, or delete what no version needs with: tensorplane data collect upper"
    assert re.fullmatch(f"upper: the version of upper {where}; {remedy}", why)


def test_what_no_further_try_changes_fails_at_once(volume: tuple[str, str]) -> None:
    about, _ = volume
    runs = _Runs(Step("run-1", "1", "plan", about, {"texts": "no-such-commit"}))
    _look(_controller(runs))
    ((_, how, why),) = runs.answers
    assert how == "failed"
    assert "no-such-commit" in why


def test_an_input_that_retention_has_deleted_fails_a_plan_at_once(volume: tuple[str, str], tmp_path: Path) -> None:
    about, commit = volume
    texts = Dataset(tmp_path / "datasets/texts")
    (file,) = texts.files(commit).values()
    texts.content(file).unlink()
    runs = _Runs(Step("run-1", "1", "plan", about, {"texts": commit}))
    _look(_controller(runs))
    version = texts.resolve(commit).version[:12]
    why = f"{version}: deleted by the retention; choose a kept version"
    assert runs.answers == [("plan", "failed", why)]


def test_contents_that_a_collection_deletes_during_a_commit_are_tried_again(
    volume: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about, commit = volume
    runs = _Runs(Step("run-1", "1", "plan", about, {"texts": commit}))
    work = _controller(runs)
    _look(work)
    (out,) = (tmp_path / "datasets/upper/runs").glob("*.out-*")
    (out / "a.txt").write_text("A")
    runs.there.append(Step("run-1", "2", "keep", about, {"item": "0", "out": str(out.relative_to(tmp_path))}))
    _look(work)
    runs.there.append(Step("run-1", "3", "commit", about, {}, is_over=True))
    monkeypatch.setattr(Store, "use", lambda *_: False)
    for _ in range(MOST_TRIES):
        assert len(runs.answers) == 2
        _look(work)
    why = "main: a collection deleted contents of this commit; run the same command again"
    assert runs.answers[-1] == ("commit", "failed", why)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("step", "about", "why"),
    [("commit", None, "No such file or directory; run the stage again"), ("plan", "{}", "run the stage again")],
)
def test_what_may_pass_is_tried_several_times_and_then_fails(
    volume: tuple[str, str], step: str, about: str | None, why: str
) -> None:
    runs = _Runs(Step("run-1", "1", step, volume[0] if about is None else about, {}))
    work = _controller(runs)
    for _ in range(MOST_TRIES - 1):
        _look(work)
        assert runs.answers == []
    _look(work)
    ((_, how, text),) = runs.answers
    assert how == "failed"
    assert why in text


def test_an_answer_that_did_not_arrive_is_given_again(volume: tuple[str, str]) -> None:
    about, commit = volume
    runs = _Runs(Step("run-1", "1", "plan", about, {"texts": commit}))
    runs.lost = 2
    work = _controller(runs)
    for _ in range(3):
        _look(work)
    assert [(name, how) for name, how, _ in runs.answers] == [("plan", "succeeded")]


def test_a_step_that_was_answered_is_not_taken_again_before_the_next_look(volume: tuple[str, str]) -> None:
    about, commit = volume
    runs = _Runs(Step("run-1", "1", "plan", about, {"texts": commit}))
    work = _controller(runs)
    _look(work)
    work.reconcile()
    assert len(runs.answers) == 1


def test_a_step_that_is_being_taken_is_not_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    (step,) = argo_workflow.list_steps(_young())
    begun: list[str] = []
    release: Future[None] = Future()

    def take(name: str, *_: Any) -> Any:
        begun.append(name)
        release.result(timeout=PATIENT_SECONDS)
        return steps.Taken("taken")

    monkeypatch.setattr(steps, "take", take)
    runs = _Runs(step)
    with ThreadPoolExecutor(2) as pool:
        work = Controller(cast(Any, runs), pool)
        for _ in range(3):
            _look(work)
        release.set_result(None)
    _look(work)
    assert begun == ["plan"]
    assert [name for name, _, _ in runs.answers] == ["plan"]
