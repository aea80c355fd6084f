"""What stands in front of a job's command: one that soon fails twice in the same way is told apart."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane import gpus, launch, stop
from tensorplane.checkpoints.run_folder import RUN
from tests.runtime.launching import LIBRARY
from tests.support.environment import of_machine
from tests.support.waiting import PATIENT_SECONDS, eventually
from workloads import sources
from workloads.manifests import job_set

_LAUNCH = LIBRARY / "tensorplane" / "launch.py"


def _run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """The launcher on a program of the test's, without its pause."""
    script = folder / "train.py"
    script.write_text(program)
    code = (
        f"import sys; sys.path.insert(0, {str(LIBRARY)!r}); from pathlib import Path; from tensorplane import launch;"
        f"launch._PAUSE_SECONDS = 0; sys.exit(launch.main(sys.argv[1:], Path({str(folder / 'steps')!r})))"
    )
    argv = [sys.executable, "-c", code, sys.executable, str(script)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENT_SECONDS)


_COUNTS = "from pathlib import Path\nhere = Path(__file__).parent / 'runs'\nwith here.open('a') as f: f.write('x')\n"


def _runs(folder: Path) -> int:
    return len((folder / "runs").read_text())


@pytest.mark.parametrize(
    ("program", "last"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("raise ValueError('boom')", "ValueError: boom"),
        ("import nothing_like_it", "ModuleNotFoundError"),
        ("import sys; sys.exit('no data')", "no data"),
    ],
)
def test_the_same_failure_twice_ends_it(tmp_path: Path, program: str, last: str) -> None:
    done = _run(tmp_path, program)
    assert done.returncode == launch.EXIT_SAME
    assert last in done.stderr.splitlines()[-1], "what Kubernetes keeps of the log ends with the reason"


def test_a_script_that_is_missing_ends_it(tmp_path: Path) -> None:
    argv = [sys.executable, "-I", str(_LAUNCH), sys.executable, str(tmp_path / "nothing.py")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENT_SECONDS)
    assert done.returncode == launch.EXIT_SAME
    assert "can't open file" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("program", ["pyton", "/etc/passwd"])
def test_a_command_that_cannot_be_started_ends_it(program: str) -> None:
    argv = [sys.executable, "-I", str(_LAUNCH), program, "train.py"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENT_SECONDS)
    assert done.returncode == launch.EXIT_SAME
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"tensorplane: command: {program} cannot be started in this image (")
    assert line.endswith("; correct command or image")


def test_two_different_failures_are_left_to_restarts(tmp_path: Path) -> None:
    done = _run(tmp_path, _COUNTS + "raise ValueError(len(here.read_text()))")
    assert (done.returncode, _runs(tmp_path)) == (1, 2)


def test_a_second_try_that_works_is_a_success(tmp_path: Path) -> None:
    done = _run(tmp_path, _COUNTS + "if _ := len(here.read_text()) < 2: raise ValueError('once')")
    assert (done.returncode, _runs(tmp_path)) == (0, 2)


_NOTES_STEPS = f"import sys\nsys.path.insert(0, {str(LIBRARY)!r})\nfrom tensorplane import first_step\n"


def test_a_failure_after_the_first_step_is_left_to_restarts(tmp_path: Path) -> None:
    done = _run(tmp_path, _COUNTS + _NOTES_STEPS + "first_step.expected(); first_step.done(); raise ValueError('boom')")
    assert (done.returncode, _runs(tmp_path)) == (1, 1)


@pytest.mark.parametrize(
    ("begins", "when"),
    [
        # Nobody tells the launcher of a step that other code prints.
        ("print('step 10'); ", "within two minutes of its start"),
        (f"{_NOTES_STEPS}first_step.expected(); ", "before its first step"),
    ],
)
def test_the_launcher_says_of_steps_only_what_it_knows(tmp_path: Path, begins: str, when: str) -> None:
    done = _run(tmp_path, f"{begins}raise ValueError('boom')")
    assert done.returncode == launch.EXIT_SAME
    assert (
        f"tensorplane: exit code 1 {when}; running it again, in case the error was temporary"
        in done.stderr.splitlines()
    )


def test_with_the_library_a_slow_start_is_still_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_UNKNOWN_SECONDS", 0)
    monkeypatch.setattr(launch, "_PAUSE_SECONDS", 0)
    script = tmp_path / "train.py"
    for program, code in (("first_step.expected(); ", launch.EXIT_SAME), ("", 1)):
        script.write_text(_NOTES_STEPS + program + "raise ValueError('boom')")
        assert launch.main([sys.executable, str(script)], tmp_path / "steps") == code


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("raise RuntimeError('UNAVAILABLE: connection to peer lost')", 1),
        ("raise OSError(5, 'Input/output error')", 1),
        ("import sys; sys.exit(75)", 75),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("import os; os._exit(3)", 3),
        ("pass", 0),
    ],
)
def test_what_may_pass_and_what_is_no_failure_of_the_code_ends_as_ever(tmp_path: Path, program: str, code: int) -> None:
    done = _run(tmp_path, _COUNTS + program)
    assert (done.returncode, _runs(tmp_path)) == (code, 1)


