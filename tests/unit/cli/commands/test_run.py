"""`tensorplane run`: what a command line means, the objects that it makes, and how mistakes are told."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from tensorplane import stack_file
from tensorplane.cli.access import Access
from tensorplane.cli.commands.logs import follow
from tensorplane.cli.commands.run import command as run_command
from tensorplane.cli.commands.run import create, plan, request, submission
from tensorplane.cli.commands.run.create import SubmitState
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobOptions
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tests.support.workload_stacks import Project

PYTHON = ("python", "train.py", "--epochs", "3")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script and nothing else of this project."""
    (tmp_path / "train.py").write_text("print('trained')")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _settings(*command: str, **given: Any) -> dict[str, Any]:
    return dict(request.job(None, None, command or PYTHON, JobOptions(**given)).settings)


class TestCommandLine:
    def test_a_command_alone_is_one_pod_with_the_files_of_this_folder(self) -> None:
        assert _settings() == {
            "kind": "trainingJob",
            "strategy": {"kind": "single"},
            "command": ["python3", "train.py", "--epochs", "3"],
            "files": {".": "."},
        }

    @pytest.mark.parametrize(
        ("given", "strategy"),
        [
            ({"workers": 1}, {"kind": "single"}),
            ({"per_worker": 2}, {"kind": "mirrored"}),
            ({"workers": 1, "per_worker": 4}, {"kind": "mirrored"}),
            ({"workers": 4}, {"kind": "multiWorkerMirrored", "workers": 4}),
            ({"workers": 4, "per_worker": 8}, {"kind": "multiWorkerMirrored", "workers": 4}),
        ],
    )
    def test_workers_and_gpus_decide_the_strategy(self, given: dict[str, Any], strategy: dict[str, Any]) -> None:
        assert _settings(**given)["strategy"] == strategy

    def test_an_accelerator_is_one_gpu_unless_told_otherwise(self) -> None:
        assert _settings(accelerator="l4")["resources"] == {"gpus": 1, "accelerator": "l4"}
        assert _settings(accelerator="l4", per_worker=8)["resources"] == {"gpus": 8, "accelerator": "l4"}

    def test_the_model_and_checkpoints_go_to_the_first_volume(self) -> None:
        found = _settings(volumes=("models:/models", "datasets"))
        assert found["volumes"] == {"models": "/models", "datasets": None}
        assert found["model"] == {"volume": "models", "path": "train"}
        assert found["checkpoints"] == {"volume": "models"}

    def test_a_volume_with_ro_is_read_only_and_keeps_no_model(self) -> None:
        found = _settings(volumes=("datasets:/datasets:ro", "models:/models"))
        assert found["volumes"]["datasets"] == {"path": "/datasets", "readOnly": True}
        assert found["model"]["volume"] == "models"

    @pytest.mark.parametrize(
        ("command", "name"),
        [(PYTHON, "train"), (("python3", "-u", "src/My_Model.py"), "my-model"), (("/bin/Sleep", "9"), "sleep")],
    )
    def test_the_job_is_named_after_its_script(self, command: tuple[str, ...], name: str) -> None:
        assert request.job(None, None, command, JobOptions()).name == name

    def test_without_a_command_nothing_runs(self) -> None:
        with pytest.raises(UserError, match="COMMAND: missing; add it after --"):
            request.job(None, None, (), JobOptions())

    def test_a_variable_has_a_value(self) -> None:
        assert _settings(variables=("RATE=0.1", "QUERY=a=b"))["env"] == {"RATE": "0.1", "QUERY": "a=b"}
        with pytest.raises(UserError, match="--env: 'RATE' has no value; write RATE=VALUE"):
            _settings(variables=("RATE",))


class TestFile:
    def test_its_settings_are_those_of_a_workload_and_options_win(self, mine: Path) -> None:
        file = mine / "small.yaml"
        file.write_text("script: train.py\nstrategy: {kind: multiWorkerMirrored, workers: 2}\nresources: {cpus: 2}\n")
        job = request.job(None, file, (), JobOptions(workers=4, memory_gib=8))
        assert (job.name, job.folder) == ("small", mine)
        assert job.settings == {
            "kind": "trainingJob",
            "script": "train.py",
            "files": {".": "."},
            "strategy": {"kind": "multiWorkerMirrored", "workers": 4},
            "resources": {"cpus": 2, "memoryGib": 8},
        }

    @pytest.mark.parametrize(
        ("text", "reason"), [("- a", "is not a map of a job's settings"), ("{", "is not YAML"), (None, "No such file")]
    )
    def test_a_file_that_is_none_is_one_line(self, text: str | None, reason: str, mine: Path) -> None:
        file = mine / "job.yaml"
        if text is not None:
            file.write_text(text)
        with pytest.raises(UserError, match=reason) as error:
            request.job(None, file, (), JobOptions())
        assert len(error.value.lines) == 1


