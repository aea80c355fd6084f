"""A sweep whose controller is killed at random moments: each trial once, never too many, and the decisions of one that
was not killed."""

from __future__ import annotations

import io
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.access import Access
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.sweep import command
from tensorplane.cli.commands.sweep import results as shown
from tensorplane.components.base.settings import Settings
from tensorplane.core.kube import Kube
from tensorplane.driver import sweep_image
from tensorplane.images import package_layer
from tensorplane.stack_file import sweep_packages
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.support import counts, held_sweep, killed, sweep_world
from tests.support.held_sweep import PARALLEL
from tests.support.waiting import eventually

pytestmark = [pytest.mark.counted, pytest.mark.nightly("random kills; the member's sweep has one")]

_KILLS = counts.of(quick=4, nightly=80)
_TRIALS = 12
_NAME, _SERVER = "search", "best"


def _sections(search: dict[str, Any]) -> dict[str, Any]:
    of_trial = {
        "strategy": {"kind": "single"},
        "volumes": {"work": "/work"},
        "model": {"volume": "work", "path": "models"},
        "checkpoints": {"volume": "work"},
        "queue": "small",
    }
    return {
        "queues": {"small": {"priority": "low", "cpus": 0.1 * PARALLEL, "memoryGib": 2}},
        "volumes": {"work": {"sizeGib": 1, "accessModes": ["ReadWriteMany"], "retain": False}},
        "workloads": {
            _NAME: {"kind": "sweep", "search": search, "trial": {**held_sweep.TRIAL, **of_trial}},
            _SERVER: {
                "kind": "modelServer",
                "resources": {"cpus": 0.05, "memoryGib": 0.1},
                "model": {"volume": "work", "path": "served"},
            },
        },
    }


def test_a_killed_controller_neither_loses_nor_repeats_a_trial(
    deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_image.provide(deployed.instance, package_layer.image(sweep_packages.lines()).name)
    search = {**sweep_world.sweep(tmp_path).search, "trials": _TRIALS, "parallel": PARALLEL}
    chance = random.Random(counts.seed())
    with stacks.own(deployed, tmp_path, "sweep") as made:
        made.up(**_sections(search))
        run = eventually(lambda: _results(made.kube, made.namespace).get("run", ""))
        runs = made.volume("work") / "checkpoints"
        with held_sweep.observed(deployed.instance.kubeconfig, made.namespace, run) as seen:
            # The last trial is held until all kills are done.
            for number in range(_TRIALS):
                for _ in range(_KILLS * (number + 1) // _TRIALS - _KILLS * number // _TRIALS):
                    time.sleep(chance.uniform(0, 4))
                    killed.replaced(made.kube, made.namespace, f"app.kubernetes.io/name={_NAME}-controller")
                held_sweep.let_go(runs, run, number)
            results = eventually(lambda: _results(made.kube, made.namespace, finished=True))
            seen.assert_once(_TRIALS)
            # A trial that has trained makes room before its JobSet has ended; the queue's quota counts all of them.
            assert seen.most_admitted == PARALLEL
        assert held_sweep.decided(results) == held_sweep.undisturbed(tmp_path)
        console = _console()
        shown.run(Access(made.kube, made.namespace), _NAME, console, as_json=False)
        assert f"{run}: {_TRIALS} of {_TRIALS} trials" in _text(console)
        best = min((row for row in results["trials"] if row["state"] == "complete"), key=lambda row: row["best"])
        monkeypatch.setattr(Platform, "of_stack", lambda stack: Platform(stack, Settings(_sections(search))))
        # The second time, the newest version of the server is the trial's already.
        for _ in range(2):
            console = _console()
            command.publish_best(Access(made.kube, made.namespace, stack="sweep"), _NAME, _SERVER, console)
            said = rf"{best['run']}: has finished; \S+ publishes its model to {_SERVER}\n"
            assert re.match(said, _text(console)), _text(console)
            served = made.volume("work") / "served"
            assert [path.name for path in served.iterdir() if path.name.isdecimal()] == ["1"]


def _results(kube: Kube, namespace: str, *, finished: bool = False) -> dict[str, Any]:
    """What the controller keeps; empty before its first look, and with `finished` before the end."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    [found] = kube.items(path, labelSelector="app.kubernetes.io/component=sweep-results") or [{}]
    results: dict[str, Any] = json.loads((found.get("data") or {}).get("results.json", "{}"))
    return results if results.get("finished") or not finished else {}


def _console() -> Console:
    return Console(file=io.StringIO(), width=200, color_system=None)


def _text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
