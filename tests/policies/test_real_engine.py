"""The pack on fixture projects through the real engine: `pulumi preview --policy-pack policies`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tensorplane.version import __version__
from tests.hosts.engine import Engine
from tests.policies.conftest import PACK

TOLD = pytest.mark.nightly("told by the violating stack and by previews of other folders: 5 s of engine each")
HERE = Path(__file__).parent
QUOTA_OF_FOUR = ["--policy-pack-config", str(HERE / "config.json")]


@TOLD
def test_the_pack_replays_on_a_saved_state(engine: Engine, tmp_path: Path) -> None:
    project = engine.project(tmp_path / "compliant", (HERE / "fixtures" / "compliant.py").read_text()).started()
    project.run("up", "--yes", "--skip-preview")
    analyze = ["policy", "analyze", "--stack", "dev", "--policy-pack", str(PACK)]
    project.run(*analyze, *QUOTA_OF_FOUR)
    assert "The workloads request 2 GPUs; the quota is 0." in project.run(*analyze, fails=True)


def preview(engine: Engine, tmp_path: Path, name: str, *arguments: str, fails: bool) -> str:
    """Output of one preview of a fixture with the pack."""
    project = engine.project(tmp_path / name, (HERE / "fixtures" / f"{name}.py").read_text()).started()
    return project.run("preview", "--policy-pack", str(PACK), *arguments, fails=fails)


@TOLD
def test_a_compliant_stack_passes(engine: Engine, tmp_path: Path) -> None:
    output = preview(engine, tmp_path, "compliant", *QUOTA_OF_FOUR, fails=False)
    assert f"tensorplane@v{__version__}" in output
    assert "gpu-quota" not in output
    assert "+ 3 to create" in output


def test_a_violating_stack_is_refused_with_what_each_workload_asks_for(engine: Engine, tmp_path: Path) -> None:
    output = preview(engine, tmp_path, "violating", *QUOTA_OF_FOUR, fails=True)
    assert "[mandatory]" in output
    assert "gpu-quota" in output
    assert "The workloads request 6 GPUs; the quota is 4. search (Sweep): 4, server (ModelServer): 2." in output


@TOLD
def test_without_configuration_no_gpu_is_allowed(engine: Engine, tmp_path: Path) -> None:
    output = preview(engine, tmp_path, "compliant", fails=True)
    assert "The workloads request 2 GPUs; the quota is 0. digits (TrainingJob): 2." in output


@TOLD
def test_a_number_that_only_the_update_knows_is_refused(engine: Engine, tmp_path: Path) -> None:
    output = preview(engine, tmp_path, "unknown", *QUOTA_OF_FOUR, fails=True)
    assert "digits (TrainingJob): `gpus` is not known before the update; give `gpus` as a plain number" in output


def test_a_preview_that_shows_no_objects_is_refused_in_one_line(engine: Engine, tmp_path: Path) -> None:
    output = preview(engine, tmp_path, "hidden", *QUOTA_OF_FOUR, fails=True)
    assert output.count("[mandatory]") == 1
    assert (
        "policies see nothing of greedy (Pod), since this preview cannot ask a cluster that does not exist yet; "
        "run `tensorplane preview --stack dev`, or set PULUMI_LEGACY_PROVIDER_PREVIEW=1"
    ) in output


@pytest.mark.nightly("about the time that the pack takes to start: two engine runs")
@pytest.mark.parametrize("standalone", [False, True])
def test_a_pack_has_the_sdk_unless_it_stands_alone(engine: Engine, tmp_path: Path, standalone: bool) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    options = {"virtualenv": sys.prefix, "standalone": standalone}
    (pack / "PulumiPolicy.yaml").write_text(json.dumps({"runtime": {"name": "python", "options": options}}))
    (pack / "__main__.py").write_text("import sys\nsys.exit(f'with the SDK: {\"pulumi\" in sys.modules}')\n")
    project = engine.project(tmp_path / "project").started()
    output = project.run("preview", "--policy-pack", str(pack), fails=True)
    assert f"with the SDK: {not standalone}" in output


@pytest.mark.nightly("three engine runs for a program that asks whether it is previewed")
def test_what_a_program_asks_for_in_the_update_alone_fails_the_update(engine: Engine, tmp_path: Path) -> None:
    assert "gpu-quota" not in preview(engine, tmp_path, "dry_run", *QUOTA_OF_FOUR, fails=False)
    project = engine.project(tmp_path / "up", (HERE / "fixtures" / "dry_run.py").read_text()).started()
    output = project.run("up", "--yes", "--policy-pack", str(PACK), *QUOTA_OF_FOUR, fails=True)
    assert "The workloads request 8 GPUs; the quota is 4. digits (TrainingJob): 8." in output