def _planned(**given: Any) -> plan.Planned:
    return plan.planned(request.job(None, None, PYTHON, JobOptions(**given)), Platform.of_stack("dev"))


class TestPlan:
    def test_it_is_planned_as_the_stacks_own_jobs(self, mine: Path) -> None:
        found = _planned(queue="training", workers=2, cpus=0.2, memory_gib=1, volumes=("models:/models",))
        assert (found.namespace, found.pods, found.gpus) == ("tensorplane-dev", 2, 0)
        assert found.run.startswith("train-")
        job_set = found.manifest.job_set
        assert job_set["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "tensorplane"
        assert job_set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training"
        (files,) = [each for each in found.manifest.config_maps if each["metadata"]["name"].startswith("train-files")]
        assert files["data"] == {"0.train.py": "print('trained')"}

    def test_other_code_is_another_run_and_the_same_code_the_same(self, mine: Path) -> None:
        first = _planned(queue="training").run
        assert _planned(queue="training").run == first
        assert _planned(queue="training", cpus=0.5).run == first, "size does not decide the result"
        (mine / "train.py").write_text("print('other')")
        assert _planned(queue="training").run != first

    def test_every_mistake_is_told_at_once_by_its_option(self, mine: Path) -> None:
        with pytest.raises(UserError) as error:
            _planned(queue="trainin", per_worker=99, volumes=("model:/models",), publish="digits-serve")
        told = list(error.value.lines)
        assert any(line.startswith("--queue: no queue is named 'trainin'") and "training" in line for line in told)
        assert any(line.startswith("--per-worker: ") for line in told)
        with pytest.raises(UserError) as error:
            _planned(queue="trainin", volumes=("model:/models",))
        told = list(error.value.lines)
        assert {line.partition(":")[0] for line in told} >= {"--queue", "--volume"}
        assert not any("tensorplane:workloads" in line for line in told)

    def test_a_server_is_suggested(self, mine: Path) -> None:
        with pytest.raises(UserError, match=r"--publish: no model server is named 'digits-serve'.*digits-server"):
            _planned(queue="training", volumes=("models:/models",), publish="digits-serve")

    def test_a_name_of_the_stack_is_refused(self, mine: Path) -> None:
        with pytest.raises(UserError, match="--name: digits is a workload of the stack"):
            plan.planned(request.job("digits", None, PYTHON, JobOptions()), Platform.of_stack("dev"))

    def test_a_stack_of_workloads_runs_jobs_on_its_platform(self, mine: Path, tmp_path: Path) -> None:
        project = Project(tmp_path / "project")
        settings = Settings.of_file(stack_file.read(project.folder / "Pulumi.vision.yaml"))
        job = request.job("hello", None, PYTHON, JobOptions(queue="training", cpus=0.3, memory_gib=1))
        planned = plan.planned(job, Platform("vision", settings))
        assert planned.namespace == "tensorplane-dev"
        for taken, stack in (("search", "stack"), ("digits", "platform dev")):
            with pytest.raises(UserError, match=f"^--name: .*{stack}"):
                plan.planned(dataclasses.replace(job, name=taken), Platform("vision", settings))


def test_more_cores_than_come_with_guaranteed_gpus_are_refused(mine: Path, tmp_path: Path) -> None:
    """Two queues of two T4 each, of which the other may borrow all: Kueue reclaims them within the quota of cores."""
    queue = {"gpus": {"t4": 2}, "mayBorrow": {"t4": 2}}
    tree = {
        "nodeGroups": {"turing": {"accelerator": "t4", "perNode": 4, "min": 1, "max": 1}},
        "queues": {"research": queue, "production": queue},
        "volumes": {"models": {"sizeGib": 1}},
    }
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(json.dumps({"config": {f"tensorplane:{key}": value for key, value in tree.items()}}))
    platform = Platform("lab", Settings.of_file(stack_file.read(file)))

    def planned(cpus: float) -> plan.Planned:
        given = JobOptions(queue="research", per_worker=2, cpus=cpus, memory_gib=8, volumes=("models:/models",))
        return plan.planned(request.job(None, None, PYTHON, given), platform)

    assert planned(8).gpus == 2
    with pytest.raises(UserError) as error:
        planned(12)
    (line,) = error.value.lines
    assert line.startswith("--cpus: worker pods request 12 cores, but 2 GPUs of t4 come with 8, so queue research")


class Api:
    """An API server that keeps what is applied."""

    def __init__(self, fails_after: int = 99) -> None:
        self.things: dict[str, dict[str, Any]] = {}
        self.left = fails_after
        self.deleted: list[str] = []

    def get(self, path: str, **_: str) -> Any:
        return self.things.get(path)

    def items(self, path: str, **_: str) -> Any:
        return [thing for at, thing in self.things.items() if at.startswith(f"{path}/")]

    def delete(self, path: str, **_: str) -> None:
        self.deleted.append(path)
        del self.things[path]

    def apply(self, path: str, thing: dict[str, Any], manager: str) -> dict[str, Any]:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        before = self.things.get(path, {"metadata": {"uid": f"uid-{len(self.things)}"}})
        self.things[path] = {**thing, "metadata": {**thing["metadata"], "uid": before["metadata"]["uid"]}}
        return self.things[path]

    def end(self, kind: str) -> None:
        """The only JobSet ends."""
        (job_set,) = [thing for thing in self.things.values() if thing["kind"] == "JobSet"]
        job_set["status"] = {"conditions": [{"type": kind, "status": "True"}]}


def _submit(api: Api, planned: plan.Planned) -> create.Submitted:
    return create.submit(cast(Kube, api), planned)


class TestSubmission:
    def test_the_job_set_owns_all_else(self, mine: Path) -> None:
        api = Api()
        job_set = _submit(api, _planned(queue="training")).job_set
        others = [thing for thing in api.things.values() if thing["kind"] != "JobSet"]
        assert {thing["kind"] for thing in others} == {"ServiceAccount", "ConfigMap", "NetworkPolicy"}
        for thing in others:
            (owner,) = thing["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["uid"]) == ("JobSet", job_set["metadata"]["uid"])

    @pytest.mark.parametrize("after", range(5))
    def test_killed_anywhere_it_leaves_nothing_without_owner_and_is_completed(self, after: int, mine: Path) -> None:
        planned, whole, api = _planned(queue="training"), Api(), Api(after)
        _submit(whole, planned)
        with pytest.raises(KeyboardInterrupt):
            _submit(api, planned)
        assert all(thing["kind"] == "JobSet" or thing["metadata"]["ownerReferences"] for thing in api.things.values())
        api.left = 99
        _submit(api, planned)
        assert set(api.things) == set(whole.things)

    def test_the_same_command_again_is_the_same_job(self, mine: Path) -> None:
        api, planned = Api(), _planned(queue="training")
        assert [_submit(api, planned).state for _ in range(2)] == ["new", "there"]
        api.end("Completed")
        assert _submit(api, planned).state == "finished"
        assert api.deleted == []

    def test_another_size_of_a_job_that_runs_is_refused(self, mine: Path) -> None:
        api = Api()
        _submit(api, _planned(queue="training"))
        with pytest.raises(UserError, match=r"has not ended, and was submitted with another size.*cancel it"):
            _submit(api, _planned(queue="training", cpus=0.5))

    @pytest.mark.parametrize(
        ("end", "given", "came"),
        [("Failed", {}, "continued"), ("Completed", {"cpus": 0.5}, "changed"), ("Failed", {"cpus": 0.5}, "continued")],
    )
    def test_what_has_failed_or_gets_other_settings_is_submitted_again(
        self, mine: Path, end: str, given: dict[str, Any], came: str
    ) -> None:
        api = Api()
        _submit(api, _planned(queue="training"))
        api.end(end)
        assert _submit(api, _planned(queue="training", **given)).state == came
        assert len(api.deleted) == 1

    @pytest.mark.parametrize(
        ("came", "told"),
        [
            (
                "new",
                "submitted to tensorplane-dev: 1 pod, price unknown; goes on from its checkpoints if it has any",
            ),
            ("continued", "goes on from its checkpoints: 1 pod, price unknown"),
        ],
    )
    def test_its_first_line_says_what_is_known(self, mine: Path, came: SubmitState, told: str) -> None:
        planned = _planned(queue="training", volumes=("models:/models",))
        assert run_command.submitted_text(planned, came) == f"{planned.run}: {told}"

    def test_a_job_that_is_being_cancelled_is_created_again_once_it_is_gone(
        self, mine: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        api, planned = Api(), _planned(queue="training")
        job_set = _submit(api, planned).job_set
        job_set["metadata"]["deletionTimestamp"] = "2026-11-25T10:00:00Z"
        monkeypatch.setattr("time.sleep", lambda _: api.things.clear())
        assert _submit(api, planned).state == "new"

    def test_it_is_not_trained_again_beside_itself(self, mine: Path) -> None:
        api, planned = Api(), _planned(queue="training")
        _submit(api, planned)
        with pytest.raises(UserError, match=rf"--again: {planned.run} has not ended; cancel it first"):
            create.check_none_runs(cast(Kube, api), planned)
        api.end("Failed")
        create.check_none_runs(cast(Kube, api), planned)


class TestFinished:
    """What the same command with other options does once the run has finished: the run itself stays."""

    @pytest.fixture
    def api(self, mine: Path, monkeypatch: pytest.MonkeyPatch) -> Api:
        api = Api()
        monkeypatch.setattr(Access, "of", lambda *_: Access(cast(Kube, api), "tensorplane-dev", stack="dev"))
        monkeypatch.setattr(submission, "until_admitted", lambda *_: None)
        monkeypatch.setattr(follow, "until_end", lambda *_: None)
        self.run()
        api.end("Completed")
        return api

    def run(self, *, detach: bool = False, **given: Any) -> str:
        told = Console(file=io.StringIO(), width=200)
        given = {"queue": "training", "volumes": ("models:/models",), **given}
        run_command.run(
            submission.SubmitOptions(request.job(None, None, PYTHON, JobOptions(**given)), "dev", detach=detach), told
        )
        return cast(io.StringIO, told.file).getvalue()

    def job_sets(self, api: Api) -> list[str]:
        return [thing["metadata"]["name"] for thing in api.things.values() if thing["kind"] == "JobSet"]

    def test_another_job_publishes_its_model_and_is_deleted(self, api: Api) -> None:
        (run,) = self.job_sets(api)
        told = self.run(publish="digits-server")
        (other,) = re.findall(rf"^{run}: has finished; (.*) publishes its model to digits-server$", told, re.MULTILINE)
        assert [path.rpartition("/")[2] for path in api.deleted] == [other]
        assert self.job_sets(api) == [run]

    def test_what_publishes_is_small_and_acts_in_the_name_of_the_run(self, api: Api) -> None:
        (run,) = self.job_sets(api)
        self.run(publish="digits-server", cpus=0.9, detach=True)
        (made,) = [each for each in api.things.values() if each["kind"] == "JobSet" and each["metadata"]["name"] != run]
        container = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
        variables = {each["name"]: each.get("value") for each in container["env"]}
        assert json.loads(variables["TENSORPLANE_LINEAGE"])["run"] == run
        assert (variables["MODEL_DIR"], "CHECKPOINT_DIR" in variables) == ("/models/train", False)
        assert container["resources"]["requests"] == {"cpu": "100m", "memory": "256Mi"}

    def test_another_size_changes_nothing(self, api: Api) -> None:
        (run,) = self.job_sets(api)
        told = self.run(cpus=0.5)
        reason = "has finished, and neither its size nor its queue decides its result"
        assert told == f"{run}: {reason}; run it once more with --again\n"
        assert (api.deleted, self.job_sets(api)) == ([], [run])


def test_credentials_are_not_among_the_files_of_a_job(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(mine / "vision.kubeconfig"))
    with pytest.raises(
        UserError, match=r"KUBECONFIG: .*vision\.kubeconfig is among the files that the job gets; move it"
    ):
        request.job(None, None, PYTHON, JobOptions())
    monkeypatch.setenv("KUBECONFIG", str(mine / ".kube" / "config"))
    assert request.job(None, None, PYTHON, JobOptions()).name == "train"


def test_the_command_line_reaches_the_job(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tensorplane.cli.__main__ import main

    assert main(["run", "--queue", "training", "--dry-run", "--", "python", "train.py", "--rate", "1e-4"]) == 0
    shown = capsys.readouterr().out
    assert "kind: JobSet" in shown
    assert "- --rate" in shown
    assert '- "1e-4"' in shown, "without quotes, a number to kubectl"
