"""A change on a branch: its preview refuses lost data and violated policies, and reports what an update would do."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from tensorplane.core.paths import PROJECT
from tensorplane.version import __version__
from tests.e2e import stacks
from tests.e2e.paths.conftest import NAME, SECTIONS
from tests.e2e.stacks import OwnStack
from tests.support import repository
from tests.support.repository import Clone

_FILE, _LIMITS = f"Pulumi.{NAME}.yaml", f"policies/config.{NAME}.json"


def test_a_change_is_refused_until_its_loss_is_meant_and_its_policies_pass(paths: OwnStack, tmp_path: Path) -> None:
    allowed = json.loads((PROJECT / "policies/config.dev.json").read_text())
    other = {**allowed, "environment-clusters": {"clusters": ["eks"]}}
    origin = repository.remote(tmp_path, {_FILE: stacks.settings(**SECTIONS), _LIMITS: json.dumps(allowed)})
    clone = Clone(tmp_path / "clone", origin)
    clone.git("switch", "-q", "-c", "topic")
    changed = copy.deepcopy(SECTIONS)
    changed["queues"]["research"]["cpus"] = 2
    del changed["volumes"]["scratch"]
    clone.commit("less", {_FILE: stacks.settings(**changed), _LIMITS: json.dumps(other)})
    code, report = _previewed(clone)
    assert code == 1
    assert "**This update is refused: it would lose data.**" in report
    assert "- **volume scratch is deleted (1 GiB requested)" in report
    assert f"`tensorplane:acknowledge: {{deleteVolume: [scratch]}}` to {_FILE}**" in report
    assert "- **environment-clusters** (mandatory): cluster (Cluster): a cluster of kind embedded" in report

    changed["acknowledge"] = {"deleteVolume": ["scratch"]}
    clone.commit("on purpose", {_FILE: stacks.settings(**changed), _LIMITS: json.dumps(allowed)})
    code, report = _previewed(clone)
    assert code == 0, report
    assert "; acknowledged by acknowledge.deleteVolume" in report
    assert "- queue **research**: guaranteed cores 1 → 2" in report
    assert f" policies (tensorplane {__version__}) | passed |" in report
    assert "**violated**" not in report
    assert "- volume **scratch** is deleted: 1 GiB" in report
    assert "<svg" in (clone.folder / "preview.svg").read_text()


def _previewed(clone: Clone) -> tuple[int, str]:
    done = clone.tensorplane("preview", "--stack", NAME, "--base", "origin/main")
    report = clone.folder / "preview.md"
    assert report.exists(), done.stdout + done.stderr
    return done.returncode, report.read_text()
