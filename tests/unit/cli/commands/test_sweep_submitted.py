"""`tensorplane sweep -f`: what a file means, the objects that it makes, how mistakes are told, and what is followed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from rich.console import Console

from tensorplane.agents.sweep.spec import SweepSpec
from tensorplane.cli.access import Access
from tensorplane.cli.commands.run import create
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.sweep import follow, plan, sweep_file
from tensorplane.cli.commands.sweep.results import Results, Trial
from tensorplane.cli.training_jobs import find
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tests.support.documented import PROJECT, blocks
from tests.unit.cli.commands.test_run import Api
from tests.unit.cli.commands.test_run_of_team import _platform as of_team
from tests.unit.workloads.pods.test_pods import violations

SEARCH = {"parameters": {"RATE": {"low": 0.001, "high": 0.1, "log": True}}, "trials": 12, "parallel": 3}
TRIAL = {
    "command": ["python3", "train.py"],
    "resources": {"cpus": 0.1, "memoryGib": 0.25},
    "volumes": {"models": "/models"},
}
Write = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> Write:
    """Writes the file of a sweep."""
    (tmp_path / "train.py").write_text("print('trained')")

    def write(search: dict[str, Any] | None = None, **trial: Any) -> Path:
        path = tmp_path / "rate.yaml"
        path.write_text(yaml.safe_dump({"search": {**SEARCH, **(search or {})}, "trial": {**TRIAL, **trial}}))
        return path

    return write


def _planned(file: Path, platform: Platform | None = None, attempt: int = 1) -> plan.Planned:
    return plan.planned(
        sweep_file.sweep(None, file, team=platform.team if platform else None),
        platform or Platform.of_stack("dev"),
        attempt,
    )


def _refused(file: Path, platform: Platform | None = None) -> list[str]:
    with pytest.raises(UserError) as told:
        _planned(file, platform)
    return [line.removeprefix(f"{file}.") for line in told.value.lines]


def _pod(job_set: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return found


def _spec(planned: plan.Planned) -> SweepSpec:
    texts = (text for thing in planned.objects for text in thing.get("data", {}).values())
    return SweepSpec.read(next(text for text in texts if text.startswith('{"ends"')))


def test_a_controller_outside_the_queue_runs_trials_in_it(file: Write) -> None:
    planned = _planned(file(queue="training"))
    controller, sweep = planned.objects[0], _spec(planned)
    assert (controller["metadata"]["name"], controller["kind"]) == (planned.run, "JobSet")
    assert "kueue.x-k8s.io/queue-name" not in controller["metadata"]["labels"]
    assert violations(_pod(controller)) == []
    assert sweep.ends_with_last_trial
    trial = sweep.manifest(7, {"RATE": 0.01})
    assert trial["metadata"]["name"] == f"{planned.run}-t0007"
    assert trial["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training"
    variables = {one["name"]: one.get("value") for one in _pod(trial)["containers"][0]["env"]}
    assert (variables["RATE"], variables["MODEL_DIR"]) == ("0.01", f"/models/rate/{planned.run}-t0007")
    mounted = {
        one["configMap"]["name"] for pod in (controller, trial) for one in _pod(pod)["volumes"] if "configMap" in one
    }
    assert mounted <= {one["metadata"]["name"] for one in planned.objects}


def test_its_rights_are_those_to_its_own_trials_and_results(file: Write) -> None:
    planned = _planned(file(queue="training"))
    (role,) = [one for one in planned.objects if one["kind"] == "Role"]
    names = {name for rule in role["rules"] for name in rule.get("resourceNames", ())}
    assert names == {f"{planned.run}-results", *(f"{planned.run}-t{number:04}" for number in range(12))}
    (account,) = [one for one in planned.objects if one["kind"] == "ServiceAccount" and "-controller" in str(one)]
    assert _pod(planned.objects[0])["serviceAccountName"] == account["metadata"]["name"]


def test_more_trials_are_the_same_sweep_and_other_code_is_another(file: Write, tmp_path: Path) -> None:
    first = _planned(file(queue="training"))
    more = _planned(file({"trials": 20}, queue="training"))
    assert (more.run == first.run, more.settings == first.settings) == (True, False)
    assert _planned(file(queue="training"), attempt=7).run != first.run
    (tmp_path / "train.py").write_text("print('other')")
    assert _planned(file(queue="training")).run != first.run


def test_every_mistake_is_told_at_once_by_its_key(file: Write) -> None:
    told = _refused(file({"sampler": "grid"}, queue="trainin", volumes={"model": "/models"}))
    assert {line.partition(":")[0] for line in told} == {"search.parameters.RATE", "trial.queue", "trial.volumes.model"}


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("kind: trainingJob\nscript: train.py\n")
    with pytest.raises(UserError, match=r"job\.yaml\.kind: is trainingJob; remove it, or set kind: sweep"):
        sweep_file.sweep(None, path)


def test_a_teams_sweep_has_only_objects_that_its_members_may_create(file: Write) -> None:
    planned = _planned(file(), of_team())
    assert {one["kind"] for one in planned.objects} == {"JobSet", "ConfigMap"}
    assert {one["metadata"]["namespace"] for one in planned.objects} == {"vision"}
    assert _pod(planned.objects[0])["serviceAccountName"] == "tensorplane-sweep"
    trial = _spec(planned).manifest(0, {"RATE": 0.01})
    assert trial["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research", "the only one of the team"
    assert _pod(trial)["serviceAccountName"] == "default"


def test_what_the_team_does_not_have_is_refused(file: Write) -> None:
    told = _refused(file(queue="closed", volumes={"secrets": "/secrets"}), of_team())
    assert [line for line in told if "vision" in line] == [
        "trial.queue: closed is no queue of team vision; choose one of research",
        "trial.volumes.secrets: secrets is no volume of team vision; choose one of datasets, models",
    ]
    gpus = {"resources": {"cpus": 0.1, "memoryGib": 0.25, "gpus": 2, "accelerator": "t4"}, "image": "team/train:1"}
    told = _refused(file({"parallel": 4}, **gpus), of_team())
    assert told == ["search.parallel: 4 trials need 8 GPUs, but team vision may hold 6; set 3 or less"]
    told = _refused(file(graceSeconds=7200, **gpus), of_team())
    assert told == ["trial.graceSeconds: is 7200, and a team's pods hold their GPUs meanwhile; set 3600 or less"]


def test_a_trial_that_fills_the_default_queue_would_wait_for_its_controller(file: Write) -> None:
    platform = of_team()
    queues = platform.settings.tree["queues"]
    queues["default"] = queues.pop("research")
    whole = {"cpus": 0.5, "memoryGib": 1}
    (told,) = _refused(file({"parallel": 1}, resources=whole), platform)
    assert told.startswith("trial.resources: a trial fills queue default, into which Kueue also puts")


@pytest.mark.parametrize("after", range(10))
def test_killed_anywhere_it_is_completed_by_the_same_command(file: Write, after: int) -> None:
    planned, whole, api = _planned(file(queue="training")), Api(), Api(after)
    create.submit(cast(Kube, whole), planned)
    with pytest.raises(KeyboardInterrupt):
        create.submit(cast(Kube, api), planned)
    assert all(
        one["metadata"]["name"] == planned.run or one["metadata"]["ownerReferences"] for one in api.things.values()
    )
    api.left = 99
    create.submit(cast(Kube, api), planned)
    assert set(api.things) == set(whole.things)


def test_the_name_of_a_sweep_is_that_of_its_controller_and_not_of_a_trial() -> None:
    def job_set(name: str, component: str, second: int) -> dict[str, Any]:
        labels = {"app.kubernetes.io/name": "rate", "app.kubernetes.io/component": component}
        created = f"2026-11-25T10:00:{second:02}Z"
        return {"metadata": {"name": name, "namespace": "ml", "labels": labels, "creationTimestamp": created}}

    there = [job_set("rate-1a-t0001", "training", 3), job_set("rate-1a", "sweep", 1), job_set("rate-0a", "sweep", 0)]
    assert (find.newest(there, "ml", "rate") or {})["metadata"]["name"] == "rate-1a"
    assert (find.newest(there, "ml", "rate-1a-t0001") or {})["metadata"]["name"] == "rate-1a-t0001"


def test_each_trial_is_told_when_it_starts_and_when_it_ends() -> None:
    told: dict[int, str] = {}

    def lines(*trials: Trial) -> list[str]:
        return [str(line) for line in follow.news(Results("rate-1a", "loss", False, 12, trials), told)]

    first = Trial(0, "rate-1a-t0000", "open", {"RATE": 0.01}, None, None)
    assert lines(first) == ["rate-1a-t0000: starts with RATE=0.01"]
    assert lines(first) == []
    done = Trial(0, "rate-1a-t0000", "complete", {"RATE": 0.01}, 0.25, 1400)
    second = Trial(1, "rate-1a-t0001", "pruned", {"RATE": 0.02}, 0.5, 100)
    assert lines(done, second) == [
        "rate-1a-t0000: complete after 1,400 steps, loss 0.25",
        "rate-1a-t0001: starts with RATE=0.02",
        "rate-1a-t0001: pruned after 100 steps, loss 0.5",
    ]


def test_following_ends_with_the_table(file: Write) -> None:
    planned, api = _planned(file(queue="training")), Api()
    job_set = create.submit(cast(Kube, api), planned).job_set
    row = {"trial": 0, "run": f"{planned.run}-t0000", "state": "complete", "parameters": {"RATE": 0.1}}
    found = {"run": planned.run, "metric": "loss", "direction": "minimize", "planned": 1, "finished": True}
    path = f"/api/v1/namespaces/tensorplane-dev/configmaps/{planned.run}-results"
    text = json.dumps({**found, "trials": [{**row, "best": 0.5, "steps": 9}]})
    api.things[path] = {**api.things[path], "data": {"results.json": text}}
    job_set["status"] = {"conditions": [{"type": "Completed", "status": "True"}]}
    console = Console(file=io.StringIO(), width=100, color_system=None)
    follow.until_end(Access(cast(Kube, api), "tensorplane-dev"), job_set, console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert f"{planned.run}-t0000: complete after 9 steps, loss 0.5" in shown
    assert f"best: {planned.run}-t0000, loss 0.5: RATE=0.1" in shown


def test_the_file_of_the_guide_is_a_sweep(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('trained')")
    texts = [one.text for one in blocks((PROJECT / "docs" / "sweeps.md").read_text()) if one.text.startswith("search:")]
    for text in texts:
        (tmp_path / "sweep.yaml").write_text(text)
        assert _planned(tmp_path / "sweep.yaml").trials == 12
    assert texts
