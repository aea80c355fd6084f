"""A member's sweep: its controller dies, and no trial is lost or repeated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from tensorplane.driver import sweep_image
from tensorplane.images import package_layer
from tensorplane.stack_file import sweep_packages
from tests.e2e.paths.conftest import TEAM
from tests.e2e.stacks import OwnStack
from tests.support import held_sweep, killed, sweep_world
from tests.support.held_sweep import PARALLEL
from tests.support.person import Person
from tests.support.waiting import eventually

_TRIALS = 6
_SEARCH = {"trials": _TRIALS, "parallel": PARALLEL}


def test_a_members_sweep_loses_and_repeats_no_trial_while_its_controller_is_killed(
    member: Person, paths: OwnStack, tmp_path: Path
) -> None:
    sweep_image.provide(paths.deployed.instance, package_layer.image(sweep_packages.lines()).name)
    search = {**sweep_world.sweep(tmp_path).search, **_SEARCH}
    file, name = f"{member.name}.yaml", member.name
    trial = {**held_sweep.TRIAL, "volumes": {"models": "/models"}, "queue": "research"}
    (member.folder / file).write_text(yaml.safe_dump({"search": search, "trial": trial}))
    told = member("sweep", "-f", file, "--detach")
    size = f"{_TRIALS} trials, {PARALLEL} at once, {PARALLEL} pods"
    run = re.findall(rf"^({name}-\w+): submitted to vision: {size}", told, re.MULTILINE)[0]
    volume = paths.volume()
    with (
        held_sweep.observed(paths.deployed.instance.kubeconfig, TEAM, run) as seen,
        # A second submission is the same sweep, which it follows.
        member.started("sweep", "-f", file) as follower,
    ):
        follower.until(f"{run}: is submitted already: ")
        eventually(lambda: len(seen.admitted) == PARALLEL)
        killed.replaced(paths.kube, TEAM, f"jobset.sigs.k8s.io/jobset-name={run}")
        assert seen.most_admitted == PARALLEL
        for number in range(_TRIALS):
            held_sweep.let_go(volume / TEAM / "checkpoints", run, number)
        shown = follower.ended()
        seen.assert_once(_TRIALS)
    results = json.loads(member("sweep", run, "--json"))
    assert held_sweep.decided(results) == held_sweep.undisturbed(tmp_path, **_SEARCH)
    for row in results["trials"]:
        assert re.search(rf"^{row['run']}: {row['state']}", shown, re.MULTILINE), shown
    assert f"\n{run}: {_TRIALS} of {_TRIALS} trials" in shown
    assert re.search(rf"^{run} +finished", member("jobs", "--all"), re.MULTILINE)
    assert "has finished already" in member("sweep", "-f", file)
    member("sweep", name, "--publish", "searched")
    assert [path.name for path in (volume / "searched").iterdir() if path.name.isdecimal()] == ["1"]