def test_the_command_is_asked_to_stop_and_its_end_counts(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(75))\n"
        "print('ready', flush=True)\ntime.sleep(100000)"
    )
    (tmp_path / "train.py").write_text(program)
    argv = [sys.executable, "-I", str(_LAUNCH), sys.executable, str(tmp_path / "train.py")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENT_SECONDS) == 75


def test_all_that_the_command_says_comes_through(tmp_path: Path) -> None:
    done = _run(tmp_path, "import os, sys\nos.write(2, b'a' * 100000 + b'\\nend')\nprint('out')")
    assert done.stdout == "out\n"
    assert done.stderr == "a" * 100000 + "\nend"


def test_the_jobs_policy_knows_the_code() -> None:
    assert launch.EXIT_SAME == job_set.EXIT_SAME
    assert stop.EXIT_SAVED == job_set.EXIT_SAVED


def test_without_the_gpus_that_the_pod_asked_for_the_command_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real TensorFlow, which sees no GPU here."""
    monkeypatch.setenv("TENSORPLANE_GPUS", "2")
    done = _run(tmp_path, _COUNTS)
    assert done.returncode == launch.EXIT_SAME
    assert not (tmp_path / "runs").exists()
    assert re.fullmatch(
        r"tensorplane: image: the pod has 2 GPUs and TensorFlow [0-9.]+ sees none; "
        r"use an image with NVIDIA's libraries \(docs/training-pods.md\)",
        done.stderr.splitlines()[-1],
    ), "the last line is what `why` and kubectl show"


@pytest.mark.parametrize(
    "more",
    [
        {},
        # Who chooses the devices gets those.
        {"TENSORPLANE_GPUS": "2", "CUDA_VISIBLE_DEVICES": "-1"},
    ],
)
def test_where_gpus_are_not_asked_for_the_command_runs_on_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]
) -> None:
    for name, value in more.items():
        monkeypatch.setenv(name, value)
    done = _run(tmp_path, _COUNTS)
    assert (done.returncode, done.stderr, _runs(tmp_path)) == (0, "", 1)


def test_an_image_without_tensorflow_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORPLANE_GPUS", "1")
    # What stands first on PYTHONPATH hides the installed one.
    (tmp_path / "tensorflow.py").write_text("raise ImportError('not in this image')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert (_run(tmp_path, _COUNTS).returncode, _runs(tmp_path)) == (0, 1)


_GPU, _MIG = "GPU-8d1c", "MIG-77aa"


@pytest.mark.parametrize(
    ("asked", "given", "expected"),
    [
        (2, None, 2),
        (2, "all", 2),
        (2, "void", 2),
        (2, f"{_GPU}1,{_GPU}2", 2),
        # Two shares of one GPU; two instances, of which CUDA shows a process the first.
        (2, f"{_GPU}1,{_GPU}1", 1),
        (2, f"{_MIG}1,{_MIG}2", 1),
        (1, f"{_MIG}1", 1),
        (0, None, 0),
    ],
)
def test_how_many_gpus_tensorflow_should_see(asked: int, given: str | None, expected: int) -> None:
    environment = {"TENSORPLANE_GPUS": str(asked)} | ({"NVIDIA_VISIBLE_DEVICES": given} if given else {})
    assert gpus.expected(environment) == expected


def test_fewer_gpus_than_asked_for_are_the_nodes_fault() -> None:
    assert gpus.shortage(8, 7, "2.21.0") == (
        "resources.gpus: the pod has 8 GPUs and TensorFlow 2.21.0 sees 7; check the node's GPUs with nvidia-smi"
    )


def test_asked_to_stop_while_gpus_are_counted_it_ends_as_one_that_can_go_on(tmp_path: Path) -> None:
    asked, begun = tmp_path / "asked", tmp_path / "begun"
    (tmp_path / "tensorflow.py").write_text(f"import time; open({str(asked)!r}, 'w').close(); time.sleep(100000)")
    (tmp_path / "train.py").write_text(f"open({str(begun)!r}, 'w')")
    argv = [sys.executable, "-I", str(_LAUNCH), sys.executable, str(tmp_path / "train.py")]
    with subprocess.Popen(argv, env={"PYTHONPATH": str(tmp_path), "TENSORPLANE_GPUS": "1"}) as child:
        eventually(asked.exists)
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENT_SECONDS) == stop.EXIT_SAVED
    assert not begun.exists()


def _run_of(folder: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The launcher, started as a pod starts it, on a program of the run `digits-1`."""
    script = folder / "train.py"
    script.write_text(program)
    argv = [sys.executable, "-I", str(_LAUNCH), sys.executable, str(script)]
    env = {**of_machine(), RUN: str(folder / "digits-1"), **environment}
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENT_SECONDS, env=env)


_SAVES = """
import os
from pathlib import Path
here = Path(os.environ["CHECKPOINT_DIR"])
saved = here / "checkpoint"
step = int(saved.read_text()) if saved.exists() else 0
saved.write_text(str(step + 1))
print("step", step + 1, flush=True)
"""


