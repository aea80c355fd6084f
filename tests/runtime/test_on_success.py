"""`onSuccess`: what the first pod does once its command has succeeded, and what happens if that fails."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tensorplane import launch, publish, stop
from tensorplane.checkpoints.run_folder import RUN
from tensorplane.publish import copy_newest
from tensorplane.workloads.training_job.launcher import Then
from tests.runtime.launcher import WRITES, argv, run, started
from tests.runtime.launching import IN_PODS
from tests.support.waiting import PATIENT_SECONDS, eventually

_TRAINS = """
import os
from pathlib import Path
from tensorplane import publish
with (Path(__file__).parent / "trained").open("a") as runs:
    runs.write("x")
if base := os.environ.get("MODEL_DIR"):
    publish(lambda folder: (folder.mkdir(parents=True), (folder / "saved_model.pb").write_text("weights")), Path(base))
"""


class Job:
    """A job in a folder: its command, and what it has done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.models, self.served = folder, folder / "models", folder / "served"
        (folder / "train.py").write_text(_TRAINS)
        self.checkpoints = {RUN: str(folder / "digits-1"), **WRITES}

    def arguments(self, hook: str = "", *, publishes: bool = False) -> list[str]:
        """The launcher's, as a job's manifest has them."""
        command = [sys.executable, "-c", hook, "word"] if hook else []
        then = Then(command, str(self.served) if publishes else None)
        return argv(self.folder, *then.options(), sys.executable, str(self.folder / "train.py"))

    def environment(self, **more: str) -> dict[str, str]:
        own = {"PYTHONPATH": IN_PODS, "TENSORPLANE_LINEAGE": '{"run": "digits-1"}'}
        return {**own, "MODEL_DIR": str(self.models), **more}

    def run(self, arguments: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        return run(arguments, **self.environment(**more))

    def count(self, what: str) -> int:
        found = self.folder / what
        return len(found.read_text()) if found.exists() else 0

    @property
    def counts(self) -> str:
        """A program that counts how often it runs."""
        return f"with open({str(self.folder / 'done')!r}, 'a') as done: done.write('x')\n"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.parametrize("with_checkpoints", [False, True])
def test_it_runs_once_after_the_command_as_a_single_process(job: Job, with_checkpoints: bool) -> None:
    prints = "import os, sys; print(sys.argv[1], os.environ['MODEL_VERSION_DIR'], os.environ.get('TF_CONFIG'))"
    done = job.run(job.arguments(prints), TF_CONFIG="{}", **(job.checkpoints if with_checkpoints else {}))
    assert (done.returncode, done.stdout) == (0, f"word {job.models}/1 None\n"), done.stderr


def test_it_does_not_run_after_a_command_that_failed_or_in_other_pods(job: Job) -> None:
    arguments = job.arguments(job.counts)
    assert job.run(arguments, JOB_COMPLETION_INDEX="1").returncode == 0
    (job.folder / "train.py").write_text("raise SystemExit(90)")
    assert job.run(arguments).returncode == 90
    assert job.count("done") == 0


def test_a_finished_run_only_repeats_what_changed(job: Job) -> None:
    first, other = job.arguments(job.counts), job.arguments(job.counts + "print('other')")
    assert job.run(first, **job.checkpoints).returncode == 0
    again = job.run(first, **job.checkpoints)
    assert again.stdout == "tensorplane: run digits-1 has finished; nothing to do\n"
    assert (job.count("trained"), job.count("done")) == (1, 1)
    assert job.run(other, **job.checkpoints).stdout == "other\n"
    assert (job.count("trained"), job.count("done")) == (1, 2)


def test_three_failures_end_the_job_and_a_correction_does_not_train_again(job: Job) -> None:
    fails = job.arguments(job.counts + "raise SystemExit('no server')")
    done = job.run(fails, **job.checkpoints)
    assert done.returncode == launch.EXIT_NOT_RETRIED
    last = "tensorplane: the command has succeeded, but onSuccess failed 3 times: exit code 1: no server"
    assert done.stderr.splitlines()[-1] == last, "what Kubernetes keeps of the log ends with the reason"
    assert (job.count("trained"), job.count("done")) == (1, 3)
    assert job.run(job.arguments(job.counts), **job.checkpoints).returncode == 0
    assert (job.count("trained"), job.count("done")) == (1, 4)


def test_a_temporary_failure_is_none(job: Job) -> None:
    once = f"{job.counts}import os\nif os.path.getsize({str(job.folder / 'done')!r}) < 2: raise SystemExit('busy')"
    assert job.run(job.arguments(once)).returncode == 0
    assert job.count("done") == 2


def test_a_command_that_does_not_exist_is_named(job: Job) -> None:
    arguments = job.arguments("pass")
    arguments[arguments.index("--on-success") + 2] = "no-such-program"
    done = job.run(arguments)
    assert done.returncode == launch.EXIT_NOT_RETRIED
    assert "FileNotFoundError" in done.stderr.splitlines()[-1]
    assert "no-such-program" in done.stderr.splitlines()[-1]


def test_it_publishes_the_version_with_its_lineage_to_another_folder(job: Job) -> None:
    (job.served / "7").mkdir(parents=True)
    done = job.run(job.arguments(publishes=True))
    assert (done.returncode, done.stdout) == (0, f"tensorplane: published={job.served}/8\n"), done.stderr
    for name in ("saved_model.pb", "assets.extra/lineage.json", "assets.extra/run"):
        assert (job.served / "8" / name).read_bytes() == (job.models / "1" / name).read_bytes()
    assert sorted(path.name for path in job.served.iterdir()) == ["7", "8"]
    assert job.run(job.arguments(publishes=True)).returncode == 0
    assert not (job.served / "9").exists(), "the same run publishes once"


def test_a_version_that_the_command_rejects_is_not_published(job: Job) -> None:
    rejects = "raise SystemExit('accuracy 0.31 is below 0.95')"
    done = job.run(job.arguments(rejects, publishes=True), **job.checkpoints)
    assert done.returncode == launch.EXIT_NOT_RETRIED
    assert "accuracy 0.31 is below 0.95" in done.stderr.splitlines()[-1]
    assert not job.served.exists()


def test_without_a_version_nothing_is_published(job: Job) -> None:
    (job.folder / "train.py").write_text("pass")
    done = job.run(job.arguments(publishes=True))
    assert done.returncode == launch.EXIT_NOT_RETRIED
    assert done.stderr.splitlines()[-1].endswith(f"FileNotFoundError: {job.models} has no version of the model")


def test_the_version_of_another_run_is_not_published(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        folder.mkdir()

    publish(write, tmp_path / "models", run="digits-2")
    with pytest.raises(ValueError, match="is a version of run digits-2, not of digits-1"):
        copy_newest(tmp_path / "models", tmp_path / "served", run="digits-1")
    assert not (tmp_path / "served").exists()


def test_a_run_publishes_its_own_newest_version_after_another_run(tmp_path: Path) -> None:
    for number, name in enumerate(("digits-1", "digits-2"), 1):
        (source := tmp_path / name).mkdir()
        (source / "weights").write_text(name)
        assert publish(partial(shutil.copytree, source), tmp_path / "models", run=name) == number
    assert copy_newest(tmp_path / "models", tmp_path / "served", run="digits-1") == 1
    assert (tmp_path / "served" / "1" / "weights").read_text() == "digits-1"


def test_asked_to_stop_meanwhile_it_is_done_by_the_next_pod(job: Job) -> None:
    began = job.folder / "began"
    waits = job.arguments(f"import time; open({str(began)!r}, 'w').close(); time.sleep(100000)")
    with started(waits, **job.environment(**job.checkpoints)) as child:
        eventually(began.exists)
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENT_SECONDS) == stop.EXIT_SAVED
    assert job.run(job.arguments(job.counts), **job.checkpoints).returncode == 0
    assert (job.count("trained"), job.count("done")) == (1, 1)


def test_a_run_that_is_back_does_it_again(job: Job) -> None:
    arguments = job.arguments(job.counts)
    assert job.run(arguments, **job.checkpoints).returncode == 0
    marker = job.models / "2" / "assets.extra" / "run"
    marker.parent.mkdir(parents=True)
    marker.write_text("digits-2")
    assert job.run(arguments, **job.checkpoints).returncode == 0
    assert (job.count("trained"), job.count("done")) == (2, 2)
