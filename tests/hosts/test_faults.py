"""What a person reads when a program cannot run or fails: the fault, where it is, what to do, and nothing else."""

from __future__ import annotations

import venv
from pathlib import Path

import pytest

from tensorplane.plugins.hosts.virtualenv import installation
from tests.hosts.engine import Engine, Project

RARE = pytest.mark.nightly("an engine run for a rare fault")


def test_a_run_error_is_shown_as_its_lines(project: Project) -> None:
    project.having(
        "import pulumi\nraise pulumi.RunError('tensorplane:queues.a: unknown\\ntensorplane:queues.b: unknown')"
    )
    output = project.run("preview", fails=True)
    assert "error: tensorplane:queues.a: unknown\n    tensorplane:queues.b: unknown\n" in output
    assert "Traceback" not in output
    assert "unhandled" not in output


def test_a_crash_is_shown_from_the_users_first_line_on(project: Project) -> None:
    project.having("def broken():\n    raise ValueError('boom')\n\nbroken()")
    output = project.run("preview", fails=True)
    assert "ValueError: boom" in output
    assert f'File "{project.folder}/__main__.py", line 4, in <module>' in output
    assert "runpy" not in output
    assert "inside/program.py" not in output


@RARE
def test_an_error_inside_an_apply_fails_the_program(project: Project) -> None:
    project.having("import pulumi\npulumi.export('x', pulumi.Output.from_input(0).apply(lambda zero: 1 / zero))")
    output = project.run("preview", fails=True)
    assert "ZeroDivisionError" in output


# The engine asks the provider to construct the first one, and to answer for the others.
@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("yaml.v2.ConfigGroup", "k8s.yaml.v2.ConfigGroup('x', yaml='kind: Namespace')"),
        ("helm.v3.Chart", "k8s.helm.v3.Chart('x', k8s.helm.v3.LocalChartOpts(path='chart'))"),
        pytest.param("kustomize.Directory", "k8s.kustomize.Directory('x', directory='.')", marks=RARE),
        pytest.param("yaml.ConfigFile and yaml.ConfigGroup", "k8s.yaml.ConfigFile('x', 'objects.yaml')", marks=RARE),
        pytest.param("yaml.ConfigFile and yaml.ConfigGroup", "k8s.yaml.ConfigGroup('x', yaml=['a: b'])", marks=RARE),
    ],
)
def test_what_the_embedded_kubernetes_provider_lacks_is_one_line(project: Project, name: str, program: str) -> None:
    (project.folder / "objects.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
    project.having(f"import pulumi_kubernetes as k8s\n{program}")
    output = project.run("preview", fails=True)
    said = [line for line in output.partition("Diagnostics:")[2].splitlines() if line.startswith("    error:")]
    assert len(said) == 1, output
    assert f"{name}: not supported by the embedded Kubernetes provider; declare " in said[0]
    assert "Traceback" not in output
    assert 'File "' not in output


@RARE
def test_a_program_that_a_signal_ends_is_named(project: Project) -> None:
    project.having("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert "the program ended without an error message: killed by SIGSEGV" in project.run("preview", fails=True)


@RARE
def test_leaving_with_a_status_is_a_failure(project: Project) -> None:
    project.having("import sys\nsys.exit(3)")
    assert "error: the program left with sys.exit(3)" in project.run("preview", fails=True)


@RARE
def test_a_missing_environment_says_how_to_make_it(engine: Engine, tmp_path: Path) -> None:
    project = engine.project(tmp_path / "tiny", venv=".venv").started()
    output = project.run("preview", fails=True)
    wanted = project.folder / ".venv"
    assert f"{project.folder}/Pulumi.yaml: runtime.options.virtualenv: {wanted} is not a virtual environment" in output
    assert f"python3 -m venv {wanted} && {wanted}/bin/python -m pip install -r" in output


@RARE
def test_an_environment_without_the_sdk_says_what_to_install(engine: Engine, tmp_path: Path) -> None:
    project = engine.project(tmp_path / "tiny", "print('never reached')", venv=".venv").started()
    venv.create(project.folder / ".venv", symlinks=True)
    output = project.run("preview", fails=True)
    assert "cannot import the Pulumi SDK (No module named 'pulumi'); install it with: python -m pip" in output


@pytest.mark.nightly("pip runs twice")
def test_install_puts_the_requirements_into_the_environment(engine: Engine, tmp_path: Path) -> None:
    project = engine.project(tmp_path / "tiny")
    (project.folder / "requirements.txt").write_text("pulumi\n")
    assert "Requirement already satisfied: pulumi" in project.run("install", "--no-plugins")
    (project.folder / "requirements.txt").write_text("./there-is-no-such-folder\n")
    assert "exit status 1" in project.run("install", "--no-plugins", fails=True)


def test_install_makes_a_missing_environment_first(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").touch()
    (_, first), (python, second) = installation(tmp_path, {"virtualenv": "env"})
    assert first == ["-m", "venv", str(tmp_path / "env")]
    assert python.python == tmp_path / "env" / "bin" / "python"
    assert second[:3] == ["-m", "pip", "install"]


@RARE
def test_an_unsupported_toolchain_is_named(engine: Engine, tmp_path: Path) -> None:
    project = engine.project(tmp_path / "tiny").started()
    (project.folder / "Pulumi.yaml").write_text("{name: tiny, runtime: {name: python, options: {toolchain: poetry}}}")
    assert "runtime.options.toolchain: poetry is not supported" in project.run("preview", fails=True)


@RARE
def test_a_folder_without_a_program_is_named(project: Project) -> None:
    project.having("").folder.joinpath("__main__.py").unlink()
    assert f"{project.folder}: has no __main__.py to run" in project.run("preview", fails=True)