def test_the_launcher_and_its_command_find_the_library_where_a_config_map_is_mounted(tmp_path: Path) -> None:
    """Each file in it is a link into a folder of the content's own."""
    mounted = tmp_path / "lib"
    content = mounted / "..2026_11_23"
    content.mkdir(parents=True)
    ((name, archive),) = sources.library().items()
    (content / name).write_bytes(archive)
    (mounted / "..data").symlink_to(content.name)
    (mounted / name).symlink_to(f"..data/{name}")
    says = "import sitecustomize, tensorplane.stop as stop; print(sitecustomize.__file__, stop.__file__)"
    argv = [sys.executable, "-I", str(mounted / name), "launch", sys.executable, "-c", says]
    path = {**os.environ, "PYTHONPATH": str(mounted / name)}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENT_SECONDS, cwd=tmp_path, env=path)
    found = f"{mounted / name}/sitecustomize.py {mounted / name}/tensorplane/stop.py\n"
    assert (done.returncode, done.stdout) == (0, found), done.stderr


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    first = _run_of(tmp_path, _SAVES, TENSORPLANE_WRITES="true")
    assert (first.returncode, first.stdout) == (0, "step 1\n")
    for environment in ({"TENSORPLANE_WRITES": "true"}, {launch.INDEX: "1"}):
        again = _run_of(tmp_path, _SAVES, **environment)
        assert (again.returncode, again.stdout) == (0, "tensorplane: run digits-1 has finished; nothing to do\n")


def test_a_run_that_is_back_after_another_publishes_its_model_again(tmp_path: Path) -> None:
    models = tmp_path / "models"
    assert _run_of(tmp_path, _SAVES, TENSORPLANE_WRITES="true", MODEL_DIR=str(models)).stdout == "step 1\n"
    for version, publisher in (("1", "digits-1"), ("2", "digits-2")):
        marker = models / version / "assets.extra" / "run"
        marker.parent.mkdir(parents=True)
        marker.write_text(publisher)
    assert _run_of(tmp_path, _SAVES, TENSORPLANE_WRITES="true", MODEL_DIR=str(models)).stdout == "step 2\n"
    (models / "2" / "assets.extra" / "run").write_text("digits-1")
    done = _run_of(tmp_path, _SAVES, TENSORPLANE_WRITES="true", MODEL_DIR=str(models))
    assert done.stdout == "tensorplane: run digits-1 has finished; nothing to do\n"


def test_a_run_that_failed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    failed = _run_of(tmp_path, _SAVES + "raise SystemExit(90)\n", TENSORPLANE_WRITES="true")
    assert failed.returncode == 90
    assert _run_of(tmp_path, _SAVES, TENSORPLANE_WRITES="true").stdout == "step 2\n"


def test_only_the_first_pod_of_the_writing_role_takes_the_run_over(tmp_path: Path) -> None:
    _run_of(tmp_path, _SAVES + "raise SystemExit(90)\n", TENSORPLANE_WRITES="true")
    shown = "import os; print(os.environ.get('CHECKPOINT_DIR'))"
    for environment in ({"TENSORPLANE_WRITES": "true", launch.INDEX: "1"}, {}):
        read = _run_of(tmp_path, shown, CHECKPOINT_DIR="as before", **environment)
        assert (read.returncode, read.stdout) == (0, "as before\n")
    assert _run_of(tmp_path, _SAVES, TENSORPLANE_WRITES="true").stdout == "step 2\n", "no other pod has finished it"


def test_a_writer_that_wakes_up_late_changes_nothing(tmp_path: Path) -> None:
    """A pod of the former gang is paused, as on a node that hangs, while another gang takes the run over."""
    go = tmp_path / "go"
    waits = f"import time\nfrom pathlib import Path\nwhile not Path({str(go)!r}).exists(): time.sleep(0.01)\n"
    script = tmp_path / "late.py"
    script.write_text("print('begun', flush=True)\n" + waits + _SAVES)
    env = {**of_machine(), RUN: str(tmp_path / "digits-1"), "TENSORPLANE_WRITES": "true"}
    argv = [sys.executable, "-I", str(_LAUNCH), sys.executable, str(script)]
    late = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert late.stdout
    assert late.stdout.readline() == "begun\n"
    assert _run_of(tmp_path, _SAVES + "raise SystemExit(90)\n", TENSORPLANE_WRITES="true").returncode == 90
    go.touch()
    _, said = late.communicate(timeout=PATIENT_SECONDS)
    assert late.returncode != 0
    assert "FileNotFoundError" in said
    assert (tmp_path / "digits-1" / "checkpoint").read_text() == "1"
    assert not (tmp_path / "digits-1" / "run.json").read_text().count("finished")


@pytest.mark.parametrize(("own", "expected"), [(None, str(32 << 20)), ("1000", "1000")])
def test_the_command_keeps_its_memory_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, expected: str
) -> None:
    if own:
        monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", own)
    program = "import os; print('threshold', os.environ['MALLOC_MMAP_THRESHOLD_'])"
    assert f"threshold {expected}" in _run(tmp_path, program).stdout
