"""The plain `pulumi` commands on a small project: they run the program and keep its secrets."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.engine import Project

PROGRAM = """
    import os, subprocess, sys
    import pulumi

    class Job(pulumi.ComponentResource):
        def __init__(self, name, gpus):
            super().__init__("tensorplane:index:TrainingJob", name, {"gpus": gpus}, None)
            self.register_outputs({"gpus": gpus})

    config = pulumi.Config()
    Job("digits", config.require_int("gpus"))
    pulumi.export("token", config.require_secret("token"))
    pulumi.export("python", sys.executable)
    pulumi.export("folder", os.getcwd())
    pulumi.export("main", __file__)
    pulumi.export("arguments", sys.argv)
    pulumi.export("path", sys.path[0])
    pulumi.export("pythonpath", os.environ.get("PYTHONPATH", "unset"))
    pulumi.export("inherited", "s3cret" in subprocess.run(["env"], capture_output=True, text=True).stdout)
    print("a line of the program's own")
"""


@pytest.fixture(scope="module")
def up(project: Project) -> Iterator[str]:
    """Output of the one `pulumi up` that the tests below look at. `pulumi destroy` ends them, and leaves nothing."""
    project.having(PROGRAM)
    project.run("config", "set", "gpus", "2")
    project.run("config", "set", "--secret", "token", "s3cret")
    yield project.run("up", "--yes", "--skip-preview")
    assert "- 2 deleted" in project.run("destroy", "--yes", "--skip-preview")
    assert "resources" not in json.loads(project.run("stack", "export"))["deployment"]


def test_up_makes_what_the_program_declares(project: Project, up: str) -> None:
    assert "a line of the program's own" in up
    assert "+ 2 created" in up
    state = json.loads(project.run("stack", "export"))["deployment"]["resources"]
    assert {each["type"]: each.get("outputs") for each in state}["tensorplane:index:TrainingJob"] == {"gpus": 2}


def test_the_program_runs_in_its_own_python_and_folder(project: Project, up: str) -> None:
    outputs = json.loads(project.run("stack", "output", "--json"))
    assert outputs["python"] == str(Path(sys.prefix) / "bin" / "python")
    assert outputs["folder"] == outputs["path"] == str(project.folder)
    assert outputs["main"] == str(project.folder / "__main__.py")
    assert outputs["arguments"] == [str(project.folder)]
    assert outputs["pythonpath"] == "unset"


def test_secrets_stay_secret(project: Project, up: str) -> None:
    assert "s3cret" not in up
    assert "s3cret" not in project.run("stack", "export")
    outputs = json.loads(project.run("stack", "output", "--json"))
    assert outputs["token"] == "[secret]"
    assert outputs["inherited"] is False, "a program that the user's code starts must not inherit the configuration"


def test_preview_sees_no_change_and_then_one(project: Project, up: str) -> None:
    assert "2 unchanged" in project.run("preview")
    changed = project.run("preview", "--config", "gpus=3")
    assert "~ 1 to update" in changed
    project.run("config", "set", "gpus", "2")


@pytest.mark.nightly("a line of `pulumi about`")
def test_about_names_the_python(project: Project, up: str) -> None:
    about = project.run("about")
    assert f"This project is written in python: executable='{Path(sys.prefix) / 'bin' / 'python'}'" in about
    assert "language python 0.1.0" in " ".join(about.split())


@pytest.mark.nightly("eight runs of the CLI")
def test_a_wrong_passphrase_is_refused_and_changes_nothing(project: Project, up: str) -> None:
    """pulumi/pulumi#23476 tells of a state whose secrets became null under a wrong passphrase."""
    before = project.run("stack", "export"), (project.folder / "Pulumi.dev.yaml").read_text()
    wrong = Project(project.folder, {**project.environment, "PULUMI_CONFIG_PASSPHRASE": "wrong"})
    for arguments in (["up", "--yes"], ["refresh", "--yes"], ["preview"], ["stack", "output", "--show-secrets"]):
        assert "incorrect passphrase" in wrong.run(*arguments, fails=True)
    assert (project.run("stack", "export"), (project.folder / "Pulumi.dev.yaml").read_text()) == before
