"""`tensorplane run`: what a command line means, the objects that it makes, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.commands.run import asked, plan, submission
from cli.commands.run.asked import Given
from cli.commands.run.platform import Platform
from embedded.fault import Fault

PYTHON = ("python", "train.py", "--epochs", "3")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script and nothing else of this project."""
    (tmp_path / "train.py").write_text("print('trained')")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _settings(*command: str, **given: Any) -> dict[str, Any]:
    return dict(asked.job(None, None, command or PYTHON, Given(**given)).settings)


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

    @pytest.mark.parametrize(
        ("command", "name"),
        [(PYTHON, "train"), (("python3", "-u", "src/My_Model.py"), "my-model"), (("/bin/Sleep", "9"), "sleep")],
    )
    def test_the_job_is_named_after_its_script(self, command: tuple[str, ...], name: str) -> None:
        assert asked.job(None, None, command, Given()).name == name

    def test_without_a_command_nothing_runs(self) -> None:
        with pytest.raises(Fault, match="COMMAND: missing; add it after --"):
            asked.job(None, None, (), Given())

    def test_a_variable_has_a_value(self) -> None:
        assert _settings(variables=("RATE=0.1", "QUERY=a=b"))["env"] == {"RATE": "0.1", "QUERY": "a=b"}
        with pytest.raises(Fault, match="--env: 'RATE' has no value; write RATE=VALUE"):
            _settings(variables=("RATE",))


class TestFile:
    def test_its_settings_are_those_of_a_workload_and_options_win(self, mine: Path) -> None:
        file = mine / "small.yaml"
        file.write_text("script: train.py\nstrategy: {kind: multiWorkerMirrored, workers: 2}\nresources: {cpus: 2}\n")
        job = asked.job(None, file, (), Given(workers=4, memory_gib=8))
        assert (job.name, job.folder) == ("small", mine)
        assert job.settings == {
            "kind": "trainingJob",
            "script": "train.py",
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
        with pytest.raises(Fault, match=reason) as error:
            asked.job(None, file, (), Given())
        assert len(error.value.lines) == 1


def _planned(**given: Any) -> plan.Planned:
    return plan.planned(asked.job(None, None, PYTHON, Given(**given)), Platform.of_stack("dev"))


class TestPlan:
    def test_it_is_planned_as_the_stacks_own_jobs(self, mine: Path) -> None:
        found = _planned(queue="training", workers=2, cpus=0.2, memory_gib=1, volumes=("models:/models",))
        assert (found.namespace, found.queue, found.pods, found.gpus) == ("tensorplane-dev", "training", 2, 0)
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
        with pytest.raises(Fault) as error:
            _planned(queue="trainin", per_worker=99, volumes=("model:/models",), publish="digits-serve")
        told = list(error.value.lines)
        assert any(line.startswith("--queue: no queue is named 'trainin'") and "training" in line for line in told)
        assert any(line.startswith("--per-worker: ") for line in told)
        with pytest.raises(Fault) as error:
            _planned(queue="trainin", volumes=("model:/models",))
        told = list(error.value.lines)
        assert {line.partition(":")[0] for line in told} >= {"--queue", "--volume"}
        assert not any("tensorplane:workloads" in line for line in told)

    def test_a_server_is_suggested(self, mine: Path) -> None:
        with pytest.raises(Fault, match=r"--publish: no model server is named 'digits-serve'.*digits-server"):
            _planned(queue="training", volumes=("models:/models",), publish="digits-serve")

    def test_a_name_of_the_stack_is_refused(self, mine: Path) -> None:
        with pytest.raises(Fault, match="--name: digits is a workload of the stack"):
            plan.planned(asked.job("digits", None, PYTHON, Given()), Platform.of_stack("dev"))


class Api:
    """An API server that keeps what is applied."""

    def __init__(self, fails_after: int = 99) -> None:
        self.things: dict[str, dict[str, Any]] = {}
        self.left = fails_after

    def get(self, path: str, **_: str) -> Any:
        return self.things.get(path)

    def apply(self, path: str, thing: dict[str, Any], manager: str, *, dry_run: bool = False) -> dict[str, Any]:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        before = self.things.get(path, {"metadata": {"uid": f"uid-{len(self.things)}"}})
        self.things[path] = {**thing, "metadata": {**thing["metadata"], "uid": before["metadata"]["uid"]}}
        return self.things[path]


class TestSubmission:
    def test_the_job_set_owns_all_else(self, mine: Path) -> None:
        api = Api()
        job_set = submission.submit(api, _planned(queue="training"))  # type: ignore[arg-type]
        others = [thing for thing in api.things.values() if thing["kind"] != "JobSet"]
        assert {thing["kind"] for thing in others} == {"ServiceAccount", "ConfigMap", "NetworkPolicy"}
        for thing in others:
            (owner,) = thing["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["uid"]) == ("JobSet", job_set["metadata"]["uid"])

    @pytest.mark.parametrize("after", range(5))
    def test_killed_anywhere_it_leaves_nothing_without_owner_and_is_completed(self, after: int, mine: Path) -> None:
        planned, whole, api = _planned(queue="training"), Api(), Api(after)
        submission.submit(whole, planned)  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            submission.submit(api, planned)  # type: ignore[arg-type]
        assert all(thing["kind"] == "JobSet" or thing["metadata"]["ownerReferences"] for thing in api.things.values())
        api.left = 99
        submission.submit(api, planned)  # type: ignore[arg-type]
        assert set(api.things) == set(whole.things)


def test_the_command_line_reaches_the_job(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from cli.__main__ import main

    assert main(["run", "--queue", "training", "--dry-run", "--", "python", "train.py", "--workers", "9"]) == 0
    shown = capsys.readouterr().out
    assert "kind: JobSet" in shown
    assert "- --workers" in shown
