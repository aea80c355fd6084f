"""What stands in front of a job's command: one that soon fails twice in the same way is told apart."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane import gpus, launch, step_record, stop
from tensorplane.checkpoints.run_folder import RUN
from tensorplane.workloads.pods import sources
from tensorplane.workloads.training_job import job_set
from tests.runtime.launcher import WRITES, argv, by_path, launched, of_run, run, started
from tests.runtime.launching import IN_PODS, LIBRARY, environments
from tests.support.waiting import PATIENT_SECONDS, eventually

_COUNTS = "from pathlib import Path\nhere = Path(__file__).parent / 'runs'\nwith here.open('a') as f: f.write('x')\n"
_NOTES_STEPS = f"import sys\nsys.path.insert(0, {str(LIBRARY)!r})\nfrom tensorplane import step_record\n"
_FAILS = "raise ValueError('boom')"


def _runs(folder: Path) -> int:
    counted = folder / "runs"
    return len(counted.read_text()) if counted.exists() else 0


@pytest.mark.parametrize(
    ("program", "code", "runs", "last"),
    [
        pytest.param("def broken(:\n", launch.EXIT_NOT_RETRIED, 0, "SyntaxError", id="no Python"),
        pytest.param(_FAILS, launch.EXIT_NOT_RETRIED, 2, "ValueError: boom", id="the same error twice"),
        pytest.param("import nothing_like_it", launch.EXIT_NOT_RETRIED, 2, "ModuleNotFoundError", id="no such module"),
        pytest.param(
            "import sys; sys.exit('no data')", launch.EXIT_NOT_RETRIED, 2, "no data", id="the same words twice"
        ),
        pytest.param("raise ValueError(len(here.read_text()))", 1, 2, "ValueError: 2", id="two different errors"),
        pytest.param("if len(here.read_text()) < 2: raise ValueError('once')", 0, 2, "", id="a second try that works"),
        pytest.param(
            f"{_NOTES_STEPS}step_record.expected(); step_record.done(); {_FAILS}",
            1,
            1,
            "boom",
            id="after the first step",
        ),
        pytest.param("raise RuntimeError('UNAVAILABLE: connection to peer lost')", 1, 1, "lost", id="of a peer"),
        pytest.param("raise OSError(5, 'Input/output error')", 1, 1, "", id="of storage"),
        # Of TensorFlow's errors, which have several lines, the last one may say nothing.
        pytest.param("raise RuntimeError('ABORTED: a peer\\nRestart it.')", 1, 1, "Restart it.", id="of a peer, long"),
        pytest.param(
            "raise ValueError('boom\\nin it')", launch.EXIT_NOT_RETRIED, 2, "in it", id="the same lines twice"
        ),
        pytest.param("import sys; sys.exit(75)", 75, 1, "", id="a request to stop"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, 1, "", id="a kill"),
        pytest.param("import os; os._exit(3)", 3, 1, "", id="without words"),
        pytest.param("pass", 0, 1, "", id="success"),
    ],
)
def test_the_same_early_failure_twice_ends_a_job_and_all_else_ends_as_ever(
    tmp_path: Path, program: str, code: int, runs: int, last: str
) -> None:
    done = launched(tmp_path, _COUNTS + program)
    assert (done.returncode, _runs(tmp_path)) == (code, runs), done.stderr
    assert last in (done.stderr.splitlines() or [""])[-1], "what Kubernetes keeps of the log ends with the reason"


def test_a_script_that_is_missing_ends_it(tmp_path: Path) -> None:
    done = run(argv(tmp_path, sys.executable, str(tmp_path / "nothing.py")))
    assert done.returncode == launch.EXIT_NOT_RETRIED
    assert "can't open file" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("program", ["pyton", "/etc/passwd"])
def test_a_command_that_cannot_be_started_ends_it(program: str) -> None:
    done = run(by_path(program, "train.py"))
    assert done.returncode == launch.EXIT_NOT_RETRIED
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"tensorplane: command: {program} cannot be started in this image (")
    assert line.endswith("; correct command or image")


@pytest.mark.parametrize(
    ("begins", "when"),
    [
        # Nobody tells the launcher of a step that other code prints.
        ("print('step 10'); ", "within two minutes of its start"),
        (f"{_NOTES_STEPS}step_record.expected(); ", "before its first step"),
    ],
)
def test_the_launcher_says_of_steps_only_what_it_knows(tmp_path: Path, begins: str, when: str) -> None:
    done = launched(tmp_path, f"{begins}{_FAILS}")
    assert done.returncode == launch.EXIT_NOT_RETRIED
    assert (
        f"tensorplane: exit code 1 {when}; running it again, in case the error was temporary"
        in done.stderr.splitlines()
    )


@pytest.mark.parametrize(("begins", "code"), [("step_record.expected(); ", launch.EXIT_NOT_RETRIED), ("", 1)])
def test_with_the_library_a_slow_start_is_still_before_the_first_step(tmp_path: Path, begins: str, code: int) -> None:
    (tmp_path / "train.py").write_text(f"{_NOTES_STEPS}{begins}{_FAILS}")
    arguments = argv(tmp_path, sys.executable, str(tmp_path / "train.py"), unknown_seconds=0)
    assert run(arguments).returncode == code


def test_the_command_is_asked_to_stop_and_its_end_counts(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(75))\n"
        "print('ready', flush=True)\ntime.sleep(100000)"
    )
    (tmp_path / "train.py").write_text(program)
    arguments = by_path(sys.executable, str(tmp_path / "train.py"))
    with started(arguments) as child:
        assert child.stdout and child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENT_SECONDS) == 75


def test_a_worker_that_waits_for_the_others_ends_at_once_when_it_is_asked_to(tmp_path: Path) -> None:
    """TensorFlow answers no signal meanwhile; a pod would take its whole grace period."""
    (tmp_path / "train.py").write_text("import tensorplane\ntensorplane.StopRequest()\ntensorplane.strategy()\n")
    arguments = argv(tmp_path, sys.executable, str(tmp_path / "train.py"))
    first, _ = environments(2)
    with started(arguments, **first, PYTHONPATH=IN_PODS) as child:
        eventually(lambda: step_record.read(tmp_path / "steps") == step_record.CONNECTING)
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENT_SECONDS) == stop.EXIT_SAVED


def test_all_that_the_command_says_comes_through(tmp_path: Path) -> None:
    done = launched(tmp_path, "import os, sys\nos.write(2, b'a' * 100000 + b'\\nend')\nprint('out')")
    assert done.stdout == "out\n"
    assert done.stderr == "a" * 100000 + "\nend"


def test_the_jobs_policy_knows_the_code() -> None:
    assert launch.EXIT_NOT_RETRIED == job_set.EXIT_NOT_RETRIED
    assert stop.EXIT_SAVED == job_set.EXIT_SAVED


_SAYS_ADDRESSES = "import os, sys\nprint(*map(os.environ.get, sys.argv[1].split()), *sys.argv[2:], sep='\\n')"


@pytest.mark.parametrize(("restarts", "added"), [("", 0), ("0", 0), ("1", 1), ("57", 57), ("203", 3)])
def test_each_start_of_a_gang_has_addresses_of_its_own(tmp_path: Path, restarts: str, added: int) -> None:
    """All that names them agrees; a pod of another start does not reach them."""

    def texts(port: int, data: int) -> dict[str, str]:
        hosts = [f"run-worker-0-{index}.run:{port}" for index in (0, 1, 10)]
        return {
            "TF_CONFIG": json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": 1}}),
            "TF_WORKER_HOSTS": ",".join(hosts),
            "TENSORPLANE_DATA_SERVICE": f"grpc://run-dispatcher-0-0.run:{data}",
            "TENSORPLANE_ADDRESS": f"run-data-worker-0-1.run:{data + 1}",
            "OF_USER": f"--hosts={','.join(hosts)} kafka.brokers:2222 10.0.0.1:2222 run-worker-0-1.run:22220",
        }

    first, expected = texts(2222, 5050), texts(2222 + added, 5050 + added)
    (tmp_path / "train.py").write_text(_SAYS_ADDRESSES)
    command = by_path(sys.executable, str(tmp_path / "train.py"), " ".join(first), first["OF_USER"])
    done = run(command, **first, TENSORPLANE_RESTARTS=restarts)
    assert done.stdout.splitlines() == [*expected.values(), expected["OF_USER"]], done.stderr


_GPUS = {"TENSORPLANE_GPUS": "2"}


def _stand_in(folder: Path, program: str) -> dict[str, str]:
    """A module `tensorflow`: what stands first on PYTHONPATH hides the installed one."""
    (folder / "tensorflow.py").write_text(program)
    return {**_GPUS, "PYTHONPATH": str(folder)}


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.nightly("two imports of TensorFlow"))])
def test_without_the_gpus_that_the_pod_asked_for_the_command_does_not_begin(tmp_path: Path, real: bool) -> None:
    """The real TensorFlow sees no GPU here."""
    sees_none = (
        "from types import SimpleNamespace as Named\n__version__ = '2.21.0'\n"
        "config = Named(list_physical_devices=lambda kind: [])\n"
    )
    done = launched(tmp_path, _COUNTS, **(_GPUS if real else _stand_in(tmp_path, sees_none)))
    assert (done.returncode, _runs(tmp_path)) == (launch.EXIT_NOT_RETRIED, 0)
    assert re.fullmatch(
        r"tensorplane: image: the pod has 2 GPUs and TensorFlow [0-9.]+ sees none; "
        r"use an image with NVIDIA's libraries \(docs/training-pods.md\)",
        done.stderr.splitlines()[-1],
    ), "the last line is what `why` and kubectl show"


# Who chooses the devices gets those.
@pytest.mark.parametrize("more", [{}, {**_GPUS, "CUDA_VISIBLE_DEVICES": "-1"}])
def test_where_gpus_are_not_asked_for_the_command_runs_on_cpus(tmp_path: Path, more: dict[str, str]) -> None:
    done = launched(tmp_path, _COUNTS, **more)
    assert (done.returncode, done.stderr, _runs(tmp_path)) == (0, "", 1)


def test_an_image_without_tensorflow_is_not_asked(tmp_path: Path) -> None:
    without = _stand_in(tmp_path, "raise ImportError('not in this image')")
    assert (launched(tmp_path, _COUNTS, **without).returncode, _runs(tmp_path)) == (0, 1)


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
    hangs = _stand_in(tmp_path, f"import time; open({str(asked)!r}, 'w').close(); time.sleep(100000)")
    (tmp_path / "train.py").write_text(f"open({str(begun)!r}, 'w')")
    with started(by_path(sys.executable, str(tmp_path / "train.py")), **hangs) as child:
        eventually(asked.exists)
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENT_SECONDS) == stop.EXIT_SAVED
    assert not begun.exists()


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
    first = of_run(tmp_path, _SAVES, **WRITES)
    assert (first.returncode, first.stdout) == (0, "step 1\n")
    for environment in (WRITES, {launch.INDEX: "1"}):
        again = of_run(tmp_path, _SAVES, **environment)
        assert (again.returncode, again.stdout) == (0, "tensorplane: run digits-1 has finished; nothing to do\n")


def test_a_run_that_is_back_after_another_publishes_its_model_again(tmp_path: Path) -> None:
    models = tmp_path / "models"
    assert of_run(tmp_path, _SAVES, **WRITES, MODEL_DIR=str(models)).stdout == "step 1\n"
    for version, publisher in (("1", "digits-1"), ("2", "digits-2")):
        marker = models / version / "assets.extra" / "run"
        marker.parent.mkdir(parents=True)
        marker.write_text(publisher)
    assert of_run(tmp_path, _SAVES, **WRITES, MODEL_DIR=str(models)).stdout == "step 2\n"
    (models / "2" / "assets.extra" / "run").write_text("digits-1")
    done = of_run(tmp_path, _SAVES, **WRITES, MODEL_DIR=str(models))
    assert done.stdout == "tensorplane: run digits-1 has finished; nothing to do\n"


def test_a_run_that_failed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    failed = of_run(tmp_path, _SAVES + "raise SystemExit(90)\n", **WRITES)
    assert failed.returncode == 90
    assert of_run(tmp_path, _SAVES, **WRITES).stdout == "step 2\n"


def test_only_the_first_pod_of_the_writing_role_takes_the_run_over(tmp_path: Path) -> None:
    of_run(tmp_path, _SAVES + "raise SystemExit(90)\n", **WRITES)
    shown = "import os; print(os.environ.get('CHECKPOINT_DIR'))"
    for environment in ({**WRITES, launch.INDEX: "1"}, {}):
        read = of_run(tmp_path, shown, CHECKPOINT_DIR="as before", **environment)
        assert (read.returncode, read.stdout) == (0, "as before\n")
    assert of_run(tmp_path, _SAVES, **WRITES).stdout == "step 2\n", "no other pod has finished it"


def test_a_writer_that_wakes_up_late_changes_nothing(tmp_path: Path) -> None:
    """A pod of the former gang is paused, as on a node that hangs, while another gang takes the run over."""
    go = tmp_path / "go"
    waits = f"import time\nfrom pathlib import Path\nwhile not Path({str(go)!r}).exists(): time.sleep(0.01)\n"
    script = tmp_path / "late.py"
    script.write_text("print('begun', flush=True)\n" + waits + _SAVES)
    env = {RUN: str(tmp_path / "digits-1"), **WRITES}
    with started(by_path(sys.executable, str(script)), **env) as late:
        assert late.stdout
        assert late.stdout.readline() == "begun\n"
        assert of_run(tmp_path, _SAVES + "raise SystemExit(90)\n", **WRITES).returncode == 90
        go.touch()
        _, said = late.communicate(timeout=PATIENT_SECONDS)
    assert late.returncode != 0
    assert "FileNotFoundError" in said
    assert (tmp_path / "digits-1" / "checkpoint").read_text() == "1"
    assert not (tmp_path / "digits-1" / "run.json").read_text().count("finished")


@pytest.mark.parametrize("publishes", [True, False])
def test_a_chief_that_wakes_up_between_write_and_rename_publishes_nothing(tmp_path: Path, publishes: bool) -> None:
    """Neither beside the model of the gang that replaced it, nor before that has one."""
    go, models = tmp_path / "go", tmp_path / "models"
    (tmp_path / "late").mkdir()
    waits = f"print('written', flush=True)\n    while not Path({str(go)!r}).exists(): time.sleep(0.01)"
    script = tmp_path / "late.py"
    script.write_text(_PUBLISHES.format(text="former", then=waits))
    env = {RUN: str(tmp_path / "digits-1"), **WRITES, "MODEL_DIR": str(models), "PYTHONPATH": IN_PODS}
    env["TENSORPLANE_LINEAGE"] = '{"run": "digits-1"}'
    with started(argv(tmp_path / "late", sys.executable, str(script)), **env) as late:
        assert late.stdout
        assert late.stdout.readline() == "written\n"
        program = _PUBLISHES.format(text="new", then="pass") if publishes else "raise SystemExit(90)"
        assert of_run(tmp_path, program, **env).returncode == (0 if publishes else 90)
        go.touch()
        _, said = late.communicate(timeout=PATIENT_SECONDS)
    assert late.returncode == stop.EXIT_SAVED, said
    assert "TakenOver" in said
    published = ["new"] if publishes else []
    assert [path.read_text() for path in sorted(models.rglob("saved_model.pb"))] == published


_PUBLISHES = """
import time
from pathlib import Path
from tensorplane import publish
def write(folder):
    folder.mkdir()
    (folder / "saved_model.pb").write_text("{text}")
    {then}
publish(write)
"""


@pytest.mark.parametrize(("own", "expected"), [({}, str(32 << 20)), ({"MALLOC_MMAP_THRESHOLD_": "1000"}, "1000")])
def test_the_command_keeps_its_memory_unless_told_otherwise(tmp_path: Path, own: dict[str, str], expected: str) -> None:
    program = "import os; print('threshold', os.environ['MALLOC_MMAP_THRESHOLD_'])"
    assert f"threshold {expected}" in launched(tmp_path, program, **own).stdout
